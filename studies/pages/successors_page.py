"""The page on networks that are built to bind, from the tables in ``studies/successors``."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

import tprpapers.successors
from studies.successors.tables import MODELS, SHARES
from studies.successors.trainings import PLAN
from studies.templates import fill, table
from tprprobe.figures.style import FAINT, HUES, INK, MUTED, Drawing, drawing, tidy
from tprprobe.files.settings import read_toml

IMAGE = "images/successors.svg"
PREDICTIONS = Path(tprpapers.successors.__file__).with_name("predictions.toml")
RECALLED = ("systematic test", "other swaps change nothing")  # columns of recall alone
TITLES = {
    "fast-weight-memory": "Fast Weight Memory",
    "tpr-rnn": "TPR-RNN",
    "aid": "AID",
    "d3": "D3",
    "lstm": "LSTM",
    "transformer": "Transformer",
}


def make_page(_runs: Path) -> str:
    """The page, from both tables."""
    models, shares = pd.read_csv(MODELS), pd.read_csv(SHARES)
    rows = list(summarize_models(models, shares))
    return fill(
        Path(__file__).parent,
        "successors.md.j2",
        recall=table([row for task, row in rows if task == "recall"]),
        reverse=table(reverse) if (reverse := [r for task, r in rows if task == "reverse"]) else "",
        seeds=table(list_seeds(models)),
        operations=table(operations) if (operations := [*list_operations(models)]) else "",
        steps=table(list_steps(shares)),
        predictions=table(decide(models, shares)),
        n_models=len(models),
        rank=correlate(models, shares),
        shuffled=[f"{value:+.3f}" for value in models["shuffled"].agg(["min", "max"])],
        plan=PLAN,
    )


def last_shares(shares: pd.DataFrame) -> pd.DataFrame:
    """The bindings' shares in the first site of every model, after the last filler."""
    bound = shares[(shares["part"] == "bindings") & ~is_second_site(shares)]
    return bound[bound["step"] == bound.groupby("task")["step"].transform("max")]


def is_second_site(shares: pd.DataFrame) -> pd.Series:
    """The recurrent states of models that have a memory."""
    has_memory = ~shares["model"].isin(["lstm", "transformer"])
    return has_memory & shares["site"].str.endswith(".hidden")


def summarize_models(
    models: pd.DataFrame, shares: pd.DataFrame
) -> Iterator[tuple[str, dict[str, str]]]:
    """For every task and model a row: the mean of its seeds, the least and the most."""
    final_shares = last_shares(shares)
    for (task, model), seed_rows in models.groupby(["task", "model"], sort=False):
        model_shares = final_shares[
            (final_shares["task"] == task) & (final_shares["model"] == model)
        ]
        trained = model_shares.loc[model_shares["weights"] == "trained", "share"]
        learned_share, half = measure_learned(model_shares)
        row = {
            "model": TITLES[str(model)],
            "seeds": str(len(seed_rows)),
            "parameters": f"{seed_rows['parameters'].iloc[0]:,}",
            "right answers, held out": spread(seed_rows["dev"]),
            "systematic test": spread(seed_rows["test"]),
            "share of bindings": spread(trained),
            "learned": f"{learned_share:+.3f} [{learned_share - half:+.3f}, {learned_share + half:+.3f}]",
            "swap obeys algebra": spread(seed_rows["algebra"]),
            "other swaps change nothing": spread(seed_rows["elsewhere"]),
        }
        yield (
            str(task),
            {name: text for name, text in row.items() if task == "recall" or name not in RECALLED},
        )


def measure_learned(model_shares: pd.DataFrame) -> tuple[float, float]:
    """The mean share of trained models beyond that of models with random weights, and half the interval for one more of these."""
    groups = dict(list(model_shares.groupby("weights")["share"]))
    untrained = groups["untrained"]
    n = len(untrained)
    half = stats.t.ppf(0.975, n - 1) * untrained.std(ddof=1) * np.sqrt(1 + 1 / n)
    return float(groups["trained"].mean() - untrained.mean()), float(half)


def spread(values: pd.Series) -> str:
    """The mean, and in brackets the least and the most; a dash where there is none.

    >>> spread(pd.Series([0.5, 0.7]))
    '0.600 (0.500 to 0.700)'
    """
    present = values.dropna()
    if present.empty:
        return "–"
    return f"{present.mean():.3f} ({present.min():.3f} to {present.max():.3f})"


