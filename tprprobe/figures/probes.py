"""F1 of probes layer by layer, beside the strongest control: a table, and its figure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.analyses.probing.rows import BEYOND, find_metric, name_score
from tprprobe.errors import InputError
from tprprobe.figures.behavior import kind_of
from tprprobe.figures.dots import EMBEDDING, render
from tprprobe.figures.scenes import BAND, LEVEL, Lines
from tprprobe.figures.tables import Table
from tprprobe.statistics import Interval, Row, measured, write_interval

KINDS = ("role", "filler", "tpr", "hidden")  # the order of vectors; others follow
ENDS = ("", "_low", "_high")
NAMES = {"majority": "most frequent label", "identity": "most frequent label of the word"}
STRONGEST, CONTROL = "strongest control", ["control_f1", "control_low", "control_high"]
TITLES = {"pos": "POS", "upos": "UPOS", "dep": "DEP", "srl": "SRL", "nel": "NEL"}
TITLE = "What vectors know about words: F1 of edge probes"
CAPTION = (
    "Micro-F1 in percent on held-out documents, mean over seeds, in brackets the 95 % interval over "
    "documents.\nIn a decoder the state that predicts a word is probed. Layers count from 0."
)
MARKED = f"\n{BEYOND}: beyond every control (paired, Holm). A score without it does not beat its strongest control."
ALIKE = 0.02  # share of targets that whole samples make more or fewer
POINT = ["task", "place", "layer", "model"]


@dataclass(frozen=True, eq=False)
class ProbeTable(Table):
    """The table of probes, whose figure has layers on x, a line per vector and a panel per task."""

    rows: pd.DataFrame | None = None

    @property
    def scene(self) -> Lines:
        assert self.rows is not None
        return probe_lines(self.rows)

    def draw(self, ax: Axes | None = None) -> Any:
        """The figure."""
        return render(self.scene, ax)


def probe_table(
    probes: pd.DataFrame, note: str = "", kinds: Sequence[str] = ()
) -> ProbeTable:
    """F1 by task, layer and vector of every model beside the strongest control, as a table and as a figure.

    ``probes`` are the rows of :func:`tprprobe.probe` with the column ``model``. A ``note`` ends the caption; only some ``kinds`` of vectors
    may be drawn. A score that is beyond every control has a mark.
    """
    rows = average_probes(probes, kinds)
    names = _sort_kinds(rows["kind"].unique())
    cells = []
    for (task, place, layer, model), point in rows.groupby(POINT, sort=False):
        cell = {
            "task": _title(str(task)),
            "side": str(place),
            "layer": "emb" if layer == EMBEDDING else f"{layer:g}",
            "model": str(model),
        }
        cell |= {kind: _score_cell(point[point["kind"] == kind]) for kind in names}
        strongest = point["control_f1"].fillna(-1).to_numpy().argmax()
        cell[STRONGEST] = _control_cell(point.iloc[strongest])
        cell["learned from"] = f"{int(point['n_train'].max()):,}"
        baselines = _baselines(rows.attrs["baselines"], str(task), str(place))
        cell |= {NAMES[row["control"]]: f"{100 * row['f1']:.1f}" for row in baselines}
        cells.append(cell)
    tasks = [cell["task"] for cell in cells]
    ruled = tuple(i for i in range(1, len(tasks)) if tasks[i] != tasks[i - 1])
    warning = _warn_of_fewer_targets(probes)
    marked = MARKED if rows["beyond"].notna().any() else ""
    table = pd.DataFrame(cells).fillna("–")
    metric = rows.attrs["metric"]
    title = TITLE.replace("F1", metric)
    caption = CAPTION.replace("Micro-F1", "Micro-F1" if metric == "F1" else metric.capitalize())
    return ProbeTable(table, title, f"{caption}{note}{marked}{warning}", ruled, rows=rows)


def average_probes(probes: pd.DataFrame, kinds: Sequence[str] = ()) -> pd.DataFrame:
    """One row per task, place (stack and sub-layer), layer, model and kind of vector."""
    metric = find_metric(probes)
    if metric != "f1":
        probes = probes.assign(**{f"f1{end}": probes[f"{metric}{end}"] for end in ENDS})
    real = probes[(probes["control"] == "real") & probes["head"].isna()]
    names: Any = real["site"].astype(str).str.replace(r"\.\d+", "", regex=True).str.rsplit(".", n=1)
    places = names.str[0].where(names.str.len() > 1, "").str.replace(".", " ")
    real = real.assign(kind=real["site"].astype(str).map(kind_of), place=places)
    if kinds:
        real = real[real["kind"].isin(kinds)]
    if real.empty:
        condition = f" ({', '.join(kinds)})" if kinds else ""
        raise InputError(f"these probes are of no vectors of all heads{condition}: nothing to draw")
    absent = {"n_train": 0, "beyond": None}
    real = real.assign(row=real.index, **{k: v for k, v in absent.items() if k not in real})
    controls = [strongest_control(probes, row) for _, row in real.iterrows()]
    scores = [(name, f1.value, f1.low, f1.high) for name, f1 in controls]
    real[["control_name", *CONTROL]] = pd.DataFrame(scores, real.index)
    default_layers = np.where(names.str[-1] == "embedding", EMBEDDING, 0)
    real = real.assign(layer=real["layer"].fillna(pd.Series(default_layers, real.index)))
    keys, numbers = [*POINT, "kind"], ["f1", "f1_low", "f1_high", *CONTROL, "n_train"]
    marks = ["control_name", "site", "row", "beyond"]
    how = dict.fromkeys(numbers, "mean") | dict.fromkeys(marks, "first")
    means = real.groupby(keys, as_index=False).agg(how)
    orders = {"task": [*TITLES], "kind": [*KINDS]}
    for column, order in orders.items():
        order += sorted({*means[column]} - {*order})
        means[column] = pd.Categorical(means[column], order)
    means = means.sort_values(keys, ignore_index=True).astype(dict.fromkeys(orders, str))
    baselines: Any = probes[probes["control"].isin([*NAMES])]
    by_side = baselines.groupby(["task", "side", "control"], sort=False, as_index=False)["f1"]
    means.attrs["metric"] = "F1" if metric == "f1" else metric
    means.attrs["label"] = (
        name_score(real) if metric == "f1" and "accuracy" in real else means.attrs["metric"]
    )
    means.attrs["baselines"] = by_side.mean().to_dict("records")
    return means


def _sort_kinds(names: Iterable[str]) -> list[str]:
    return sorted(map(str, names), key=lambda kind: (*KINDS, kind).index(kind))


def strongest_control(probes: pd.DataFrame, row: pd.Series) -> tuple[str, Interval]:
    """The name of a row's best control, and its score; NaN where it has none."""
    name = row.get("best_control")
    rows = probes[(probes["control"] == name) & (probes["side"] == row["side"])]
    rows = rows[(rows["task"] == row["task"]) & (rows["model"] == row["model"])]
    of_site = rows[rows["site"] == row["site"]]
    rows = of_site if len(of_site) else rows
    if not isinstance(name, str) or rows.empty:
        return "none", Interval(np.nan, np.nan, np.nan)
    return name, Interval(*rows[[f"f1{end}" for end in ENDS]].mean().tolist())


