"""Jobs of a run, which resumes where it was cut off; and fits, tests and counts of any estimator, fold by fold."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprprobe import plugins
from tprprobe.errors import InputError, unknown
from tprprobe.evaluation.metrics import Marks, Predictions, predict_one_label
from tprprobe.evaluation.results import FILE, Results, load_long
from tprprobe.files.kinds import Kind
from tprprobe.files.runs import KeptRun, Part, Tables, join_parts, kept

TABLE = Path(FILE).stem  # of a part
METHODS = ("fit", "get_params")
SCORE = "score"  # the metric of an estimator that predicts nothing
UNIFORM = 0.01  # of all probabilities is uniform: a label that was not seen would cost infinitely many bits

Progress = Callable[[Sequence[Part]], Iterable[Part]]  # what shows jobs as they are done
Inputs = Any  # X: an array [target, width], or states of spans
Rows = Int[np.ndarray, " row"]
Labels = Bool[np.ndarray, "estimator target label"]


class Fold(NamedTuple):
    """The targets that are fitted on, that choose (a penalty, when to stop), and that are tested on. What chose, too, may be fitted on
    once a penalty is chosen.
    """

    train: Rows
    dev: Rows
    test: Rows


@runtime_checkable
class Estimator(Protocol):
    """What is fitted to labels, by scikit-learn's protocol; it predicts, or has a ``score`` alone."""

    def fit(self, X: Any, y: Any, /) -> object: ...
    def get_params(self) -> dict[str, Any]: ...


class CrossFit(NamedTuple):
    """Estimators as the first fold fitted them, and their counts on the tested targets of all folds."""

    estimators: list[Estimator]
    sums: Float[np.ndarray, "estimator *count"]


def run_jobs(
    kind: Kind,
    settings: Mapping[str, object],
    jobs: Mapping[str, Callable[[], pd.DataFrame]],
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    tables: Tables | None = None,
) -> Results:
    """The long table of a run of some ``kind``, whose jobs make rows of it; with ``resume`` jobs that an interrupted run of
    the same ``settings`` has finished in the folder ``out`` are not done again. Further ``tables`` are written beside it.
    """
    settings = {"format": f"tprprobe-{Path(kind.file).stem}", **settings}
    with kept(out) as folder:
        run = KeptRun.open(folder, settings | {"tprprobe": version("tprprobe")}, resume, kind.file)
        if not run.is_done:
            tasks = [run.part(key, lambda make=make: {TABLE: make()}) for key, make in jobs.items()]
            for task in progress(tasks):
                task.finish()
            run.finish({FILE: join_parts(tasks, TABLE), **(tables or {})}, {})
        return load_long(folder)


def find_estimator(name: str, parameters: dict[str, object]) -> Estimator:
    """The estimator of that name among ``tprprobe.estimators``, with parameters of its constructor."""
    registered = plugins.find("estimators")
    if name not in registered:
        raise unknown("probe", name, registered)
    kind = registered[name].load()
    if strange := sorted(parameters.keys() - {*kind._get_param_names()}):
        raise InputError(
            f"{', '.join(strange)}: no setting of {name} probes, which have "
            f"{', '.join(kind._get_param_names()) or 'none'}; leave it out"
        )
    estimator = kind(**parameters)
    if hasattr(estimator, "check"):
        estimator.check()
    return check_estimator(estimator)


def check_estimator(estimator: Any) -> Estimator:
    """The estimator, if it is one by scikit-learn's protocol."""
    if isinstance(estimator, type):
        raise InputError(
            f"{estimator.__name__} is a class: give an instance, {estimator.__name__}()"
        )
    from sklearn.base import is_regressor

    lacks = [name for name in METHODS if not callable(getattr(estimator, name, None))]
    if not has_predictions(estimator) and (
        hasattr(estimator, "transform") or not hasattr(estimator, "score")
    ):
        lacks.append("predict")
    if lacks or is_regressor(estimator):
        fault = f"has no {lacks[0]}" if lacks else "is a regressor, labels need a classifier"
        raise InputError(
            f"{estimator!r:.80} {fault}: give the name of a probe, or a classifier with fit, predict and get_params, "
            "as scikit-learn's; without predict, an estimator with score"
        )
    return estimator


def name_estimator(estimator: object) -> str:
    """The name under which the class of an estimator is registered, or that of the class."""
    kind = type(estimator)
    points = {point.value: name for name, (_, _, point) in plugins.find("estimators").items()}
    return points.get(f"{kind.__module__}:{kind.__qualname__}", kind.__name__)


def describe_estimator(estimator: Estimator) -> dict[str, object]:
    """The name and the parameters of an estimator, as JSON: another one does not go on with its run."""
    parameters = {name: repr(value) for name, value in estimator.get_params().items()}
    return {"name": name_estimator(estimator), "parameters": parameters}


def copy_unfitted(estimator: Estimator) -> Any:
    """A new estimator of the same parameters."""
    from sklearn.base import clone

    return clone(estimator)