def list_seeds(models: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row for every trained memory: what was found in it."""
    for row in models[models["roles"].notna()].to_dict("records"):
        yield {
            "task": row["task"],
            "model": TITLES[row["model"]],
            "seed": str(row["seed"]),
            "roles that are found": f"`{row['roles']}`",
            "has a designed role": "yes" if row["is_designed"] else "no",
            "role vectors: variance between designed roles": f"{row['role_by_role']:.3f}",
            "between fillers": f"{row['role_by_filler']:.3f}",
            "systematic test": spread(pd.Series([row["test"]])).partition(" ")[0],
            "swap obeys algebra": f"{row['algebra']:.3f}",
        }


def list_operations(models: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row for every memory whose operation was asked for."""
    if "best" not in models:
        return
    for row in models[models["best"].notna()].to_dict("records"):
        operation = row["operation"] if isinstance(row["operation"], str) else "none"
        yield {
            "model": TITLES[row["model"]],
            "seed": str(row["seed"]),
            "operation that is named": operation or "none",
            "largest R²": f"{row['best']}, {row['best_r2']:.3f}",
            "R² of the outer product": f"{row['outer_r2']:.3f}",
        }


def list_steps(shares: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row for every task, model and site: the bindings' share after every filler, the mean of all seeds."""
    bound = shares[shares["part"] == "bindings"]
    keys = ["task", "model", "site", "weights"]
    for (task, model, site, weights), site_rows in bound.groupby(keys, sort=False):
        steps = site_rows.groupby("step")["share"].mean()
        row = {
            "task": str(task),
            "model": TITLES[str(model)],
            "site": f"`{site}`",
            "weights": weights,
        }
        yield row | {f"after {n}": f"{steps[n]:.3f}" if n in steps else "–" for n in range(2, 7)}


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
    final_shares = last_shares(shares).query("weights == 'trained' and task == @prediction['task']")
    lowest = final_shares.groupby("model", sort=False)["low"].min()
    return {m: lowest[m] for m in prediction["models"] if m in lowest}


def _learned(_models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    final_shares = last_shares(shares).query("task == @prediction['task']")
    groups = dict(list(final_shares.groupby("model")))
    measured = {m: measure_learned(groups[m]) for m in prediction["models"] if m in groups}
    return {model: learned_share - half for model, (learned_share, half) in measured.items()}


def _share_above_lstm(_models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
    final_shares = last_shares(shares).query("weights == 'trained' and task == @prediction['task']")
    means = final_shares.groupby("model")["share"].mean()
    return {m: means[m] - means["lstm"] for m in prediction["models"] if m != "lstm"}


def _mean_of(column: str) -> Callable[[pd.DataFrame, pd.DataFrame, Any], Case]:
    def measure(models: pd.DataFrame, _shares: pd.DataFrame, prediction: Any) -> Case:
        task_models = models[models["task"] == prediction["task"]]
        means = (
            task_models.assign(**{column: task_models[column].astype(float)})
            .groupby("model")[column]
            .mean()
        )
        return {m: means[m] for m in prediction["models"] if m in means}

    return measure


def _beyond(rival: str) -> Callable[[pd.DataFrame, pd.DataFrame, Any], Case]:
    def measure(models: pd.DataFrame, shares: pd.DataFrame, prediction: Any) -> Case:
        means = _mean_of("test")(models, shares, prediction)
        return {m: means[m] - means[rival] for m in means if m != rival}

    return measure


def _outer(models: pd.DataFrame, _shares: pd.DataFrame, prediction: Any) -> Case:
    if "best" not in models:
        return {}
    memories = models[models["model"].isin(prediction["models"]) & models["best"].notna()]
    is_outer = (memories["best"] == "outer product") | (memories["operation"] == "outer product")
    means = is_outer.groupby(memories["model"]).mean()
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
}


def correlate(models: pd.DataFrame, shares: pd.DataFrame) -> dict[str, str]:
    """Rank correlations with the systematic test, over all trained memories: of swaps, and of the bindings' share."""
    memories = models[(models["task"] == "recall") & models["algebra"].notna()]
    trained = last_shares(shares).query("weights == 'trained' and task == 'recall'")
    joined = memories.merge(trained[["model", "seed", "share"]], on=["model", "seed"])
    rank = {name: stats.spearmanr(joined[name], joined["test"])[0] for name in ("algebra", "share")}
    return {name: f"{value:+.2f}" for name, value in rank.items()} | {"n": str(len(joined))}


def draw_figures() -> dict[str, Drawing]:
    """Left, the bindings' share of every model after the last pair; right, swaps of roles against the systematic test."""
    models, shares = pd.read_csv(MODELS), pd.read_csv(SHARES)
    final_shares = last_shares(shares).query("task == 'recall'")
    names = [name for name in TITLES if name in set(final_shares["model"])]
    figure = drawing(7.2, 2.8)
    share_axes, right = figure.subplots(1, 2)
    draw_shares(share_axes, final_shares, names)
    recall = models[(models["task"] == "recall") & models["algebra"].notna()]
    for (name, rows), color in zip(recall.groupby("model", sort=False), HUES, strict=False):
        right.scatter(rows["algebra"], rows["test"], s=30, color=color, label=TITLES[str(name)])
    right.plot([0, 1], [0, 1], color=FAINT, linewidth=0.8, zorder=0)
    right.set_xlim(-0.03, 1.03)
    right.set_ylim(-0.03, 1.03)
    right.set_xlabel("roles exchanged: answers of the algebra")
    right.set_ylabel("new combinations: right answers")
    right.legend(frameon=False, fontsize=6.5, loc="lower right")
    tidy(share_axes, "How much the state binds")
    tidy(right, "Swaps and new combinations")
    return {IMAGE: figure}


def draw_shares(axes: Any, final_shares: pd.DataFrame, names: list[str]) -> None:
    """A row for every model, a point for every seed; models with random weights are open circles."""
    for weights, color, face in (("untrained", MUTED, "none"), ("trained", HUES[5], HUES[5])):
        rows = final_shares[final_shares["weights"] == weights]
        heights = [names.index(name) for name in rows["model"]]
        label = "random weights" if weights == "untrained" else weights
        axes.scatter(rows["share"], heights, s=26, edgecolors=color, facecolors=face, label=label)
    axes.set_yticks(range(len(names)), [TITLES[name] for name in names])
    axes.invert_yaxis()
    axes.axvline(0, color=INK, linewidth=0.5)
    axes.set_xlabel("share of variance due to bindings")
    axes.legend(frameon=False, fontsize=6.5, loc="lower right")