def _control_cell(row: Row) -> str:
    if row["control_name"] == "none":
        return "–"
    return f"{100 * row['control_f1']:.1f} {row['control_name']}"


def _warn_of_fewer_targets(probes: pd.DataFrame) -> str:
    """Which controls learned from fewer targets than the probes of real labels."""
    if "n_train" not in probes:
        return ""
    by_control = probes.groupby(["task", "side", "control"], sort=False)["n_train"]
    counts: Any = by_control.max().dropna()
    warnings = [
        f"{_title(task)} {control} {int(n):,} of {int(counts[task, side, 'real']):,}"
        for (task, side, control), n in counts.items()
        if n < (1 - ALIKE) * counts[task, side, "real"]
    ]
    return f"\nLearned from fewer targets: {', '.join(warnings)}." if warnings else ""


def _title(task: str) -> str:
    return TITLES.get(task, task)


def _score_cell(point: pd.DataFrame) -> str:
    if point.empty:
        return "–"
    score = write_interval(point.iloc[0], "f1", ".1f", 100)
    return f"{score} {BEYOND}" if point["beyond"].eq(True).all() else score


def probe_lines(means: pd.DataFrame) -> Lines:
    """The scene of the table: a panel per place and task, over the band of the strongest control."""
    attributes = means.attrs
    titles = means["task"].map(_title) + ", " + means["place"]
    counts = means.groupby(["task", "place"])["n_train"].transform("max").astype(int)
    panels = titles + counts.map("\nlearned from {:,} targets".format)
    is_one = means["model"].nunique() == 1
    names = means["kind"] if is_one else means["model"].astype(str) + ": " + means["kind"]
    means = means.assign(panel=panels, line=names, group=means["kind"], x=means["layer"])
    is_sure = means["beyond"].eq(True) if means["beyond"].notna().any() else True
    means = means.assign(told=[_describe(row) for _, row in means.iterrows()], sure=is_sure)
    kinds = means["kind"].map(_sort_kinds(means["kind"].unique()).index)
    tasks, places = (pd.factorize(means[column])[0] for column in ("task", "place"))
    rows = measured(means, "f1").iloc[np.lexsort((kinds, tasks, places))].set_index("row")
    control = {"control_f1": "value", "control_low": "low", "control_high": "high"}
    bands = (
        means.dropna(subset=["control_f1"])
        .sort_values("control_f1")
        .drop_duplicates(["panel", "x"], keep="last")
    )
    bands = bands.rename(columns=control)[BAND].sort_values("x")
    levels = [
        (panel, NAMES[row["control"]], row["f1"])
        for (panel, task, place), _ in rows.groupby(["panel", "task", "place"], sort=False)
        for row in _baselines(attributes["baselines"], str(task), str(place))
    ]
    lower_limit = min(0.0, float(np.nanmin(rows[["value", "low"]].to_numpy(float))))
    return Lines(
        rows, bands, attributes["label"], across=rows["task"].nunique(), limits=(lower_limit, 1.02),
        levels=pd.DataFrame(levels, columns=LEVEL),
    )  # fmt: skip


def _describe(row: Row) -> str:
    """What is written of a mark under the pointer."""
    text = f"{row['site']}: {100 * row['f1']:.1f} % · learned from {row['n_train']:.0f} targets"
    if row["control_name"] == "none":
        return text
    return f"{text} · best control: {row['control_name']} {100 * row['control_f1']:.1f} %"


def _baselines(rows: Sequence[dict], task: str, place: str) -> list[dict]:
    """The baselines of a task's labels on the side of a place."""
    side = "target" if place.startswith("decoder") else "source"
    return [row for row in rows if row["task"] == task and row["side"] == side]
