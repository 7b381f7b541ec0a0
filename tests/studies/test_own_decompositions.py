"""The section on the shipped models' own states says what its tables say."""

import pandas as pd
import pytest

from studies.pages import own_decompositions as section
from studies.pages import state_tables
from studies.pages.own_decompositions import OwnStates
from tprprobe.analyses.decomposition.score_tables import COLUMNS

NAME = "planted-arithmetic"


def score(roles, family, control, r2, gain=0.0, learnt=0.0):
    row = dict.fromkeys(COLUMNS, 0.0) | {"site": "encoder.0.hidden", "roles": roles}
    row |= {"family": family, "control": control, "rank": "16×8", "rank_withheld": ""}
    for name, value in (("r2", r2), ("gain", gain), ("learnt", learnt)):
        row |= {name: value, f"{name}_low": value - 0.02, f"{name}_high": value + 0.02}
    return row


def share(name, value):
    return {name: value, f"{name}_low": value, f"{name}_high": value}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """The kept tables of one model: bindings gain once, never more than in the twin."""
    monkeypatch.setattr(section, "OWN", (OwnStates(NAME, ("encoder.0.hidden",), ("left", "svo")),))
    monkeypatch.setattr(state_tables, "KEPT", tmp_path / "none")
    rows = []
    for roles, r2 in (("left", 0.4), ("svo", 0.3)):
        rows += [score(roles, "factored", "", r2, r2 - 0.3, -0.1), score(roles, "bag", "", 0.3)]
        rows.append(score(roles, "additive", "", 0.3))
        rows.append(score(roles, "factored", "untrained", 0.8))
    replaced = [
        {"edit": edit, "n": 50, "site": "encoder.0.hidden", "roles": "left"}
        | share("accuracy", value) | share("agreement", value) | share("probability", value)
        for edit, value in (("unedited", 1), ("decomposition", 0.25), ("mean", 0.05), ("random", 0.5), ("remainder", 0.4), ("random as much", 0.6))
    ]  # fmt: skip
    same = {"subset": "answered", "kind": "argument", "head": -1, "n": 9, "model": NAME}
    ways = [("none", -1, "pair", 0), ("question", -1, "pair", 1), ("hidden", -1, "surgery", 0.2)]
    ways += [("hidden", 0, at, value) for at, value in zip(
        ("surgery", "surgery, random direction", "surgery, wrong roles"), (0.6, 0.1, 0), strict=True
    )]  # fmt: skip
    ways.append(("hidden", 2, "surgery", 0.125))
    surgery = [
        same | {"vectors": vectors, "layer": layer, "at": at}
        | share("counterfactual", value) | share("original", 0.0)
        for vectors, layer, at, value in ways
    ]  # fmt: skip
    for name, table in (("scores", rows), ("replaced", replaced), ("surgery", surgery)):
        pd.DataFrame(table).to_csv(tmp_path / f"{name}-{NAME}.csv", index=False)
    return tmp_path


def test_the_sentences_are_the_tables(kept):
    told = section.summarize_own(kept)
    assert "explain 0.30 to 0.40 of the variance" in told
    assert "For 2 pairs of a site and a role scheme" in told
    assert "add to fillers and roles in 1 pairs, at most 0.100 [0.080, 0.120] (`planted" in told
    assert "than in the untrained twin in 0 pairs" in told
    assert "Roles add to fillers in 0 pairs" in told
    assert "| replaced by their decompositions | 25.0 to 25.0 % |" in told
    assert "| exchange of two numbers | 60.0 to 60.0 % | 12.5 to 12.5 % |" in told
    assert "| as far in a random direction | 10.0 to 10.0 % |" in told


def test_the_tables_have_every_row(kept):
    lines = section.summarize_own(kept).splitlines()
    scores = [line for line in lines if line.startswith(f"| {NAME} | encoder.0.hidden | ")]
    assert len(scores) == 2 + 6
    assert "| 0.800 |" in scores[0]
    assert sum("hidden states, layer 2, surgery" in line for line in lines) == 1
