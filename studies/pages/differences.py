"""Differences between variants of a study, as both pages of studies measure, tell and draw them."""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from tprpapers.study.comparisons import Answers
from tprpapers.study.records import Study
from tprprobe.figures.style import INK, Drawing
from tprprobe.statistics import Interval, interval_text

Weights = Mapping[str, float]
OTHERWISE = "the same runs otherwise"  # of a study beside its companion


def contrast_rows(
    answers: Answers, contrasts: Mapping[str, Weights], **columns: Any
) -> Iterator[dict[str, Any]]:
    """One row per contrast whose variants have a common seed: contrast, what is ``told``, n (examples), seeds,
    value, low, high.
    """
    for contrast, weights in contrasts.items():
        if seeds := answers.study.seeds(*weights):
            interval = answers.contrast(weights)
            counts = {"n": answers.n, "seeds": len(seeds)}
            bounds = {"value": interval.value, "low": interval.low, "high": interval.high}
            yield {"contrast": contrast} | columns | counts | bounds


def steps_of(study: Study) -> int:
    """The steps for which its runs were trained."""
    return int(study.runs["steps"].max())


def signed(value: Interval) -> str:
    """A difference with its sign and interval."""
    return interval_text(value, "+.3f")


def count_seeds(seeds: int) -> str:
    """``1 seed``, ``3 seeds``."""
    return f"{seeds} seed{'s' if seeds > 1 else ''}"


def summarize_outcome(value: Interval, above: str, below: str, neither: str) -> str:
    """What a difference says: the words for one above zero, below it, or of an interval that has it."""
    if not np.isfinite([value.low, value.high]).all():
        return "was compared by one seed with"
    return above if value.low > 0 else below if value.high < 0 else neither


def around_zero(figure: Drawing, label: str) -> Drawing:
    """The figure with a line at zero and its axis in points, of the label."""
    panel = figure.axes[0]
    panel.axvline(0, color=INK, linewidth=0.8, zorder=0)
    panel.set_xlabel(label)
    panel.xaxis.set_major_formatter(lambda share, _: f"{100 * share:+g}" if share else "0")
    return figure
