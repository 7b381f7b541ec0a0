"""Affine reconstruction ẑ = W v + b of z from one head's v, in closed form: held out, in-sample, and beside controls."""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial, reduce
from itertools import accumulate, islice
from operator import add
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
import scipy
from jaxtyping import Bool

from tprprobe.analyses.reconstruction import layers
from tprprobe.errors import InputError
from tprprobe.estimators.affine import Affine, Moments, Source, fit_affine, fit_principal
from tprprobe.evaluation.results import Results, load_view, melt
from tprprobe.evaluation.splits import list_samples
from tprprobe.files.tables import read_table
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.reader import takes_paths

SPLITS = 8  # of the documents: the first gives the numbers, all of them the intervals
NAMES = {"model": "model", "layer": "layer", "head": "head", "target": "task"}
NAMES |= {"predictor": "estimator", "control": "control"}
FURTHER = ("data", "unit", "n_train", "penalty", "split")  # columns that name a row
BORDERS = {"mse": (0, None), "r2": (None, 1), "gain": (None, None)}  # of scores
NUMBERS = ("alpha", *BORDERS, "width", "positions", "documents", "effective_rank")
KEYS = ["size", "unit", "predictor", "head", "penalty", "split"]  # of a row in every split
Strengths = Mapping[str, Sequence[float]]  # of the penalties of all sources, by name


class Training(NamedTuple):
    """A training set of so many questions or positions (0: all): its rows and their moments."""

    unit: str
    size: int
    rows: Bool[np.ndarray, " row"]
    moments: Moments
    strengths: Strengths


class Predictor(NamedTuple):
    """Maps whose errors are averaged."""

    predictor: str
    head: int | None
    penalty: str
    maps: Sequence[Affine]


def fit_predictors(
    layer: layers.Layer, training: Training, sources: Sequence[Source]
) -> Iterator[Predictor]:
    """All predictors of a training set, the mean first, with each of its penalties."""
    moments, target, n_heads = training.moments, layer.target, len(layer.heads)
    yield Predictor("mean", None, "none", fit_affine(moments, slice(0, 0), target))
    principal = fit_principal(moments, target, layer.heads[0].stop)
    yield Predictor("pca", None, "none", [principal])
    for penalty, strengths in training.strengths.items():
        pairs = zip(sources, strengths, strict=True)
        maps = [source.fit(moments, target, strength) for source, strength in pairs]
        for head, affine in enumerate(maps[:n_heads]):
            yield Predictor("head", head, penalty, [affine])
        yield Predictor("heads", None, penalty, maps[:n_heads])
        yield Predictor("all heads", None, penalty, maps[n_heads : n_heads + 1])
        yield Predictor("random", None, penalty, maps[n_heads + 1 :])


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
        table.assign(target=target, untrained=control != "", control=control)
        for control, model_store in [("", store), *islice(store.twins.items(), 1)]
        for table in _measure_layers(model_store, layer, target, seed)
    ]
    table = pd.concat(tables, ignore_index=True).astype({"head": "Int64"})
    table.insert(0, "model", store.facts.model.name or store.path.name)
    data = store.facts.data
    split = data.split if data.split != "all" else None
    table.insert(1, "data", " ".join(filter(None, [data.name, split])))
    return table


def list_held_out(store: Store, seed: int = 0) -> pd.DataFrame:
    """The samples of the documents that are held out: of these in the order in which they appear, the first quarter of
    ``numpy.random.default_rng(seed).permutation(n)``.
    """
    [site, *_] = store.select("*.self.value")
    tokens = store.tokens_of(site)
    rows = layers.split_questions(tokens, seed).held_out
    return list_samples(tokens, rows, store.facts.model.name or store.path.name)


def list_results(table: pd.DataFrame) -> pd.DataFrame:
    """The long table of rows of :func:`reconstruct`."""
    table = table.drop(columns="untrained").assign(n_train=table["n"]).drop(columns="n")
    return melt(table, NAMES | {name: name for name in FURTHER}, NUMBERS, with_missing=True)


def view_results(results: Results) -> pd.DataFrame:
    """The rows of :func:`reconstruct` of a long table."""
    names = {name: column for column, name in NAMES.items()} | {"n_train": "n"}
    view = results.wide().rename(columns=names)
    view = view.assign(untrained=view["control"] != "")
    return view.astype({"width": int, "positions": int})


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


