"""What decides the claims of the studies: seeds and starts of models."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from planted.summary_study import plant_roles, plant_study

from studies.intervals import minus
from studies.pages.study_contrasts import measure_contrasts
from studies.verdicts.deciding import ALIKE, COMPARED, PUBLISHED
from studies.verdicts.probing import mean_measure, seed_evidence
from studies.verdicts.summaries import gather_evidence
from studies.verdicts.table import claims_of
from tprpapers.claims import judge, load_claims
from tprpapers.jiang.role_names import name_dictionary, read_fields
from tprprobe.gold.labels import WORD
from tprprobe.statistics import Interval
from tprprobe.store import SiteSpec, StoreWriter, open_store

numbers = st.floats(-5, 5)
halves = st.floats(0, 3)


@st.composite
def estimates(draw):
    value = draw(numbers)
    return Interval(value, value - draw(halves), value + draw(halves))


@given(estimates(), estimates(), st.floats(0, 1), st.floats(0, 1))
def test_a_difference_covers_all_that_its_parts_cover(minuend, subtrahend, s, t):
    difference = minus(minuend, subtrahend)
    assert difference.value == minuend.value - subtrahend.value
    a, b = (
        minuend.low + s * (minuend.high - minuend.low),
        subtrahend.low + t * (subtrahend.high - subtrahend.low),
    )
    assert difference.low - 1e-9 <= a - b <= difference.high + 1e-9


# Probes of several seeds, and names of roles


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


# Scores of summaries, by seeds and reports


BETTER = {"t5": 0.6, "t5-torch": 0.7, "tpt-c": 0.5, "tpt-d": 0.8, "tpt-d-t5": 0.7}  # TPT-d: + .1
LEAD = {"rougeL": Interval(0.3, 0.2, 0.4)}


def verdicts(level, seeds, lead=LEAD):
    evidence = gather_evidence(plant_study(level, seeds), lead)
    return {claim.id: judge(claim, evidence.get(claim.id)) for claim in claims_of("summaries")}


def test_what_was_planted_is_decided_by_three_seeds():
    outcomes = verdicts(BETTER, [0, 1, 2])
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert outcomes[f"jiang-{name}"].outcome == "holds", name
    worse = verdicts(BETTER | {"tpt-d": 0.6, "tpt-d-t5": 0.5, "tpt-c": 0.9}, [0, 1, 2])
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert worse[f"jiang-{name}"].outcome == "fails", name


def test_a_difference_of_starts_alone_is_no_difference_of_models():
    """As published TPT-d is .1 ahead, and so is T5 when it starts as TPT-d does."""
    level = {"t5": 0.6, "t5-torch": 0.7, "tpt-c": 0.5, "tpt-d": 0.7, "tpt-d-t5": 0.6}
    outcomes = verdicts(level, [0, 1, 2])
    assert outcomes["jiang-table2-better"].outcome != "holds"
    assert outcomes["jiang-factual"].outcome != "holds"
    study = plant_study(level, [0, 1, 2])
    rows = measure_contrasts(study, COMPARED, ("test",), ("rougeL",))
    contrasts = rows.set_index("contrast")["value"]
    assert contrasts[PUBLISHED] == pytest.approx(0.1, abs=0.02)
    assert contrasts[ALIKE] == pytest.approx(0, abs=0.02)


@pytest.mark.parametrize("seeds", [[0], [0, 1]])
def test_fewer_than_three_seeds_decide_nothing(seeds):
    outcomes = verdicts(BETTER, seeds)
    for name in ("table2-better", "tptc-worst", "grammatical", "factual"):
        assert outcomes[f"jiang-{name}"].outcome == "undecided", name
    assert (
        f"{len(seeds)} model seed(s), must be at least 3" in outcomes["jiang-factual"].reason
        or len(seeds) == 1
    )


def test_a_transformer_below_the_first_sentence_decides_nothing():
    outcomes = verdicts(BETTER, [0, 1, 2], {"rougeL": Interval(0.9, 0.8, 1.0)})
    assert "transformer beats lead -0.2" in outcomes["jiang-table2-better"].reason
    assert outcomes["jiang-table2-better"].outcome == "undecided"
