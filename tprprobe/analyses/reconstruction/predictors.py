"""Predictors of z: the maps fitted to one training set, one line of the table each."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool

from tprprobe.analyses.reconstruction.affine import (
    Affine,
    choose_strength,
    fit_affine,
    fit_principal,
)
from tprprobe.analyses.reconstruction.layers import Layer
from tprprobe.analyses.reconstruction.moments import Moments


@dataclass(frozen=True, eq=False)
class Training:
    """A training set: n questions or positions, with their moments and rows."""

    unit: str
    n: int
    moments: Moments
    rows: Bool[np.ndarray, " row"]
    folds: Sequence[Moments] = ()  # where given, the ridge penalty is chosen by cross-validation


@dataclass(frozen=True, eq=False)
class Predictor:
    """Maps whose errors are averaged, and the constant map to the mean that they are compared with."""

    name: str
    head: int | None
    penalty: str
    maps: Sequence[Affine]
    mean: Affine


def fit_predictors(layer: Layer, training: Training) -> Iterator[Predictor]:
    """All predictors of a training set, without penalty and, where it has folds, with one."""
    moments, target = training.moments, layer.target
    (mean,) = fit_affine(moments, slice(0, 0), target)
    yield Predictor("mean", None, "none", [mean], mean)
    principal = fit_principal(moments, target, layer.heads[0].stop)
    yield Predictor("pca", None, "none", [principal], mean)
    for penalty in ("none", "cv") if training.folds else ("none",):
        folds = training.folds if penalty == "cv" else ()
        heads = [_fit(moments, columns, target, folds) for columns in layer.heads]
        for head, fitted in enumerate(heads):
            yield Predictor("head", head, penalty, [fitted], mean)
        yield Predictor("heads", None, penalty, heads, mean)
        together = _fit(moments, layer.together, target, folds)
        yield Predictor("all heads", None, penalty, [together], mean)
        random = [_fit(moments, columns, target, folds) for columns in layer.random]
        yield Predictor("random", None, penalty, random, mean)


def _fit(moments: Moments, columns: slice, target: slice, folds: Sequence[Moments]) -> Affine:
    strength = choose_strength(folds, columns, target) if folds else 0.0
    return fit_affine(moments, columns, target, [strength])[0]
