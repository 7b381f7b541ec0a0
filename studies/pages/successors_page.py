"""The page on networks that are built to bind, from the tables in ``studies/successors``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import tprpapers.successors
from studies.pages.successors_figure import draw_binding
from studies.successors.tables import MODELS, SHARES, SHIPPED
from studies.successors.trainings import PLAN
from studies.templates import fill, table
from tprprobe.analyses.decomposition.binding_claims import MIN_SHARE
from tprprobe.figures.style import Drawing
from tprprobe.files.settings import read_toml
from tprprobe.statistics import Interval, interval_text

IMAGE = "images/successors.svg"
PREDICTIONS = Path(tprpapers.successors.__file__).with_name("predictions.toml")
TASKS = tuple(PLAN["tasks"])
ASKED = ("test", "algebra", "elsewhere", "roles", "is_designed", "operation", "best")
OF_TASKS = {
    "systematic test": ("recall", "trees", "programs", "stories"),
    "other swaps change nothing": ("recall",),
    "operation": ("reverse", "copy", "trees", "programs"),
    "designed role is found": ("recall", "reverse", "copy", "trees", "programs"),
}
TITLES = {
    "fast-weight-memory": "Fast Weight Memory",
    "tpr-rnn": "TPR-RNN",
    "aid": "AID",
    "d3": "D3",
    "soft-tpr": "Soft TPR Autoencoder",
    "tree-machine": "Differentiable Tree Machine",
    "tp-n2f": "TP-N2F",
    "lstm": "LSTM",
    "transformer": "Transformer",
}


def make_page(_runs: Path) -> str:
    """The page, from both tables."""
    models, shares = read_models(), pd.read_csv(SHARES)
    rows = list(summarize_models(models, shares))
    return fill(
        Path(__file__).parent,
        "successors.md.j2",
        results={name: table([row for task, row in rows if task == name]) for name in TASKS},
        predictions=table(decide(models, shares)),
        n_models=len(models),
        seeds_by_task={task: count_seeds(models, task) for task in TASKS},
        n_shipped=len(list_changes(shares)),
        changes=[f"{value:+.3f}" for value in list_changes(shares).agg(["min", "max"])],
        shuffled=[f"{value:+.3f}" for value in models["shuffled"].agg(["min", "max"])],
        plan=PLAN,
    )


def read_models() -> pd.DataFrame:
    """The table of models; what no training was asked for is missing in all rows."""
    models = pd.read_csv(MODELS)
    return models.reindex(columns=[*dict.fromkeys([*models, *ASKED])])


def bound_shares(shares: pd.DataFrame) -> pd.DataFrame:
    """The shares of bindings."""
    return shares[shares["part"] == "bindings"]


def list_changes(shares: pd.DataFrame) -> pd.Series:
    """What was added to the shares of bindings of the models that ship when they were measured again."""
    names = ["task", "model", "weights", "seed"]
    before, again = (
        bound_shares(t).set_index(names)["share"] for t in (shares, pd.read_csv(SHIPPED))
    )
    return again - before.reindex(again.index)


def count_seeds(models: pd.DataFrame, task: str) -> str:
    """The number of seeds of a task's models."""
    counts = models[models["task"] == task].groupby("model", sort=False)["seed"].count()
    least, most = counts.min(), counts.max()
    return f"{least} seeds of every model" if least == most else f"{least} to {most}"


