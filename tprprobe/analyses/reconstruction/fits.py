"""Affine reconstruction of z from one head's v: held out, in-sample, and beside controls."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.reconstruction.affine import Predictor, Training, fit_predictors
from tprprobe.analyses.reconstruction.layers import (
    FOLDS,
    Labels,
    Layer,
    Moments,
    Split,
    add_up,
    find_layers,
    gather,
    merge,
    split_questions,
)
from tprprobe.statistics import bounds, replicate_totals
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import takes_paths

PRINTED_N = 100  # of the paper, which does not say of what
BOUNDS = ("mse_low", "mse_high", "r2_low", "r2_high", "gain_low", "gain_high")


@dataclass(frozen=True, eq=False)
class Line:
    """One row of the table: a predictor, the rows that it is scored on, and their moments."""

    training: Training
    predictor: Predictor
    split: str
    rows: Bool[np.ndarray, " row"]
    moments: Moments

    @property
    def has_interval(self) -> bool:
        return self.training.n == PRINTED_N or bool(self.training.folds)


@takes_paths
def reconstruct(
    store: Store, layer: int | None = None, target: str = "input", seed: int = 0
) -> pd.DataFrame:
    """The error of a state z that is reconstructed as W v + b from the value vector v of one head, layer by layer.

    Args:
        store: The store.
        layer: A layer, -1 is the last; default: all layers.
        target: The state z: input (LN(z), the layer's input, of which v is an affine map), hidden (the layer's
            output) or below (z before LN).
        seed: Seed of random choices.

    Returns:
        One row per layer, training set, predictor and split, held out and in sample, beside random projections, principal
        components, the mean and the untrained twin; see [columns](columns.md#reconstruction).

    Raises:
        InputError: No such layer or target, sites missing from the store, or too few questions.

    Source: schlag Sec. 6.1, Eq. 8 (mse 0.017 for the TP-Transformer, 0.009 for the Transformer).

    Examples:
        >>> rows = tp.reconstruct(store, layer=-1)
        >>> sorted(rows.loc[rows["split"] == "held_out", "predictor"].unique())
        ['all heads', 'head', 'heads', 'mean', 'pca', 'random']
    """
    parts = [
        _measure(found, target, untrained, seed)
        for untrained, each in ((False, store), (True, store.control))
        if each is not None
        for found in find_layers(each, layer, target, seed)
    ]
    table = pd.concat(parts, ignore_index=True).astype({"head": "Int64"})
    table.insert(0, "model", _name(store))
    return table


def _name(store: Store) -> str:
    """The name of the store's model; the folder's name if the store does not say."""
    of = store.manifest.get("model", store.path.name)
    return str(of["name"] if isinstance(of, Mapping) else of)


def _measure(layer: Layer, target: str, untrained: bool, seed: int) -> pd.DataFrame:
    """The rows of one layer: a first pass over its vectors for the fits, a second for intervals."""
    split = split_questions(layer.store.tokens_of(layer.value_site), seed)
    trainings, test = _train(layer, split)
    lines = [
        Line(training, predictor, name, rows, moments)
        for training in trainings
        for predictor in fit_predictors(layer, training)
        for name, rows, moments in (
            ("held_out", split.held_out, test),
            ("in_sample", training.rows, training.moments),
        )
    ]
    place = {"layer": layer.number, "target": target, "untrained": untrained}
    table = pd.DataFrame([place | _describe(line, layer) for line in lines])
    table["gain"] = table["r2"] - table["r2"].to_numpy()[_rivals(lines)]
    return table.assign(**dict(zip(BOUNDS, _intervals(layer, lines, split.questions), strict=True)))


def _rivals(lines: Sequence[Line]) -> list[int]:
    """For every line, the line of random projections that was fitted and scored in the same way."""
    keys = [(id(line.training), line.predictor.penalty, line.split) for line in lines]
    names = [line.predictor.name for line in lines]
    random = {
        key: i for i, (key, name) in enumerate(zip(keys, names, strict=True)) if name == "random"
    }
    return [random[key] for key in keys]


def _train(layer: Layer, split: Split) -> tuple[list[Training], Moments]:
    """The training sets, and the moments of the held-out rows."""
    partitions = [split.folds, *split.sweeps.values()]
    sizes = [FOLDS + 1, *(len(each) for each in split.sizes.values())]
    gathered = each_part(partial(_gather, layer, partitions, sizes), layer.parts())
    (*folds, test), *sweeps = reduce(merge, gathered)
    trained = split.folds < FOLDS
    trainings = [Training("question", split.n_training, add_up(folds), trained, folds)]
    for (unit, labels), parts in zip(split.sweeps.items(), sweeps, strict=True):
        for last, (n, moments) in enumerate(zip(split.sizes[unit], accumulate(parts), strict=True)):
            trainings.append(Training(unit, n, moments, (labels >= 0) & (labels <= last)))
    return trainings, test


def _gather(
    layer: Layer, partitions: Sequence[Labels], sizes: Sequence[int], part: slice
) -> list[list[Moments]]:
    return gather(layer.blocks(part), partitions, sizes, layer.target.stop)


def _describe(line: Line, layer: Layer) -> dict[str, Any]:
    """The columns of a line: predictor, head, training set, mean squared error and R²."""
    predictor, training, moments = line.predictor, line.training, line.moments
    total = float(np.mean([each.total(moments) for each in predictor.maps]))
    return {
        "predictor": predictor.name,
        "head": predictor.head,
        "unit": training.unit,
        "n": training.n,
        "penalty": predictor.penalty,
        "alpha": float(np.mean([each.alpha for each in predictor.maps])),
        "split": line.split,
        "mse": total / (moments.count * layer.width),
        "r2": 1 - total / predictor.mean.total(moments),
        "width": layer.width,
        "positions": moments.count,
        "effective_rank": training.moments.effective_rank(layer.target),
    }


def _intervals(
    layer: Layer, lines: Sequence[Line], questions: Int[np.ndarray, " row"]
) -> Float64[np.ndarray, "bound line"]:
    """The BOUNDS of every line that has them, by the bootstrap over the questions of its rows."""
    found, rivals = np.full((len(BOUNDS), len(lines)), np.nan), _rivals(lines)
    together: dict[tuple[int, str], list[int]] = {}
    for index, line in enumerate(lines):
        if line.has_interval:
            together.setdefault((id(line.training), line.split), []).append(index)
    errors = _errors_by_question(layer, lines, questions)
    for indices in together.values():
        dimensions = np.bincount(questions[lines[indices[0]].rows], minlength=len(errors))
        mean = next(index for index in indices if lines[index].predictor.name == "mean")
        sums = np.column_stack([errors[:, indices], dimensions * layer.width, errors[:, mean]])
        random = [indices.index(rivals[index]) for index in indices]
        found[:, indices] = _bounds(sums[dimensions > 0], random)
    return found


def _bounds(
    sums: Float64[np.ndarray, "question term"], random: Sequence[int]
) -> Float64[np.ndarray, "bound line"]:
    """The BOUNDS from sums by question: errors of every line, dimensions, errors of the mean.

    ``random`` has for every line the one of the random projections that it is compared with.
    """
    totals = replicate_totals(sums)
    errors, dimensions, mean = totals[:, :-2], totals[:, [-2]], totals[:, [-1]]
    parts = (errors / dimensions, 1 - errors / mean, (errors[:, random] - errors) / mean)
    return np.concatenate([bounds(part, len(sums)) for part in parts])


def _errors_by_question(
    layer: Layer, lines: Sequence[Line], questions: Int[np.ndarray, " row"]
) -> Float64[np.ndarray, "question line"]:
    """|z − ẑ|² summed over the rows of a line, question by question; 0 for lines without interval."""
    totals = np.zeros((questions.max() + 1, len(lines)))
    for asked, errors in each_part(partial(_part_errors, layer, lines, questions), layer.parts()):
        totals[asked] += errors
    return totals


def _part_errors(
    layer: Layer, lines: Sequence[Line], questions: Int[np.ndarray, " row"], part: slice
) -> tuple[Int[np.ndarray, " asked"], Float64[np.ndarray, "asked line"]]:
    """The questions that a part of the rows has, and what it adds to their errors."""
    asked, numbers = np.unique(questions[part], return_inverse=True)
    totals = np.zeros((len(asked), len(lines)))
    for rows, vectors in layer.blocks(part):
        of_rows = numbers[rows.start - part.start : rows.stop - part.start]
        known: dict[int, np.ndarray] = {}
        for index, line in enumerate(lines):
            maps = line.predictor.maps if line.has_interval else ()
            for each in maps:
                if id(each) not in known:
                    known[id(each)] = each.errors(vectors)
                weights = known[id(each)] * line.rows[rows] / len(maps)
                totals[:, index] += np.bincount(of_rows, weights, len(totals))
    return asked, totals
