"""The page on probing has every claim about probing, and only numbers of its tables."""

import numpy as np
import pandas as pd
import pytest
from planted.summary_study import plant_roles

from studies.pages import probing_page as probing
from studies.pages.seed_roles import mean_measure, seed_evidence
from studies.pages.verdicts import claims_of, read_page
from tprpapers.claims import judge, load_claims
from tprpapers.jiang.role_names import name_dictionary, read_fields
from tprprobe.gold.labels import WORD
from tprprobe.store import SiteSpec, StoreWriter, open_store


def write_store(path, samples=60):
    """Role weights: head 0 takes role 1 before every noun, head 1 is flat."""
    rng = np.random.default_rng(0)
    specs = {"decoder.1.cross.role_weights": SiteSpec(("target", "head", "n_roles"), (2, 4))}
    writer = StoreWriter.create(path, specs, {"model": {"name": "made"}})
    tables, weights = [], []
    for sample in range(samples):
        tags = rng.choice(["NN", "VB"], 6).tolist()
        table = pd.DataFrame({"token": ["<s>", *tags], WORD: range(-1, 6), "pos": ["", *tags]})
        tables.append(table.assign(side="target", sample=sample, position=range(7)))
        clusters = [1 if tag == "NN" else 2 for tag in tags] + [0]
        rows = np.full((7, 2, 4), 0.25)
        rows[:, 0] = np.eye(4)[clusters] * 0.99 + 0.0025
        weights.append(rows)
    values = {"decoder.1.cross.role_weights": np.concatenate(weights)}
    writer.append(values, pd.concat(tables, ignore_index=True))
    writer.finish()
    return open_store(path)


@pytest.fixture(scope="module")
def page():
    longer = plant_roles([0], variants=("t5", "t5-torch", "tpt-d"), steps=(9000,))
    return probing.write_page([plant_roles([0, 1, 2]), longer])


def lines_of(page, words):
    return [line for line in page.splitlines() if words in line]


def test_every_claim_about_probing_has_its_verdict(page):
    claim_ids = [claim.id for claim in claims_of("probing")]
    assert len(claim_ids) == 16
    for name, claim in load_claims().items():
        assert (claim.quotation in page) == (name in claim_ids), name
    assert [row[0] for row in read_page("probing", page)] == claim_ids
    for words, verdict in (
        ("outperform the roles and fillers alone", "holds"),
        ("role attention distributions", "fails"),
        ("at every layer, regarding the syntactic features", "holds"),
        ("pushes the role vector space to be even more discrete", "holds"),
    ):
        (line,) = lines_of(page, words)
        assert line.endswith(f"| {verdict} |"), line


def test_three_seeds_decide_what_one_does_not():
    outcomes = {}
    for seeds, tpr, filler in (((0, 1), 0.9, 0.8), ((0, 1, 2), 0.9, 0.8), ((0, 1, 2), 0.6, 0.8)):
        evidence = seed_evidence(plant_roles(seeds, tpr, filler))
        verdicts = {
            name: judge(load_claims()[name], measured) for name, measured in evidence.items()
        }
        outcomes[len(seeds), tpr] = {name: verdict.outcome for name, verdict in verdicts.items()}
    two, better, worse = outcomes.values()
    assert set(two.values()) == {"undecided"}
    for name in ("every-layer", "dep-srl-better", "nel-better", "pos-last-three"):
        assert (better[f"jiang-{name}"], worse[f"jiang-{name}"]) == ("holds", "fails"), name
    for name, outcome in (
        ("more-discrete", "holds"),  # .36 at half of the training, .75 at its end
        ("discrete", "fails"),
        ("pos-role", "holds"),
        ("pos-tpr-aggregates", "holds"),
        ("nel-roles-poorer", "undecided"),
    ):
        assert better[f"jiang-{name}"] == outcome, name


def test_f1_of_several_models_is_that_of_sums_over_reports():
    """Its interval is wider than over reports alone, as seeds differ."""
    roles = plant_roles([0, 1, 2], n=60)
    cells = [
        roles.reports[f"tpt-d-{seed}:pos.1.tpr"].str.split("/", expand=True).astype(int)
        for seed in range(3)
    ]
    interval = mean_measure(roles, {"pos.1.tpr": 1.0})
    assert interval.value == pytest.approx(
        np.mean([cell[0].sum() / cell[1].sum() for cell in cells])
    )
    assert interval.low < interval.value < interval.high
    one_model = mean_measure(plant_roles([0]), {"pos.1.tpr": 1.0}, "tpt-d")
    assert np.isfinite(one_model.value)


def test_roles_of_a_dictionary_are_named_by_the_word_they_predict(tmp_path):
    store = write_store(tmp_path / "store", 300)
    names = name_dictionary(store, "decoder.-1.cross.role_weights")
    head_names = names[names["head"] == 0].set_index("role")
    assert head_names.loc[1, "name"] == "NN"
    assert head_names.loc[2, "name"] == "VB"
    assert head_names.loc[1, "precision"] == 1
    assert {*names.loc[names["head"] == 1, "name"]} == {"unnamed"}
    tokens = store.tokens
    rows, words = read_fields(tokens, ahead=True)
    assert len(rows) == 300 * 6
    assert (tokens["pos"].to_numpy()[rows + 1] == words["pos"]).all()
    own_rows, own_words = read_fields(tokens, ahead=False)
    assert (tokens["pos"].to_numpy()[own_rows] == own_words["pos"]).all()
    assert own_words["place"].max() == 6
    assert (own_words.loc[own_words["place"] == 1, "before"] == "none").all()