def summarize_models(
    models: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[tuple[str, dict[str, str]]]:
    """For every task and model a row: the mean of its seeds, the least and the most."""
    last = bound_shares(shares)
    for (task, model), rows in models.groupby(["task", "model"], sort=False):
        shares_of_model = last[(last["task"] == task) & (last["model"] == model)]
        trained = shares_of_model[shares_of_model["weights"] == "trained"]
        gain, half = measure_learned(shares_of_model)
        row = {
            "model": TITLES[str(model)],
            "right answers, held out": spread(rows["dev"]),
            "systematic test": spread(rows["test"]),
            "share of bindings": f"{trained['share'].mean():.3f} [{trained['low'].min():.3f}, {trained['high'].max():.3f}]",
            "binds": f"{(trained['low'] > MIN_SHARE).sum()} of {len(rows)}",
            "learned": interval_text(Interval(gain, gain - half, gain + half), "+.3f"),
            "operation": name_operations(rows),
            "designed role is found": count_designed(rows),
            "swap obeys algebra": spread(rows["algebra"]),
            "other swaps change nothing": spread(rows["elsewhere"]),
        }
        yield (
            str(task),
            {name: text for name, text in row.items() if task in OF_TASKS.get(name, TASKS)},
        )


def name_operations(rows: pd.DataFrame) -> str:
    """The operations that are named, with the number of seeds; of the other seeds that with the largest R², in brackets.

    >>> name_operations(pd.DataFrame({"operation": ["outer product", ""], "best": ["outer product", "rotation"]}))
    'outer product 1, (rotation 1)'
    """
    rows = rows[rows["best"].notna()]
    is_named = rows["operation"].fillna("") != ""
    named, best = rows["operation"][is_named].value_counts(), rows["best"][~is_named].value_counts()
    texts = [f"{name} {n}" for name, n in named.items()]
    return ", ".join(texts + [f"({name} {n})" for name, n in best.items()]) or "–"


def count_designed(rows: pd.DataFrame) -> str:
    """In how many of the trainings that were searched a designed role was found."""
    searched = rows["is_designed"].dropna()
    return f"{searched.astype(bool).sum()} of {len(searched)}" if len(searched) else "–"


def measure_learned(chosen: pd.DataFrame) -> tuple[float, float]:
    """The mean share of trained models beyond that of models with random weights, and half the interval for one more of these."""
    groups = dict(list(chosen.groupby("weights")["share"]))
    if "untrained" not in groups:
        return np.nan, np.nan
    untrained = groups["untrained"]
    n = len(untrained)
    half = stats.t.ppf(0.975, n - 1) * untrained.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(groups["trained"].mean() - untrained.mean()), float(half)


def spread(values: pd.Series) -> str:
    """The mean, and in brackets the least and the most; a dash where there is none.

    >>> spread(pd.Series([0.5, 0.7]))
    '0.600 (0.500 to 0.700)'
    """
    known = values.dropna()
    if known.empty:
        return "–"
    return f"{known.mean():.3f} ({known.min():.3f} to {known.max():.3f})"


Case = dict[str, float]  # a number by model


def decide(models: pd.DataFrame, shares: pd.DataFrame) -> Iterator[dict[str, str]]:
    """The predictions with what was measured of every model, and the outcome."""
    for prediction in read_toml(PREDICTIONS)["prediction"]:
        cases = STATISTICS[prediction["id"]](models, shares, prediction)
        beyond = [value > prediction["threshold"] for value in cases.values()]
        outcome = "holds" if beyond and all(beyond) else "fails" if beyond else "not measured"
        texts = [f"{TITLES[model]} {value:.3f}" for model, value in cases.items()]
        missing = [TITLES[m] for m in prediction["models"] if m not in cases and m != "lstm"]
        texts += [
            f"{name} not measured" for name in missing if "minus" not in prediction["statistic"]
        ]
        yield {
            "prediction": prediction["says"],
            "what decides": f"{prediction['statistic']}, above {prediction['threshold']:g}",
            "measured": "; ".join(texts),
            "outcome": outcome,
        }


def _lowest_share(_models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    last = bound_shares(shares).query("weights == 'trained' and task == @prediction['task']")
    lowest = last.groupby("model", sort=False)["low"].min()
    return {m: lowest[m] for m in prediction["models"] if m in lowest}


def _learned(_models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    last = bound_shares(shares).query("task == @prediction['task']")
    groups = dict(list(last.groupby("model")))
    chosen = {m: measure_learned(groups[m]) for m in prediction["models"] if m in groups}
    return {m: mean - half for m, (mean, half) in chosen.items() if not np.isnan(mean)}


def _share_above_lstm(_models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    last = bound_shares(shares).query("weights == 'trained' and task == @prediction['task']")
    means = last.groupby("model")["share"].mean()
    chosen = [m for m in prediction["models"] if m != "lstm" and {m, "lstm"} <= {*means.index}]
    return {m: means[m] - means["lstm"] for m in chosen}


def _mean_of(column: str) -> Callable[[pd.DataFrame, pd.DataFrame, Any], Case]:
    def measure(models: pd.DataFrame, _shares: pd.DataFrame, prediction: Any) -> Case:
        of = models[models["task"] == prediction["task"]]
        means = of.assign(**{column: of[column].astype(float)}).groupby("model")[column].mean()
        return {m: means[m] for m in prediction["models"] if means.notna().get(m, False)}

    return measure


def _beyond(rival: str) -> Callable[[pd.DataFrame, pd.DataFrame, Any], Case]:
    def measure(models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
        means = _mean_of("test")(models, shares, prediction)
        return {m: means[m] - means[rival] for m in means if m != rival and rival in means}

    return measure


def _beyond_both(models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    means = _mean_of("test")(models, shares, prediction)
    model, *rivals = prediction["models"]
    return (
        {model: means[model] - sum(means[m] for m in rivals)}
        if {*prediction["models"]} <= {*means}
        else {}
    )


def _outer(models: pd.DataFrame, _shares: pd.DataFrame, prediction: Any) -> Case:
    chosen = models[
        models["model"].isin(prediction["models"])
        & (models["task"] == prediction["task"])
        & models["best"].notna()
    ]
    is_outer = (chosen["best"] == "outer product") | (chosen["operation"] == "outer product")
    means = is_outer.groupby(chosen["model"]).mean()
    return {str(model): float(mean) for model, mean in means.items()}


STATISTICS: dict[str, Callable[[pd.DataFrame, pd.DataFrame, Any], Case]] = {
    "memories-bind": _lowest_share,
    "memories-learn-to-bind": _learned,
    "memories-bind-more": _share_above_lstm,
    "places-are-roles": _mean_of("is_designed"),
    "outer-product": _outer,
    "swap-obeys-algebra": _mean_of("algebra"),
    "swap-is-local": _mean_of("elsewhere"),
    "decomposition-generalizes": _beyond("fast-weight-memory"),
    "memories-generalize": _beyond("lstm"),
    "reversing-binds": _learned,
    "reversing-lstm-binds": _lowest_share,
    "reversing-swaps": _mean_of("algebra"),
    "soft-tpr-binds": _lowest_share,
    "soft-tpr-learns": _learned,
    "soft-tpr-places": _mean_of("is_designed"),
    "soft-tpr-outer": _outer,
    "soft-tpr-swaps": _mean_of("algebra"),
    "soft-tpr-binds-more": _share_above_lstm,
    "tree-machine-generalizes": _beyond_both,
    "tree-machine-learns": _learned,
    "tree-machine-swaps": _mean_of("algebra"),
    "programs-bind": _lowest_share,
    "programs-learn": _learned,
    "programs-bind-more": _share_above_lstm,
    "programs-swaps": _mean_of("algebra"),
    "programs-generalize": _beyond("lstm"),
    "stories-bind": _lowest_share,
    "stories-generalize": _beyond("lstm"),
}


def draw_figures() -> dict[str, Drawing]:
    models, shares = read_models(), pd.read_csv(SHARES)
    measured = {*zip(models["task"], models["model"], strict=True)}
    titles = {
        (task, m): f"{TITLES[m]}, {task}" for task in TASKS for m in TITLES if (task, m) in measured
    }
    return {IMAGE: draw_binding(models, bound_shares(shares), titles)}
