"""Twins of models: what they keep of the trained weights, and the stores that they fill."""

import re
import shutil

import pytest
import torch
from planted.cli import run_command
from planted.foreign import save_foreign
from torch import nn

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.models import find_twins
from tprprobe.models.loading import FAR
from tprprobe.site.attachment import Attached

NAME = "tpt-c-arithmetic"
DATA = "mathematics:arithmetic__mixed"


def scales(model: nn.Module) -> dict[str, float]:
    """The root mean square of every matrix."""
    matrices = {name: matrix for name, matrix in model.named_parameters() if matrix.ndim > 1}
    return {
        name: matrix.detach().square().mean().sqrt().item() for name, matrix in matrices.items()
    }


def assert_permuted(twin: nn.Module, trained: nn.Module) -> None:
    """Every parameter has the trained numbers, and every one that can differ in order does."""
    for permuted, original in zip(twin.parameters(), trained.parameters(), strict=True):
        assert torch.equal(permuted.flatten().sort()[0], original.flatten().sort()[0])
        assert (
            original.numel() < 8
            or len(original.unique()) < 8
            or not torch.equal(permuted, original)
        )


def test_permuted_keeps_the_numbers_and_rescaled_the_scale_of_every_matrix():
    trained = tp.load_model(NAME)
    permuted = tp.load_model(f"permuted:{NAME}")
    assert_permuted(permuted, trained)
    assert not permuted.training
    rescaled, untrained = (tp.load_model(f"{kind}:{NAME}") for kind in ("rescaled", "untrained"))
    expected = scales(trained)
    assert scales(permuted) == pytest.approx(expected, rel=1e-5)
    assert scales(rescaled) == pytest.approx(expected, rel=1e-5)
    assert scales(untrained) != pytest.approx(expected, rel=0.2)
    for scaled, original in zip(rescaled.parameters(), untrained.parameters(), strict=True):
        direction = nn.functional.cosine_similarity(
            scaled.flatten(), original.flatten(), dim=0
        ).item()
        assert original.ndim == 1 or direction == pytest.approx(1, abs=1e-5)


def test_a_twin_in_memory_is_the_one_of_that_name_and_seed():
    trained = tp.load_model(NAME)
    twins = find_twins(trained, ["permuted", "untrained", "rescaled"], seed=3)
    for kind, twin in twins.items():
        loaded = tp.load_model(f"{kind}:{NAME}", seed=3)
        assert loaded.name == twin.name == f"{kind}:{NAME}"
        assert all(map(torch.equal, twin.state_dict().values(), loaded.state_dict().values()))
    other_seed = find_twins(trained, ["permuted"], seed=4)["permuted"]
    assert not torch.equal(next(other_seed.parameters()), next(twins["permuted"].parameters()))
    assert [*find_twins(trained)] == ["untrained"]
    with pytest.raises(InputError, match=r"unknown twin 'premuted'.*permuted"):
        find_twins(trained, ["premuted"])


def attached() -> Attached:
    torch.manual_seed(0)
    layers = nn.Sequential(nn.Embedding(20, 8), nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8))
    mapping = {"encoder.0.hidden": "2", "encoder.1.hidden": "3"}
    return tp.attach(layers, mapping, forward=lambda module, batch: module(batch[0]))


def test_an_attached_module_has_a_permuted_twin_with_sites_of_its_own():
    model = attached()
    before = [weights.clone() for weights in model.parameters()]
    twin = find_twins(model)["permuted"]
    assert_permuted(twin, model)
    assert all(map(torch.equal, model.parameters(), before))
    ids = torch.arange(6).reshape(2, 3)
    with tp.capture(twin, "*") as of_twin:
        twin(ids)
    with tp.capture(model, "*") as acts:
        model(ids)
    assert not torch.allclose(acts["encoder.0.hidden"], of_twin["encoder.0.hidden"])
    weights = dict(twin.named_parameters())
    product = weights["_foreign.0.weight"][ids] @ weights["_foreign.1.weight"].T
    expected = torch.tanh(product + weights["_foreign.1.bias"])
    torch.testing.assert_close(of_twin["encoder.0.hidden"], expected)
    with pytest.raises(InputError, match="cannot be initialized again: its only twin is permuted"):
        find_twins(model, ["untrained"])


@pytest.mark.parametrize("factor", [1.0, 2 * FAR])
def test_untrained_foreign_models_warn_where_the_scale_is_another(tmp_path, capsys, factor):
    import transformers

    folder = save_foreign("bert", tmp_path / "bert")
    torch.manual_seed(1)
    module = transformers.AutoModel.from_config(transformers.AutoConfig.from_pretrained(folder))
    with torch.no_grad():
        for weights in module.parameters():
            weights.mul_(factor if weights.ndim > 1 else 1)
    module.save_pretrained(folder)
    capsys.readouterr()
    twin = tp.load_model(f"untrained:hf:{folder}")
    warned = capsys.readouterr().err
    factors = re.findall(r"warning: .* are ([\d.]+) times as large", warned)
    assert [float(text) for text in factors] == pytest.approx([factor] * (factor > FAR), rel=0.1)
    rescaled = tp.load_model(f"rescaled:hf:{folder}")
    assert scales(rescaled) == pytest.approx(scales(tp.load_model(f"hf:{folder}")), rel=1e-5)
    assert twin.name == "untrained:hf:bert"
    assert [*find_twins(twin)] == ["permuted"]


def extract(*options: object) -> None:
    arguments = ["extract", "--ckpt", NAME, "--data", DATA, "--split", "interpolate", "-n", "6"]
    arguments += ["--sites", "encoder.0.self.role", *options]
    run_command(*arguments)


def test_a_store_has_a_store_of_every_twin_the_best_control_first(tmp_path):
    out = tmp_path / "store"
    extract("--twin", "untrained", "--twin", "permuted", "--control-samples", 4, "--out", out)
    store = tp.open_store(out)
    assert [*store.twins] == ["permuted", "untrained"]
    assert store.control is store.twins["permuted"]
    for kind, twin in store.twins.items():
        assert twin.samples == 4
        assert twin.manifest["model"]["name"] == f"{kind}:{NAME}"
        assert twin.path == out / kind
    role = "encoder.0.self.role"
    values = [source.read(role, slice(0, 9)) for source in (store, *store.twins.values())]
    assert len({vectors.tobytes() for vectors in values}) == 3
    run_command("inspect", out, "--verify")
    chunk = next((out / "permuted" / "arrays.zarr" / role).glob("c.*"))
    content = chunk.read_bytes()
    chunk.write_bytes(content[:-4] + b"\0\0\0\0")
    with pytest.raises(InputError, match=r"permuted/arrays\.zarr/.* remove it and make it again"):
        run_command("inspect", out, "--verify")
    shutil.rmtree(out)
    extract("--twin", "permuted", "--twin", "untrained", "--control-samples", 4, "--out", out)
    assert chunk.read_bytes() == content


def test_no_twin_in_two_words(tmp_path):
    for option in (["--twin", "none"], ["--no-control"]):
        out = tmp_path / option[-1].strip("-")
        extract(*option, "--out", str(out))
        assert tp.open_store(out).control is None
    with pytest.raises(InputError, match="permuted without a control"):
        extract("--no-control", "--twin", "permuted", "--out", str(tmp_path / "bad"))