def _measure_layers(
    store: Store, layer: int | None, target: str, seed: int
) -> Iterator[pd.DataFrame]:
    """The rows of every layer: numbers of the first split, with intervals by the spread over all splits."""
    splits: list[layers.Split] = []
    for item in layers.find_layers(store, layer, target):
        tokens = store.tokens_of(item.value_site)
        splits = splits or [layers.split_questions(tokens, seed + i) for i in range(SPLITS)]
        tables, strengths = [], {}
        for i, split in enumerate(splits):
            gather = partial(layers.gather, item, {"fold": split.folds, **split.sweeps})
            moments = reduce(layers.merge, each_part(gather, item.parts()))
            sources = item.list_sources(seed + i)
            if not strengths:
                folds = [moments["fold", fold] for fold in range(layers.FOLDS)]
                penalties = [source.choose(folds, item.target) for source in sources]
                strengths = {"none": [0.0] * len(sources), "cv": penalties}
            trainings = _list_trainings(split, moments, strengths)
            tables.append(_score(item, sources, split, moments["fold", layers.FOLDS], trainings))
        yield _add_intervals(tables, len(tokens)).assign(layer=item.number)


def _list_trainings(
    split: layers.Split, moments: layers.MomentsByPart, strengths: Strengths
) -> Iterator[Training]:
    folds = (moments["fold", i] for i in range(layers.FOLDS))
    yield Training("question", 0, split.trained, reduce(add, folds), strengths)
    for unit, labels in split.sweeps.items():
        sums = accumulate(moments[unit, i] for i in range(len(split.sizes[unit])))
        for i, (size, nested) in enumerate(zip(split.sizes[unit], sums, strict=True)):
            rows = (labels >= 0) & (labels <= i)
            yield Training(unit, size, rows, nested, {"none": strengths["none"]})


def _score(
    layer: layers.Layer,
    sources: Sequence[Source],
    split: layers.Split,
    held_out: Moments,
    trainings: Iterable[Training],
) -> pd.DataFrame:
    """The rows of one split: each predictor of each training set held out and in sample."""
    tables = []
    for training in trainings:
        predictors = list(fit_predictors(layer, training, sources))
        subsets = (
            ("held_out", split.held_out, held_out),
            ("in_sample", training.rows, training.moments),
        )
        scores = []
        for name, rows, moments in subsets:
            lost = [np.mean([fit.total(moments) for fit in p.maps]) for p in predictors]
            table = pd.DataFrame([predictor._asdict() for predictor in predictors])
            table["alpha"] = [np.mean([fit.alpha for fit in p.maps]) for p in predictors]
            table = table.drop(columns="maps").assign(
                split=name,
                mse=np.array(lost) / (moments.count * layer.width),
                r2=1 - np.array(lost) / lost[0],
                width=layer.width,
                positions=moments.count,
                documents=len(np.unique(split.questions[rows])),
            )
            random = table[table["predictor"] == "random"].set_index("penalty")["r2"]
            scores.append(table.assign(gain=table["r2"] - table["penalty"].map(random)))
        n = training.size or len(np.unique(split.questions[training.rows]))
        rank = training.moments.effective_rank(layer.target)
        table = pd.concat(scores).sort_index(kind="stable")
        tables.append(
            table.assign(unit=training.unit, size=training.size, n=n, effective_rank=rank)
        )
    return pd.concat(tables, ignore_index=True)


def _add_intervals(tables: Sequence[pd.DataFrame], n_positions: int) -> pd.DataFrame:
    """The rows of the first split with the intervals of its scores.

    Scores of parts of the same documents are too alike: those of a share f of them vary by √(1 − f) too little.

    Source: Nadeau and Bengio 2003, the corrected resampled t-test, for a single split: with n₁ fitted to and n₂ scored on, (1 + n₂/n₁) S².
    """
    scored = tables[0]
    scores = pd.concat(tables).groupby(KEYS, dropna=False)[[*BORDERS]]
    spread = scores.transform("std").where(scores.transform("count") == SPLITS)[: len(scored)]
    free = np.sqrt(1 - scored["positions"] / n_positions)
    reach = spread.div(free, axis=0) * scipy.stats.t.ppf(0.975, SPLITS - 1)
    ends = {}
    for name, borders in BORDERS.items():
        ends[f"{name}_low"] = (scored[name] - reach[name]).clip(*borders)
        ends[f"{name}_high"] = (scored[name] + reach[name]).clip(*borders)
    return scored.drop(columns="size").assign(**ends)
