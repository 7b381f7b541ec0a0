"""Held-out scores of what fits and rules predict: errors are summed by group in one pass, and intervals draw groups.

Groups are documents; of units with a pair that no fit has seen, the pairs, since the claim is one about new pairs.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.decomposition.scheme_fits import Decoder
from tprprobe.analyses.decomposition.sequence_units import Units
from tprprobe.analyses.decomposition.unit_vectors import UnitVectors
from tprprobe.errors import InputError
from tprprobe.evaluation.intervals import REPLICATES
from tprprobe.evaluation.results import Row
from tprprobe.statistics import Interval, divide, interval_of_replicates, replicate_totals
from tprprobe.store.dask_workers import each_part
from tprprobe.store.tokens import starts_of

Vectors = Float64[np.ndarray, "unit d_model"]
N_TERMS = 4  # summed by group: errors, those of the mean, units that are read back, units

Numbers = dict[str, Row]  # by metric
Predict = Callable[[slice, Vectors], Vectors]  # of a range of units


@dataclass(frozen=True, eq=False)
class Prediction:
    """What a family (or a rule, "") predicts of tested units, beside a control.

    mean    of the vectors that were fitted to
    below   the prediction, by its number, that a gain is over; None: the mean
    suffix  of the metrics
    groups  of all units, that intervals draw; None: documents
    facts   further numbers of the fit, by metric
    """

    family: str
    control: str
    predict: Predict
    mean: Float64[np.ndarray, " d_model"]
    units: Bool[np.ndarray, " unit"]
    below: int | None = None
    suffix: str = ""
    groups: Int[np.ndarray, " unit"] | None = None
    facts: Numbers = field(default_factory=dict)


class Score(NamedTuple):
    """The score of a prediction over its units, with replicates of drawn groups."""

    r2: Interval
    gain: Interval
    substitution: Interval
    n: int
    n_groups: int


def score(
    units: Units, predictions: Sequence[Prediction], decoder: Decoder | None = None
) -> list[Score | None]:
    """The score of every prediction; None where it has no unit.

    R² is 1 − Σ|e − ê|² / Σ|e − ē|², ē the mean of the fitted units; a gain is the difference of two R² on the
    same units (of R² itself where nothing is below).
    """
    groups = [units.groups if p.groups is None else p.groups for p in predictions]
    sums = np.zeros((len(predictions), N_TERMS, 1 + max(int(ids.max()) for ids in groups)))
    starts = starts_of(pd.factorize(units.tokens["sample"])[0])
    texts = np.split(units.tokens["filler"].to_numpy(object), starts[1:]) if decoder else []
    sum_part = partial(_sum_part, units.vectors, groups, predictions, decoder, texts)
    for ids, of_part in each_part(sum_part, units.vectors.parts()):
        sums[:, :, ids] += of_part
    has_units = sums[:, -1] > 0
    errors, of_mean, n_read, n = np.moveaxis(_draw_groups(sums, has_units), -1, 0)
    r2, substitution = 1 - divide(errors, of_mean), divide(n_read, n)
    scores: list[Score | None] = []
    for i, prediction in enumerate(predictions):
        n_groups, below = int(has_units[i].sum()), prediction.below
        gain = r2[:, i] - (0 if below is None else r2[:, below])
        measure = partial(interval_of_replicates, n_groups=n_groups)
        intervals = measure(r2[:, i]), measure(gain), measure(substitution[:, i], lowest=0)
        scores.append(Score(*intervals, int(n[0, i]), n_groups) if n_groups else None)
    return scores


def _draw_groups(
    sums: Float64[np.ndarray, "prediction term group"],
    has_units: Bool[np.ndarray, "prediction group"],
) -> Float64[np.ndarray, "replicate prediction term"]:
    """Totals over a prediction's groups, then over as many that are drawn, the same for all of the same groups."""
    totals = np.zeros((1 + REPLICATES, *sums.shape[:2]))
    for groups in np.unique(has_units[has_units.any(1)], axis=0):
        rows = np.flatnonzero((has_units == groups).all(1))
        flat = sums[rows][:, :, groups].reshape(-1, int(groups.sum())).T
        replicates = np.concatenate([flat.sum(0)[None], replicate_totals(flat, REPLICATES)])
        totals[:, rows] = replicates.reshape(len(replicates), len(rows), -1)
    return totals


def _sum_part(
    vectors: UnitVectors,
    groups: Sequence[Int[np.ndarray, " unit"]],
    predictions: Sequence[Prediction],
    decoder: Decoder | None,
    texts: list[np.ndarray],
    span: slice,
) -> tuple[np.ndarray, Float64[np.ndarray, "prediction term group"]]:
    """The groups of some units, and for every prediction and group the terms."""
    present = [ids[span][p.units[span]] for ids, p in zip(groups, predictions, strict=True)]
    group_ids = np.unique(np.concatenate(present))
    sums = np.zeros((len(predictions), N_TERMS, len(group_ids)))
    for block, states in vectors.blocks(span):
        for totals, prediction, ids in zip(sums, predictions, groups, strict=True):
            is_tested = prediction.units[block]
            if not is_tested.any():
                continue
            true = states[is_tested]
            predicted = prediction.predict(block, states)[is_tested]
            errors, of_mean = (np.sum((true - e) ** 2, 1) for e in (predicted, prediction.mean))
            n_read = np.zeros(len(true))
            if decoder:
                rows = block.start + np.flatnonzero(is_tested)
                n_read = _decode(decoder, predicted, [texts[i].tolist() for i in rows])
            columns = np.searchsorted(group_ids, ids[block][is_tested])
            terms = (errors, of_mean, n_read, np.ones(len(true)))
            for total, term in zip(totals, terms, strict=True):
                total += np.bincount(columns, term, len(group_ids))
    return group_ids, sums


def _decode(
    decoder: Decoder, vectors: np.ndarray, sequences: list[list[str]]
) -> Float64[np.ndarray, " unit"]:
    """Which sequences the decoder reads back from their vectors: a number from 0 to 1 each."""
    answer = decoder(vectors, sequences)
    try:
        is_read = np.asarray(answer, float)
    except (TypeError, ValueError):
        is_read = np.empty(0)
    if is_read.shape == (len(vectors),) and ((is_read >= 0) & (is_read <= 1)).all():
        return is_read
    raise InputError(
        f"decoder(vectors, sequences) gave {type(answer).__name__} {str(answer)[:60]}: it must give a list or array of 1 (or True) "
        f"for a sequence that it reads back right, else 0, here {len(vectors)}"
    )
