"""The binding contract notices vectors that break the equations of a paper; `inspect` shows it."""

import pytest

from tprpapers.equations import binding_contract, random_batch
from tprprobe.cli.overview import inspect
from tprprobe.models import build
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.site.hooks import intervene, sites

SIZES = {"vocab_size": 23, "d_model": 16, "n_heads": 4, "n_layers": (2, 1), "d_ff": 20}
T5 = SIZES | {"d_head": 4, "n_roles": 5}
MODELS = {
    "tp-transformer": SIZES | {"architecture": "tp-transformer"},
    "no embedding binding": SIZES | {"architecture": "tp-transformer", "embedding_binding": False},
    "outer": SIZES | {"architecture": "tp-transformer", "binding": "outer"},
    "one": SIZES | {"architecture": "tp-transformer", "roles": "one"},
    "tpt-d": T5 | {"architecture": "tpt"},
    "tpt-c": T5 | {"architecture": "tpt", "roles": "continuous", "after_residual": False},
    "gate": T5 | {"architecture": "tpt", "gate": True},
    "unshared": T5 | {"architecture": "tpt", "after_residual": False, "shared_roles": False},
    "reduced": T5
    | {"architecture": "tpt", "after_residual": False, "binding": "full_tensor_product"},
}


@pytest.mark.parametrize("kind", ["role", "binding", "tpr"])
@pytest.mark.parametrize("name", ["tp-transformer", "tpt-d", "tpt-c", "gate"])
def test_contract_names_the_site_that_breaks_it(name, kind):
    model = build(MODELS[name], seed=0).eval()
    site = f"decoder.0.cross.{kind}"
    with intervene(model, {site: lambda vectors: vectors + 0.1}):
        report = binding_contract(model, random_batch(model)).set_index("site")["deviation"]
    if kind == "role":  # what is computed from the role follows it; the role itself does not
        assert report[site] == pytest.approx(0.1, abs=1e-5)
        assert report["decoder.0.cross.binding"] < 1e-5
    else:
        assert report[site] >= 0.1 - 1e-5
    assert report["encoder.0.self.tpr"] < 1e-5


def test_equations_are_written_as_the_papers_have_them():
    reports = {}
    for name in ("tp-transformer", "tpt-d", "gate"):
        model = build(MODELS[name], seed=0).eval()
        table = binding_contract(model, random_batch(model))
        reports[name] = dict(zip(table["site"], table["equation"], strict=True))
    assert reports["tp-transformer"]["encoder.1.self.tpr"] == "Σ_h W_o (v̄ ⊙ r) + b"
    assert reports["tpt-d"]["encoder.1.self.tpr"] == "R ⊙ F + F"
    assert reports["tpt-d"]["encoder.1.self.role"] == "R = softmax(F W_r + b_r) r̂"
    assert reports["gate"]["encoder.1.self.tpr"] == "g (R ⊙ F) + F"


def test_what_there_is_none_of_is_said_in_a_word(tmp_path):
    model = build({"architecture": "lstm", "vocab_size": 23, "d_model": 8})
    text = inspect(str(save_pretrained(model, tmp_path / "lstm"))).as_text()
    assert text.endswith("binding contract:\nnone")
    assert "encoder.0.hidden" in text


def test_tables_of_an_overview_are_told_in_columns_and_in_json(tmp_path):
    model = build(MODELS["tp-transformer"], seed=0)
    overview = inspect(str(save_pretrained(model, tmp_path / "tp")))
    facts = overview.as_dict()
    assert (facts["architecture"], facts["d_model"]) == ("tp-transformer", 16)
    assert facts["parameters"] == sum(p.numel() for p in model.parameters())
    assert [row["site"] for row in facts["sites"]] == list(sites(model)["site"])
    contract = binding_contract(model, random_batch(model))
    assert overview.as_dict()["binding contract"] == contract.to_dict("records")
    lines = overview.as_text().partition("binding contract:\n")[2].splitlines()
    assert lines[0].split() == list(contract.columns)
    assert [line.split()[0] for line in lines[1:]] == list(contract["site"])
