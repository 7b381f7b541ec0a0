"""The section on models of the generated English says what its tables say, and a replaced state what it changes."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pandas as pd
import pytest

import tprprobe as tp
from studies.pages import english_states as section
from studies.pages import period_states, state_tables
from tprprobe.analyses.decomposition.score_tables import COLUMNS
from tprprobe.data.pairs import encode_pairs
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.models import build


def score(site, family, control, r2, gain=0.0, learnt=0.0):
    row: dict[str, Any] = dict.fromkeys(COLUMNS, 0.0) | {"site": site, "roles": "POS"}
    row |= {"family": family, "control": control, "rank": "8×4", "rank_withheld": ""}
    for name, value in (("r2", r2), ("gain", gain), ("learnt", learnt)):
        row |= {name: value, f"{name}_low": value - 0.02, f"{name}_high": value + 0.02}
    return row


def share(name, value):
    return {name: value, f"{name}_low": value, f"{name}_high": value}


@pytest.fixture
def kept(tmp_path, monkeypatch):
    """Kept tables: bindings gain in one of the triple, and more than in the twin in all."""
    monkeypatch.setattr(state_tables, "KEPT", tmp_path / "none")
    bound = dict(zip(section.TRIPLE, (0.5, 0.5, 0.7), strict=True)) | {period_states.WORDS: 0.2}
    for name, r2 in bound.items():
        site = "decoder.1.hidden"
        scores = [score(site, "factored", "", r2, r2 - 0.6, 0.1)]
        scores.append(score(site, "additive", "", 0.6, 0.2))
        scores += [score(site, "bag", "", 0.4), score(site, "factored", "untrained", 0.1)]
        replaced = [
            {"edit": edit, "n": 50, "site": site, "roles": "POS"}
            | share("accuracy", value) | share("agreement", value) | share("probability", value)
            for edit, value in (("unedited", 1), ("decomposition", 0.25), ("mean", 0.05), ("random", 0.75), ("remainder", 0.4), ("random as much", 0.6))
        ]  # fmt: skip
        roles = [
            {"site": site, "roles": "bag", "is_found": True, "pairs": 70, "bits": -2.5, "r2": 0.41},
            {"site": site, "roles": "no structure", "is_found": False, "searched": "null"},
        ]
        for part, rows in (("scores", scores), ("replaced", replaced), ("roles", roles)):
            pd.DataFrame(rows).to_csv(tmp_path / f"{part}-{name}.csv", index=False)
    return tmp_path


def test_the_sentences_are_the_tables(kept):
    told = section.summarize_english(kept)
    assert told["found"].startswith("bindings add to fillers and roles in 1 of 3 pairs of a site")
    assert "0.100 [0.080, 0.120] (`tpt-d-english`, decoder.1.hidden, `POS`). In 3" in told["found"]
    assert "Roles add to fillers in 3 pairs" in told["found"]
    assert (
        "| `tpt-d-english` | decoder.1.hidden | 0.400 [0.380, 0.420] | 0.600 [0.580, 0.620] (`POS`) "
        "| 0.700 [0.680, 0.720] (`POS`) | 0.100 [0.080, 0.120] |"
    ) in told["text"]
    assert "expects the same next token in 0.250 [0.250, 0.250] of cases" in told["text"]
    assert "The search finds `bag`" in told["text"]
    assert "| null | `no structure` | – | – | – |" in told["text"]


def test_a_state_that_is_put_back_changes_nothing():
    texts = tp.load_data("openings:english", split="train", n=12)
    vocabulary = train_subwords((t.target for t in texts), 300, max_source=4, max_target=150)
    sizes = {"d_model": 16, "n_heads": 2, "d_head": 8, "d_ff": 16, "n_layers": [0, 2]}
    model: Any = build(
        {"architecture": "t5", "vocab_size": len(vocabulary), **sizes}, seed=1
    ).eval()
    model.vocabulary, site = vocabulary, "decoder.0.hidden"
    pairs = encode_pairs(texts, vocabulary)
    last = pairs.target.lengths - 2
    _, states = period_states._expected(model, pairs, site, last, model.config.pad, None)
    fit = cast(Any, SimpleNamespace(site=site, scheme=SimpleNamespace(name="own")))
    rows = period_states.expect_next(model, texts, fit, states).set_index("edit")
    assert rows.loc["decomposition", "agreement"] == 1
    assert rows.loc["decomposition", "probability"] == pytest.approx(
        rows.loc["unedited", "probability"]
    )
    other = period_states.expect_next(model, texts, fit, 9 * np.roll(states, 1, 0)).set_index(
        "edit"
    )
    assert other.loc["decomposition", "probability"] != pytest.approx(
        rows.loc["unedited", "probability"]
    )