def with_seed(estimator: Estimator, seed: int) -> Estimator:
    """A new estimator of the same parameters, its seed set where it has one."""
    copy = copy_unfitted(estimator)
    return copy.set_params(random_state=seed) if "random_state" in copy.get_params() else copy


def cross_fit(
    estimators: Sequence[Estimator],
    X: Inputs,
    labels: Labels,
    folds: Sequence[Fold],
    tested: tuple[Inputs, Sequence[Bool[np.ndarray, "_tested label"]]],
    count: Callable[[int, Predictions, Rows], Float[np.ndarray, "*count"]],
) -> CrossFit:
    """Estimators on the same X, none of which is changed, fitted and tested fold by fold (iterative ones in the first fold only).

    ``labels`` are those that each learns; ``tested`` is the X that is tested, with the gold labels of every estimator, whose rows
    a fold's ``test`` are; ``count`` counts predictions of the estimator of a number for tested rows.
    """
    X_test, gold = tested
    is_iterative, is_batched = (getattr(estimators[0], x, False) for x in ("iterative", "batched"))
    saved, previous, sums = None, None, []
    for fold in folds[:1] if is_iterative else folds:
        current: list[Estimator] = [copy_unfitted(estimator) for estimator in estimators]
        validation = take(X, fold.dev), labels[:, fold.dev]
        chosen_on = np.setdiff1d(fold.train, fold.dev)
        if is_batched and 0 < len(chosen_on) < len(fold.train):
            fit_together(current, take(X, chosen_on), labels[:, chosen_on], validation, None)
            previous = current
        fit_together(current, take(X, fold.train), labels[:, fold.train], validation, previous)
        X_fold = take(X_test, fold.test)
        pairs = zip(current, gold, strict=True)
        predictions = (predict(estimator, X_fold, marks[fold.test]) for estimator, marks in pairs)
        counts = [count(i, predicted, fold.test) for i, predicted in enumerate(predictions)]
        sums.append(np.stack(counts))
        saved, previous = saved or current, current
    return CrossFit(saved or [], np.sum(sums, axis=0))


def take(X: Inputs, rows: Rows) -> Inputs:
    """Some rows of X, an array or states of spans."""
    return X.take(rows) if hasattr(X, "batches") else X[rows]


def fit_together(
    estimators: Sequence[Estimator],
    X: Inputs,
    labels: Labels,
    validation: tuple[Inputs, Bool[np.ndarray, "estimator held_out label"]],
    start: Sequence[Estimator] | None,
) -> None:
    """Fits estimators on the same X, at once where their class can."""
    if getattr(estimators[0], "batched", False):
        kind: Any = type(estimators[0])
        kind.fit_together(estimators, X, labels, validation, start)
        return
    for estimator, marks in zip(estimators, labels, strict=True):
        is_labelled = marks.any(1)  # others have a label that the first fold's training part lacks
        try:
            estimator.fit(np.asarray(X)[is_labelled], as_codes(marks[is_labelled]))
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{name_estimator(estimator)} cannot be fitted to these labels: {' '.join(str(error).split())[:200]}"
            ) from error


def as_codes(marks: Marks) -> Int[np.ndarray, "target *label"]:
    """The number of every target's label; 0 and 1 for each label, where targets have several."""
    return marks.argmax(1) if (marks.sum(1) <= 1).all() else marks.astype(int)


def has_predictions(estimator: object) -> bool:
    """False of an estimator that has a score alone."""
    return hasattr(estimator, "predict")


def score_rows(estimator: Any, X: Inputs, marks: Marks, rows: Rows) -> float:
    """What a fitted estimator scores on some rows; NaN of none."""
    if not len(rows):
        return np.nan
    return float(estimator.score(np.asarray(X)[rows], as_codes(marks[rows])))


def predict(estimator: Any, X: Inputs, marks: Marks) -> Predictions:
    """What a fitted estimator predicts for targets with these labels."""
    if getattr(estimator, "batched", False):
        return Predictions(*estimator.predictions(X, marks))
    X, n_labels = np.asarray(X), marks.shape[1]
    codes = np.asarray(estimator.predict(X))
    if codes.ndim == 2:
        return Predictions(codes.argmax(1), codes > 0, np.full(len(codes), np.nan))
    predictions = predict_one_label(codes.astype(int), n_labels)
    return predictions._replace(nats=_nats(estimator, X, marks))


def _nats(estimator: Any, X: Inputs, marks: Marks) -> Float[np.ndarray, " target"]:
    """−ln p of every target's label, p mixed with UNIFORM; NaN of an estimator without probabilities."""
    if not hasattr(estimator, "predict_proba"):
        return np.full(len(marks), np.nan)
    shares = np.zeros(marks.shape)
    shares[:, np.asarray(estimator.classes_, int)] = estimator.predict_proba(X)
    mixed = (1 - UNIFORM) * shares + UNIFORM / marks.shape[1]
    return -np.log(np.where(marks.any(1), (mixed * marks).sum(1), 1))
