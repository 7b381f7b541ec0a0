"""What the heads of the matched models learned: means over seeds, and differences of equal start."""

from typing import Any

import pandas as pd

from studies.heads.measures import HEADS, MEASURES
from studies.intervals import student_mean
from studies.templates import table
from tprpapers.claims import Evidence
from tprprobe.statistics import Interval, interval_text

TP, TRANSFORMER, ALIKE = "tp-transformer", "transformer-torch", "weights that start alike"


def read_heads() -> pd.DataFrame | None:
    """What ``python -m studies.heads`` measured; None where it was not run."""
    return pd.read_csv(HEADS) if HEADS.is_file() else None


def summarize_heads(measures: pd.DataFrame | None) -> dict[str, Any]:
    """The section's table and differences; empty without a measurement."""
    if measures is None:
        return {}
    return {
        "seeds": sorted({int(seed) for seed in measures["seed"]}),
        "measures": MEASURES,
        "table": table([_row(str(name), rows) for name, rows in measures.groupby("variant")]),
        "attention": interval_text(paired_difference(measures, "attention"), "+.3f"),
        "pairs": interval_text(paired_difference(measures, "pairs"), "+.3f"),
        "answered": measures.loc[measures["measure"] == "pairs_answered", "value"].max(),
    }


def attention_evidence(measures: pd.DataFrame | None) -> Evidence | None:
    """The evidence on the best head's attention: TP-Transformer minus Transformer of equal start."""
    if measures is None:
        return None
    value = paired_difference(measures, "attention")
    return Evidence(
        {"": value}, "model seed", len(_pairs(measures, "attention")), {}, frozenset({ALIKE})
    )


def paired_difference(heads: pd.DataFrame, measure: str) -> Interval:
    """The mean difference over seeds that both have, with Student's 95 % interval over seeds."""
    return student_mean(_pairs(heads, measure))


def _pairs(heads: pd.DataFrame, measure: str) -> Any:
    wide = heads[heads["measure"] == measure].pivot(index="seed", columns="variant", values="value")
    return (wide[TP] - wide[TRANSFORMER]).dropna().to_numpy()


def _row(variant: str, rows: pd.DataFrame) -> dict[str, str]:
    cells = {"variant": variant, "seeds": str(rows["seed"].nunique())}
    for name in MEASURES:
        values = rows.loc[rows["measure"] == name, "value"].dropna()
        cells[name.replace("_", " ")] = (
            f"{values.mean():.3f} ({values.min():.3f}–{values.max():.3f})" if len(values) else "–"
        )
    return cells
