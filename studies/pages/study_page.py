"""The page on the effect of binding: the shipped studies, their contrasts and tables.

Roles learned or one, crossed with the embedding binding or none, is a 2 × 2 of variants of one start:
roles of one without the embedding binding are the Transformer. An effect is half the sum of the two
differences that have it.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.heads import HEADS, MEASURES
from studies.pages.study_contrasts import contrast_table, draw_contrasts, measure_contrasts
from studies.templates import fill, table
from studies.verdicts.matched import (
    BASELINE,
    EARLIER,
    FULL_BETTER,
    OUTER,
    STUDY,
    find_starts,
    gather_evidence,
    read_training,
)
from tprpapers.claims import Evidence
from tprpapers.study.comparisons import compare_variants
from tprpapers.study.plans import Plan
from tprpapers.study.records import Study
from tprprobe.figures.style import Drawing
from tprprobe.statistics import Interval, interval_text, read_interval

COMPANIONS = ("adam", "longer")  # another optimizer; three times the steps
BOTH_TORCH, ROLES = "TP-Transformer − Transformer, both torch", "roles learned − roles one"
START, PUBLISHED = (
    "Transformer: torch − Xavier",
    "TP-Transformer − Transformer, as published",
)
BINDING, FULL = "embedding binding − none", "full product − its diagonal"
XAVIER = "TP-Transformer − Transformer, both Xavier"
LEVEL = "full product − Transformer, both torch"
FACTORS = {  # (roles learned, embedding binding) → variant
    (False, False): "transformer-torch",
    (True, False): "no-embedding-binding",
    (False, True): "ones",
    (True, True): "tp-transformer",
}
CONTRASTS = {
    BOTH_TORCH: {"tp-transformer": 1.0, "transformer-torch": -1.0},
    "the same, with no more weights": {"narrowed": 1.0, "transformer-torch": -1.0},
    "the same, with no more arithmetic": {"narrowed-compute": 1.0, "transformer-torch": -1.0},
    XAVIER: {"tp-transformer-xavier": 1.0, "transformer": -1.0},
    "the difference: both torch − both Xavier": {
        "tp-transformer": 1.0,
        "transformer-torch": -1.0,
        "tp-transformer-xavier": -1.0,
        "transformer": 1.0,
    },
    PUBLISHED: {"tp-transformer": 1.0, "transformer": -1.0},
    START: {"transformer-torch": 1.0, "transformer": -1.0},
    ROLES: {name: 0.5 if has_roles else -0.5 for (has_roles, _), name in FACTORS.items()},
    BINDING: {name: 0.5 if bound else -0.5 for (_, bound), name in FACTORS.items()},
    "both − each alone (interaction)": {
        name: 0.5 if has_roles == bound else -0.5 for (has_roles, bound), name in FACTORS.items()
    },
    FULL: {"outer": 1.0, "tp-transformer": -1.0},
    LEVEL: {"outer": 1.0, "transformer-torch": -1.0},
}
SETS = ("all", "discordant", "longer")
FIGURE = "images/binding-contrasts.svg"


def draw_figures() -> dict[str, Drawing]:
    """The figure of the page by the path under which it shows it."""
    rows = measure_contrasts(read_training(STUDY)[0], CONTRASTS, SETS)
    rows = rows.rename(columns={"contrast": "name", "set": "group"})
    title, label = "Difference in exact match, 95 % interval", "points of exact match"
    return {FIGURE: draw_contrasts(rows, title, label)}


def make_page(_runs: Path) -> str:
    """The page on the studies that ship."""
    (study, plan), heads = read_training(STUDY), pd.read_csv(HEADS)
    evidence = gather_evidence((study, plan), read_training(EARLIER))
    return fill(
        Path(__file__).parent,
        "study.md.j2",
        **_describe(study, plan),
        companions={name: _companion(*read_training(STUDY, name)) for name in COMPANIONS},
        seeds_of_heads=sorted(set(heads["seed"])),
        heads=table([_heads(str(name), rows) for name, rows in heads.groupby("variant")]),
        measures=MEASURES,
        joined=_joined(evidence[FULL_BETTER]),
        contrasts=_contrasts(study),
        scores=_scores(compare_variants(study, BASELINE), find_starts(plan)),
    )


def _joined(evidence: Evidence | None) -> str:
    """The difference that the seeds of both studies show."""
    if evidence is None:
        return ""
    (difference,) = evidence.cases.values()
    return f"{interval_text(difference, '+.3f')} ({evidence.units} seeds)"


def _heads(variant: str, rows: pd.DataFrame) -> dict[str, str]:
    """A variant's measures: their means, the least and the most."""
    cells = {"variant": variant, "seeds": str(len(rows))}
    for name in MEASURES:
        values = rows[name].dropna()
        text = f"{values.mean():.3f} ({values.min():.3f}–{values.max():.3f})"
        cells[name] = text if len(values) else "–"
    return cells


def _companion(study: Study, plan: Plan) -> dict[str, Any]:
    """A companion's plan and contrasts."""
    return {
        "recipe": next(iter(plan.runs().values())),
        "hours": study.runs["seconds"].sum() / 3600,
        "contrasts": _contrasts(study),
    }


def _describe(study: Study, plan: Plan) -> dict[str, Any]:
    """A description of the variants, their training, and their exact match."""
    recipe = next(iter(plan.runs().values()))
    costs = study.runs.groupby("variant")[["parameters", "gigaflops"]].mean()
    return {
        "study": study.name,
        "figure": FIGURE,
        "cost": [] if OUTER not in costs.index else list(costs.loc[OUTER] / costs.loc[BASELINE]),
        "steps": recipe.steps,
        "batch": recipe.batch_size,
        "optimizer": recipe.optimizer.name,
        "seeds": len(plan.seeds),
        "longest": plan.longest,
        "questions": len(study.examples),
        "longer": int(study.examples["longer"].sum()),
        "hours": study.runs["seconds"].sum() / 3600,
    }


def _contrasts(study: Study) -> str:
    rows = measure_contrasts(study, CONTRASTS, SETS)
    return contrast_table(rows, "contrast", rows["set"] + rows["n"].map(" (n {:,})".format))


def _scores(scores: pd.DataFrame, starts: Mapping[str, str]) -> str:
    rows = []
    for variant, variant_rows in scores.groupby("variant", sort=False):
        cells = {str(row["set"]): row for row in variant_rows.to_dict("records")}
        row = {"variant": str(variant), "start": starts[str(variant)]}
        row["seeds"] = str(variant_rows["seeds"].iloc[0])
        for name in SETS:
            if name in cells:
                set_scores, n = cells[name], cells[name]["n"]
                row[f"{name} (n {n:,})"] = share_text(read_interval(set_scores, "value"))
                row[f"{name}: gain"] = interval_text(
                    read_interval(set_scores, "difference"), "+.3f"
                )
        rows.append(row)
    return table(rows)


def share_text(interval: Interval, form: str = ".3f", scale: float = 1, unit: str = "") -> str:
    """:func:`interval_text` of a share or of a score from 0 to 1: its interval ends there, too.

    >>> share_text(Interval(0.98, 0.95, 1.01), ".0f", 100)
    '98 [95, 100]'
    """
    low, high = (float(np.clip(bound, 0, 1)) for bound in (interval.low, interval.high))
    return interval_text(replace(interval, low=low, high=high), form, scale, unit)
