"""Affine reconstruction ẑ = W v + b of z from one head's v, in closed form: held out, in-sample, and beside controls."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial, reduce
from itertools import accumulate, islice
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.reconstruction import layers
from tprprobe.errors import InputError
from tprprobe.estimators.affine import (
    Affine,
    Moments,
    choose_strength,
    fit_affine,
    fit_principal,
    fit_projected,
)
from tprprobe.evaluation.results import Results, load_view, melt
from tprprobe.files.tables import read_table
from tprprobe.statistics import bounds, replicate_totals
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import takes_paths

PRINTED_N = 100  # of the paper, which does not say of what
NAMES = {"model": "model", "layer": "layer", "head": "head", "target": "task"}
NAMES |= {"predictor": "estimator", "control": "control"}
FURTHER = ("data", "unit", "n_train", "penalty", "split")  # columns that name a row
NUMBERS = ("alpha", "mse", "r2", "gain", "width", "positions", "effective_rank")
BOUNDS = ("mse_low", "mse_high", "r2_low", "r2_high", "gain_low", "gain_high")


@dataclass(frozen=True, eq=False)
class Training:
    """A training set: n questions or positions, with their moments and rows."""

    unit: str
    n: int
    moments: Moments
    rows: Bool[np.ndarray, " row"]
    folds: Sequence[Moments] = ()  # where given, the ridge penalty is chosen by cross-validation

    @property
    def has_interval(self) -> bool:
        return self.n == PRINTED_N or bool(self.folds)


class Predictor(NamedTuple):
    """Maps whose errors are averaged."""

    name: str
    head: int | None
    penalty: str
    maps: Sequence[Affine]


def fit_predictors(layer: layers.Layer, training: Training) -> Iterator[Predictor]:
    """All predictors of a training set, the mean first, without penalty and, where it has folds, with one."""
    moments, target = training.moments, layer.target
    yield Predictor("mean", None, "none", fit_affine(moments, slice(0, 0), target))
    principal = fit_principal(moments, target, layer.heads[0].stop)
    yield Predictor("pca", None, "none", [principal])
    penalties = {"none": ()} | ({"cv": training.folds} if training.folds else {})
    for penalty, folds in penalties.items():

        def fit(columns: slice, folds: Sequence[Moments] = folds) -> Affine:
            strength = choose_strength(folds, columns, target) if folds else 0.0
            return fit_affine(moments, columns, target, [strength])[0]

        heads = list(map(fit, layer.heads))
        for head, affine in enumerate(heads):
            yield Predictor("head", head, penalty, [affine])
        yield Predictor("heads", None, penalty, heads)
        yield Predictor("all heads", None, penalty, [fit(slice(0, layer.heads[-1].stop))])
        random = [
            fit_projected(moments, folds, layer.inputs, target, projection)
            for projection in layer.projections
        ]
        yield Predictor("random", None, penalty, random)


@dataclass(frozen=True, eq=False)
class Scored:
    """The predictors of a training set, and the rows that they are scored on, with their moments."""

    training: Training
    predictors: Sequence[Predictor]
    split: str
    rows: Bool[np.ndarray, " row"]
    moments: Moments

    @property
    def rivals(self) -> list[int]:
        """For every predictor, that of random projections with the same penalty."""
        names = [(predictor.name, predictor.penalty) for predictor in self.predictors]
        return [names.index(("random", penalty)) for _, penalty in names]


@takes_paths
def reconstruct(
    store: Store, layer: int | None = None, target: str = "input", seed: int = 0
) -> pd.DataFrame:
    """The error of a state z that is reconstructed as W v + b from the value vector v of one head, layer by layer.

    Args:
        store: The store.
        layer: A layer, -1 is the last; default: all layers.
        target: The state z: input (what the layer's attention reads, of which v is an affine map), hidden (the layer's
            output) or below (the output of the layer before).
        seed: Seed of random choices.

    Returns:
        One row per layer, training set, predictor and split, held out and in sample, beside random projections, principal
        components, the mean and the first twin (``untrained``; ``control`` says which); see [columns](tutorials/roles.md#columns-of-reconstruction).

    Raises:
        InputError: No such layer or target, sites missing from the store, or too few documents.

    Source: schlag Sec. 6.1, Eq. 8 (mse 0.017 for the TP-Transformer, 0.009 for the Transformer).

    Examples:
        >>> rows = tp.reconstruct(store, layer=-1)
        >>> sorted(rows.loc[rows["split"] == "held_out", "predictor"].unique())
        ['all heads', 'head', 'heads', 'mean', 'pca', 'random']
    """
    tables = [
        _measure(model_layer, target, control, seed)
        for control, model_store in [("", store), *islice(store.twins.items(), 1)]
        for model_layer in layers.find_layers(model_store, layer, target, seed)
    ]
    table = pd.concat(tables, ignore_index=True).astype({"head": "Int64"})
    table.insert(0, "model", store.facts.model.name or store.path.name)
    data = store.facts.data
    table.insert(1, "data", " ".join(filter(None, [data.name, data.split])))
    return table


def list_results(table: pd.DataFrame) -> pd.DataFrame:
    """The long table of rows of :func:`reconstruct`."""
    table = table.drop(columns="untrained").assign(n_train=table["n"]).drop(columns="n")
    return melt(table, NAMES | {name: name for name in FURTHER}, NUMBERS, with_missing=True)


def view_results(results: Results) -> pd.DataFrame:
    """The rows of :func:`reconstruct` of a long table."""
    names = {name: column for column, name in NAMES.items()} | {"n_train": "n"}
    view = results.wide().rename(columns=names)
    view = view.assign(untrained=view["control"] != "")
    return view.astype(dict.fromkeys(("width", "positions"), int))


def load_reconstruction(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows of :func:`reconstruct` that a folder holds."""
    table_file = Path(folder) / "reconstruction.csv"  # of version 0.3 and before
    if table_file.is_file():
        rows = read_table(table_file, {}, "reconstruct again")
    else:
        rows = load_view(folder, view_results)
    if rows.empty:
        raise InputError(f"{folder} holds no rows: reconstruct again")
    return rows


def _measure(layer: layers.Layer, target: str, control: str, seed: int) -> pd.DataFrame:
    """The rows of one layer: a first pass over its vectors for the fits, a second for intervals."""
    split = layers.split_questions(layer.store.tokens_of(layer.value_site), seed)
    scored = list(_fit_all(layer, split))
    ends = np.cumsum([len(scored_set.predictors) for scored_set in scored])
    errors = np.zeros((split.questions.max() + 1, ends[-1]))  # 0 for sets without intervals
    part_errors = partial(_part_errors, layer, scored, split.questions)
    for question_ids, errors_of_part in each_part(part_errors, layer.parts()):
        errors[question_ids] += errors_of_part
    place = {"layer": layer.number, "target": target}
    place |= {"untrained": control != "", "control": control}
    tables = []
    for scored_set, question_errors in zip(scored, np.split(errors, ends[:-1], 1), strict=True):
        descriptions = (_describe(scored_set, p, layer) for p in scored_set.predictors)
        table = pd.DataFrame([place | description for description in descriptions])
        dimensions = layer.width * np.bincount(
            split.questions[scored_set.rows], minlength=len(question_errors)
        )
        intervals = dict(zip(BOUNDS, _bounds(scored_set, question_errors, dimensions), strict=True))
        gain = table["r2"] - table["r2"].to_numpy()[scored_set.rivals]
        tables.append(table.assign(gain=gain, **intervals))
    pairs = zip(tables[::2], tables[1::2], strict=True)  # held out and in sample, row by row
    return pd.concat([pd.concat(two).sort_index(kind="stable") for two in pairs])


def _fit_all(layer: layers.Layer, split: layers.Split) -> Iterator[Scored]:
    partitions = {"fold": split.folds, **split.sweeps}
    gather = partial(layers.gather, layer, partitions)
    by_part = reduce(layers.merge, each_part(gather, layer.parts()))
    folds = [by_part["fold", i] for i in range(layers.FOLDS)]
    n, trained = split.n_training, split.trained
    trainings = [Training("question", n, reduce(add, folds), trained, folds)]
    for unit, labels in split.sweeps.items():
        sums = accumulate(by_part[unit, i] for i in range(len(split.sizes[unit])))
        for index, (n, moments) in enumerate(zip(split.sizes[unit], sums, strict=True)):
            trainings.append(Training(unit, n, moments, (labels >= 0) & (labels <= index)))
    for training in trainings:
        predictors = list(fit_predictors(layer, training))
        yield Scored(
            training, predictors, "held_out", split.held_out, by_part["fold", layers.FOLDS]
        )
        yield Scored(training, predictors, "in_sample", training.rows, training.moments)


def _describe(scored: Scored, predictor: Predictor, layer: layers.Layer) -> dict[str, object]:
    training, moments = scored.training, scored.moments
    total = float(np.mean([affine.total(moments) for affine in predictor.maps]))
    [mean] = scored.predictors[0].maps
    return {
        "predictor": predictor.name,
        "head": predictor.head,
        "unit": training.unit,
        "n": training.n,
        "penalty": predictor.penalty,
        "alpha": float(np.mean([affine.alpha for affine in predictor.maps])),
        "split": scored.split,
        "mse": total / (moments.count * layer.width),
        "r2": 1 - total / mean.total(moments),
        "width": layer.width,
        "positions": moments.count,
        "effective_rank": training.moments.effective_rank(layer.target),
    }


def _bounds(
    scored: Scored,
    errors: Float64[np.ndarray, "question predictor"],
    dimensions: Int[np.ndarray, " question"],
) -> Float64[np.ndarray, "bound predictor"]:
    """The BOUNDS of every predictor, by the bootstrap over questions and, of random projections, by the spread of their draws;
    NaN for a training set without intervals. Residuals of the n vectors that p parameters were fitted to vary less than those of a new
    draw and fit would: as χ² of n − p degrees of freedom, the bootstrap's deviations are too small by √(1 − p/n).
    """
    if not scored.training.has_interval:
        return np.full((len(BOUNDS), len(scored.predictors)), np.nan)
    sums = np.column_stack([errors, dimensions])[dimensions > 0]
    *_, n = totals = replicate_totals(sums).T
    lost = totals[:-1].T
    deviation = np.random.default_rng(0).standard_t(layers.PROJECTIONS - 1, len(lost))
    for rival in {*scored.rivals}:  # their mean is uncertain by how few were drawn
        draws = [fit.total(scored.moments) for fit in scored.predictors[rival].maps]
        lost[:, rival] += deviation * np.std(draws, ddof=1) / np.sqrt(len(draws))
    if scored.split == "in_sample":
        p = np.array([_count_parameters(predictor) for predictor in scored.predictors])
        free_share = np.maximum(scored.moments.count - p, 1) / scored.moments.count
        observed = sums[:, :-1].sum(0) / sums[:, -1].sum() * n[:, None]
        lost = observed + (lost - observed) / np.sqrt(free_share)
    mean = lost[:, [0]]
    scores = (lost / n[:, None], 1 - lost / mean, (lost[:, scored.rivals] - lost) / mean)
    return np.concatenate([bounds(replicates, len(sums)) for replicates in scores])


def _count_parameters(predictor: Predictor) -> float:
    """For each dimension of z; a code of principal components is as wide as its projection's trace."""
    weight = predictor.maps[0].weight
    return 1 + (np.trace(weight) if predictor.name == "pca" else len(weight))


def _part_errors(
    layer: layers.Layer, scored: Sequence[Scored], questions: Int[np.ndarray, " row"], span: slice
) -> tuple[Int[np.ndarray, " asked"], Float64[np.ndarray, "asked predictor"]]:
    """The questions that a part of the rows has, and what it adds to their errors."""
    question_ids, numbers = np.unique(questions[span], return_inverse=True)
    lines = [(item, predictor) for item in scored for predictor in item.predictors]
    totals = np.zeros((len(question_ids), len(lines)))
    for rows, vectors in layer.blocks(span):
        of_rows = numbers[rows.start - span.start : rows.stop - span.start]
        errors_of = cache(lambda affine, vectors=vectors: affine.errors(vectors))
        for total, (scored_set, predictor) in zip(totals.T, lines, strict=True):
            if scored_set.training.has_interval:
                errors = np.mean([errors_of(affine) for affine in predictor.maps], axis=0)
                total += np.bincount(of_rows, errors * scored_set.rows[rows], len(question_ids))
    return question_ids, totals
