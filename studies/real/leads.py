"""Single measurements that were known before the study, beside what the study measured."""

from collections.abc import Iterator
from typing import Any

import pandas as pd

from studies.real.drawings import MODELS, read_result
from tprprobe.statistics import Interval, interval_text, read_interval

NEAR = 0.02  # how far a lead may lie from what was measured to be confirmed
SPELLING = {  # R² and share of pronunciations kept, words split by chance, not by lemma
    "bag": (0.341, 0.037),
    "right": (0.497, 0.123),
    "left": (0.637, 0.313),
    "left*right": (0.719, 0.361),
    "wickel": (0.724, 0.494),
}
WORDS = {0: 0.986, 2: 0.948, 5: 0.945}  # minilm, mean vectors: R² of words by layer
PERIOD = {  # smollm2, at the period of "The S V the O.": R² of bindings and of the bag by layer
    3: (0.933, 0.805),
    7: (0.858, 0.763),
    15: (0.783, 0.699),
    22: (0.755, 0.679),
    29: (0.816, 0.759),
}
POS = {  # F1 of all targets of the whole part of the treebank, by layer
    "minilm": {0: 0.896, 1: 0.923, 2: 0.918, 3: 0.899, 4: 0.866, 5: 0.790},
}
STATIC = 0.8125  # minilm, input embeddings: F1 of 2,048 targets
Lead = tuple[str, float, Interval]


def compare_leads() -> pd.DataFrame:
    """Every lead, the number of the study with its interval, and whether it is confirmed."""
    rows: list[dict[str, Any]] = []
    for lead, before, measured in [*_spelling(), *_words(), *_period(), *_pos()]:
        verdict = "confirmed" if abs(before - measured.value) <= NEAR else "corrected"
        text = interval_text(measured)
        rows.append({"quantity": lead, "before": f"{before:.3f}", "now": text, "verdict": verdict})
    return pd.DataFrame(rows)


def _spelling() -> Iterator[Lead]:
    fits = read_result("spelling-fits").fillna({"control": ""})
    fits = fits[(fits["family"] == "saturated") & (fits["control"] == "") & (fits["seed"] == 0)]
    by_roles: Any = fits.set_index("roles")
    for roles, (r2, preserved) in SPELLING.items():
        row = by_roles.loc[roles]
        yield f"g2p, {roles}: R²", r2, read_interval(row, "r2")
        yield f"g2p, {roles}: pronunciations preserved", preserved, read_interval(row, "kept")
    twins = read_result("spelling-twins")
    r2 = twins.loc[twins["twin"] == "untrained", "r2_twin"]
    yield "g2p, untrained: R² of left*right", 0.988, Interval(r2.mean(), r2.min(), r2.max())


def _words() -> Iterator[Lead]:
    rows = read_result("sentence-vectors").fillna({"twin": ""})
    rows = rows[(rows["measure"] == "R² words") & (rows["frame"] == "clauses")]
    by_site: Any = rows[(rows["seed"] == 0) & (rows["twin"] == "")].set_index("site")
    for layer, before in WORDS.items():
        yield (
            f"MiniLM, layer {layer}: R² of words",
            before,
            read_interval(by_site.loc[f"encoder.{layer}.hidden"]),
        )


def _period() -> Iterator[Lead]:
    rows = read_result("period-nested").fillna({"control": ""})
    rows = rows[(rows["control"] == "") & (rows["seed"] == 0)]
    by_fit: Any = rows.set_index(["site", "family"])
    for layer, leads in PERIOD.items():
        for family, before in zip(("saturated", "bag"), leads, strict=True):
            row = by_fit.loc[f"layers.{layer}.hidden", family]
            kind = {"saturated": "bindings", "bag": "words"}[family]
            yield f"SmolLM2, period, layer {layer}: R² of {kind}", before, read_interval(row, "r2")


def _pos() -> Iterator[Lead]:
    rows = read_result("layer-knowledge")
    rows = rows[(rows["task"] == "pos") & (rows["seed"] == 0) & rows["layer"].notna()]
    by_layer: Any = rows.set_index(["model", "layer"])
    for model, leads in POS.items():
        for layer, before in leads.items():
            yield (
                f"{MODELS[model]}, POS, layer {layer}: F1",
                before,
                read_interval(by_layer.loc[model, layer], "f1"),
            )
    lowest = by_layer.loc["minilm", 0]
    yield "MiniLM, POS of the input embeddings: F1", STATIC, read_interval(lowest, "embeddings")
