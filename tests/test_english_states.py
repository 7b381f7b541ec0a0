"""The section on models of the generated English says what its tables say."""

from typing import Any

import pandas as pd
import pytest

from studies.pages import english_states as section
from studies.pages import own_decompositions
from tprprobe.analyses.decomposition.scheme_tables import COLUMNS


def score(site, family, control, r2):
    row: dict[str, Any] = dict.fromkeys(COLUMNS, 0.0) | {"site": site, "roles": "POS"}
    row |= {"family": family, "control": control, "rank": "8×4", "rank_withheld": ""}
    return row | {"r2": r2, "r2_low": r2 - 0.02, "r2_high": r2 + 0.02}


def share(name, value):
    return {name: value, f"{name}_low": value, f"{name}_high": value}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Kept tables: bindings explain more than a bag in the triple, more than added roles in one of them."""
    monkeypatch.setattr(own_decompositions, "KEPT", tmp_path / "none")
    bound = dict(zip(section.TRIPLE, (0.5, 0.5, 0.7), strict=True))
    for name, r2 in bound.items():
        site = "decoder.1.hidden"
        scores = [score(site, "factored", "", r2), score(site, "additive", "", 0.6)]
        scores += [score(site, "bag", "", 0.4), score(site, "factored", "untrained", 0.1)]
        replaced = [
            {"edit": edit, "n": 50, "site": site, "roles": "POS"}
            | share("accuracy", value) | share("agreement", value) | share("probability", value)
            for edit, value in (("unedited", 1), ("decomposition", 0.25), ("mean", 0.05), ("random", 0.75))
        ]  # fmt: skip
        for part, rows in (("scores", scores), ("replaced", replaced)):
            pd.DataFrame(rows).to_csv(tmp_path / f"{part}-{name}.csv", index=False)
    return tmp_path


def test_the_sentences_are_the_tables(kept):
    told = section.tell_english(kept)
    assert told["found"].startswith("in 3 of 3 pairs of a site and a scheme bindings explain more")
    assert "in 1 more than fillers and roles that are only added, in 3 more than" in told["found"]
    [line] = [each for each in told["text"].splitlines() if each.startswith("- `tpt-d-english`")]
    assert "bindings 0.700 [0.680, 0.720] (`POS`; untrained 0.100" in line
    assert "still writes 0.250 [0.250, 0.250] of its own answers (mean state 0.050" in line
