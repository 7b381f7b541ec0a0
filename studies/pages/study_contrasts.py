"""Contrasts of a study's variants over seeds and examples: measured, as a table, and drawn."""

from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any

import pandas as pd

from studies.templates import table
from tprpapers.study.comparisons import Answers, subsets
from tprpapers.study.records import EXACT, Study
from tprprobe.figures.dots import render
from tprprobe.figures.scenes import Dots
from tprprobe.figures.style import INK, Drawing
from tprprobe.statistics import interval_text, read_interval

Weights = Mapping[str, float]
COLUMNS = ["contrast", "set", "measure", "n", "seeds", "value", "low", "high"]


def measure_contrasts(
    study: Study,
    contrasts: Mapping[str, Weights],
    sets: Sequence[str],
    measures: Sequence[str] = (EXACT,),
) -> pd.DataFrame:
    """One row per set of examples, measure, and contrast whose variants have a common seed; columns: COLUMNS."""
    rows: list[dict[str, Any]] = []
    rows_of_set = {name: flags for name, flags in subsets(study).items() if name in sets}
    for name, measure in product(rows_of_set, measures):
        answers = Answers(study, rows_of_set[name], measure)
        for contrast, weights in contrasts.items():
            if seeds := study.seeds(*weights):
                interval = answers.contrast(weights)
                cells = {"contrast": contrast, "set": name, "measure": measure, "n": answers.n}
                bounds = {"value": interval.value, "low": interval.low, "high": interval.high}
                rows.append(cells | {"seeds": len(seeds)} | bounds)
    return pd.DataFrame(rows, columns=COLUMNS)


def contrast_table(rows: pd.DataFrame, name_column: str, titles: pd.Series) -> str:
    """A row per contrast and a column per title: the difference with its interval."""
    cells: dict[str, dict[str, str]] = {}
    for row, title in zip(rows.to_dict("records"), titles, strict=True):
        name = row["contrast"]
        contrast = cells.setdefault(name, {name_column: name, "seeds": str(row["seeds"])})
        contrast[title] = interval_text(read_interval(row, "value"), "+.3f")
    return table(list(cells.values()))


def draw_contrasts(rows: pd.DataFrame, title: str, label: str) -> Drawing:
    """Every contrast (``name``) with its interval, a dot per ``group``, around a line at zero; in points."""
    figure = render(Dots(rows, title=title))
    panel = figure.axes[0]
    panel.axvline(0, color=INK, linewidth=0.8, zorder=0)
    panel.set_xlabel(label)
    panel.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+g}" if share else "0")
    return figure
