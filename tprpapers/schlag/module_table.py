"""schlag's Table 1: exact match averaged over the modules of the Mathematics Dataset, beside the printed rows."""

from collections.abc import Iterable
from dataclasses import replace
from importlib.resources import files
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.accuracy import SMALL, module_bars
from tprprobe.figures.look import current_look
from tprprobe.figures.scenes import Grid
from tprprobe.figures.tables import Table
from tprprobe.files import assets, hub
from tprprobe.files.settings import read_toml

TRAINED_ON = "small"  # the split that small checkpoints learn from
PRINTED, THIS_RUN = "schlag_table1.csv", "this run"
MODULES = {"interpolate": 56, "extrapolate": 15}
ENDS = ("low", "high")
MIN_SOLVED = 0.95  # exact match of a module that counts as solved
TITLE = "Exact match, averaged over modules (percent)"
CAPTION = (
    "[…]: 95 % interval of the mean, of the intervals of modules (Zou and Donner 2008).\n"
    ">95%: modules with more than 95 % right, of those evaluated.\n“printed”: copied from Table 1 of Schlag et al. (2019; workshop and final version), "
    "not reproduced here."
)
SPARE = (">95% (int.)", ">95% (ext.)", "train")  # columns


def printed_table1() -> pd.DataFrame:
    """The rows printed in schlag's Table 1, final and workshop version, in percent.

    Columns: source, model, weights, steps, train, interpolate, interpolate_above, extrapolate,
    extrapolate_above (modules above 95 %, of 56 and of 15).
    """
    with (files("tprpapers.schlag") / PRINTED).open() as file:
        return pd.read_csv(file)


def summarize_modules(evaluations: pd.DataFrame) -> pd.DataFrame:
    """The rows of Table 1 for our models, in percent, with 95 % intervals (``_low``, ``_high``).

    ``evaluations`` has a row per model, split and module: model, parameters, split, module, n,
    exact_match, low, high. A split is averaged over its modules, which are taken as independent.
    """
    rows = []
    for model, of_model in evaluations.groupby("model", sort=False):
        row: dict[str, Any] = {"source": THIS_RUN, "model": model}
        parameters = of_model["parameters"].iloc[0]
        n_steps = sum(stage["steps"] for stage in _list_stages(str(model)))
        row["steps"] = f"{n_steps / 1000:g}k" if n_steps else "–"
        row["weights"] = "–" if np.isnan(parameters) else f"{parameters / 1e6:.1f}M"
        for split in ("train", SMALL, *MODULES):
            of_split = of_model.loc[of_model["split"].str.startswith(split)]
            row |= {f"{split}{name}": value for name, value in _mean(of_split).items()}
        rows.append(row)
    return pd.DataFrame(rows)


def _mean(evaluations: pd.DataFrame) -> dict[str, float]:
    """Mean exact match over modules, its interval, how many modules, and how many are solved."""
    modules: Any = 100 * evaluations.groupby("module")[["exact_match", "low", "high"]].mean()
    mean, n = modules["exact_match"].mean(), max(len(modules), 1)
    below, above = (np.linalg.norm(modules["exact_match"] - modules[end]) / n for end in ENDS)
    return {
        "": mean,
        "_low": mean - below,
        "_high": mean + above,
        "_modules": len(modules),
        "_above": int((modules["exact_match"] > 100 * MIN_SOLVED).sum()),
    }


def table1(evaluations: pd.DataFrame) -> Table:
    """schlag's Table 1: our models (:func:`summarize_modules`), then the rows the paper prints."""
    printed = printed_table1().assign(**{f"{split}_modules": n for split, n in MODULES.items()})
    measured = summarize_modules(evaluations)
    rows = pd.concat([measured, printed], ignore_index=True)
    cells = {
        "model": rows["model"].tolist(),
        "weights": rows["weights"].tolist(),
        "steps": rows["steps"].tolist(),
        "train": _percent(rows, "train"),
        "interpolate": _percent(rows, "interpolate"),
        ">95% (int.)": _solved(rows, "interpolate"),
        "extrapolate": _percent(rows, "extrapolate"),
        ">95% (ext.)": _solved(rows, "extrapolate"),
        "from": [
            source if source == THIS_RUN else f"printed ({source.partition('-')[2]})"
            for source in rows["source"]
        ],
    }
    if measured[f"{SMALL}_modules"].any():
        cells |= {SMALL: _percent(rows, SMALL)}
        cells = {name: cells[name] for name in (*list(cells)[:4], SMALL, *list(cells)[4:-1])}
    notes = [_describe_modules(measured), CAPTION, describe_training(measured["model"])]
    caption = "\n".join(filter(None, notes))
    starts = np.flatnonzero(rows["source"].ne(rows["source"].shift()))
    look = {"ruled": tuple(starts[1:].tolist()), "block": ("from",), "spare": SPARE}
    short = {name: f"{name[:6]}." for name in MODULES} | {"weights": "size"}
    short = short if current_look().is_narrow else {}
    return Table(pd.DataFrame(cells).rename(columns=short), TITLE, caption, **look)


def _describe_modules(measured: pd.DataFrame) -> str:
    """Over how many modules our means are, and over how many the paper's."""
    counts = {split: sorted({*measured[f"{split}_modules"]} - {0}) for split in MODULES}
    parts = [
        f"{' or '.join(map(str, counts[split]))} ({split}; the paper's over {n})"
        for split, n in MODULES.items()
        if counts[split]
    ]
    return f"Means of this run are over modules: {', '.join(parts)}." * bool(parts)


def _percent(rows: pd.DataFrame, split: str) -> list[str]:
    digits = 1 if current_look().is_narrow else 2

    def text(mean: float, low: float, high: float) -> str:
        interval = "" if np.isnan(low) else f" [{low:.{digits}f}, {high:.{digits}f}]"
        return "–" if np.isnan(mean) else f"{mean:.2f}{interval}"

    return [text(*row) for row in rows[[split, f"{split}_low", f"{split}_high"]].to_numpy(float)]


def _solved(rows: pd.DataFrame, split: str) -> list[str]:
    counts = zip(rows[f"{split}_above"], rows[f"{split}_modules"], strict=True)
    return [f"{above:.0f} of {modules:.0f}" if modules else "–" for above, modules in counts]


def draw_modules(evaluations: pd.DataFrame, split: str) -> Grid:
    """The bars of the modules of a split, with what our models learned from. Source: schlag Figs. 4 and 5."""
    scene = module_bars(evaluations, split)
    training = describe_training(evaluations["model"])
    return replace(scene, note="\n".join(filter(None, [scene.note, training])))


def describe_training(models: Iterable[str]) -> str:
    """Which models learned from small questions alone, by their recipes; empty where none did."""
    names = ", ".join(name for name in dict.fromkeys(models) if _list_splits(name) == {TRAINED_ON})
    if not names:
        return ""
    return (
        f"Trained on questions in numbers of one to three digits alone (fresh ones: {SMALL}): {names}. The other splits have "
        "far larger numbers, as the paper's models learned from: low scores there are no failed reproduction."
    )


def _list_splits(model: str) -> set[str | None]:
    """The splits that a model was trained on; empty where its recipe is not found."""
    return {mix.get("split") for stage in _list_stages(model) for mix in stage["mix"]}


def _list_stages(model: str) -> list[dict[str, Any]]:
    """The stages of a model's training; none where its recipe is not found."""
    try:
        return read_toml(assets.find("models", model) / hub.RECIPE)["stages"]
    except InputError:
        return []
