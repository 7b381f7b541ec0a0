"""F1 of edge probes of roles, fillers and TPRs, layer by layer: jiang's Table 4."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tprprobe.errors import InputError
from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, palette, tidy
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

KINDS = ("role", "filler", "tpr", "hidden")
MARKERS: dict[str, str] = dict(zip(KINDS, "osD^", strict=True))
DASHES = ("-", "--", ":", "-.")
BASELINES = {"majority": (0, (1, 2)), "identity": (0, (6, 2))}
NAMES = {"majority": "commonest label", "identity": "commonest label of the word"}
TITLES = {"pos": "POS", "dep": "DEP", "srl": "SRL", "nel": "NEL"}
SITE = re.compile(r"(encoder|decoder)\.\d+\.(?:(self|cross)\.)?(role|filler|tpr|hidden)")
TITLE = "What vectors know about words: F1 of edge probes"
CAPTION = (
    "Micro-F1 in percent on held-out documents, mean over seeds, in brackets the 95 % interval over "
    "documents.\nIn a decoder the state that predicts a word is probed. Layers count from 0. Of the "
    "paper's Table 4 (XSum) four\nnumbers are known, all of its last decoder layer: POS role 56.0, "
    "TPR 74.5; NEL role 42.2, TPR 73.8."
)


@dataclass(frozen=True, eq=False)
class ProbeTable(Table):
    """The table of probes, whose figure has layers on x, a line per vector and a panel per task."""

    rows: pd.DataFrame | None = None

    def draw(self) -> Drawing:
        """The figure."""
        assert self.rows is not None
        return _draw(self.rows)


def table4(probes: pd.DataFrame) -> ProbeTable:
    """F1 by task, layer and vector of every model, as a table and as a figure.

    ``probes`` are the rows of :func:`tprprobe.probe` with the column ``model``.

    Raises:
        InputError: no row is of a role, filler, tpr or hidden state with all its heads.
    """
    rows: Any = _average(probes)
    known = {*rows["kind"]}
    cells = [
        {"task": _title(str(task)), "side": str(place), "layer": str(int(layer))}
        | {"model": str(model)}
        | {kind: _cell(part[part["kind"] == kind]) for kind in KINDS if kind in known}
        for (task, place, layer, model), part in rows.groupby(
            ["task", "place", "layer", "model"], sort=False
        )
    ]
    tasks = [each["task"] for each in cells]
    ruled = tuple(i for i in range(1, len(tasks)) if tasks[i] != tasks[i - 1])
    shown = rows.attrs["baselines"]
    return ProbeTable(pd.DataFrame(cells), TITLE, CAPTION + _said(shown), ruled, rows=rows)


def _average(probes: pd.DataFrame) -> pd.DataFrame:
    """One row per task, place (stack and sub-layer), layer, model and kind of vector."""
    real: Any = probes[(probes["control"] == "real") & probes["head"].isna()]
    parts = real["site"].astype(str).str.extract(SITE.pattern + "$").astype(object)
    sub_layer = parts[1].fillna("")
    real = real.assign(kind=parts[2], place=(parts[0] + " " + sub_layer).str.strip())
    real = real.dropna(subset=["kind"])
    if real.empty:
        raise InputError(
            "these probes are of no role, filler, tpr or hidden state: nothing to draw"
        )
    keys = ["task", "place", "layer", "model", "kind"]
    found: Any = real.groupby(keys, as_index=False)[["f1", "f1_low", "f1_high"]].mean()
    kinds = {kind: i for i, kind in enumerate(KINDS)}
    order = {task: i for i, task in enumerate([*TITLES, *sorted({*found["task"]} - {*TITLES})])}
    found = found.sort_values(
        keys,
        key=lambda column: column.map({"task": order, "kind": kinds}.get(str(column.name), _same)),
    ).reset_index(drop=True)
    baselines: Any = probes[probes["control"].isin([*BASELINES])]
    means: Any = baselines.groupby(["task", "side", "control"], sort=False, as_index=False)[
        "f1"
    ].mean()
    found.attrs["baselines"] = means.to_dict("records")
    return found


def _same(value: object) -> object:
    return value


def _title(task: str) -> str:
    return TITLES.get(task, task)


def _cell(part: pd.DataFrame) -> str:
    if part.empty:
        return "–"
    return interval_text(read_interval(part.iloc[0], "f1"), ".1f", 100)


def _said(baselines: Sequence[dict]) -> str:
    lines = []
    for control, name in NAMES.items():
        values = [
            f"{_title(each['task'])} ({'decoder' if each['side'] == 'target' else 'encoder'}) "
            f"{100 * each['f1']:.1f}"
            for each in baselines
            if each["control"] == control
        ]
        if values:
            lines.append(f"\nF1 of the {name}: {', '.join(values)}.")
    return "".join(lines)


def _draw(rows: Any) -> Drawing:
    tasks, places = list(rows["task"].unique()), list(rows["place"].unique())
    figure = drawing(max(4.6, 1.75 * len(tasks)), 2.0 * len(places) + 0.7)
    panels = figure.subplots(len(places), len(tasks), sharey=True, sharex=True, squeeze=False)
    models = list(rows["model"].unique())
    handles = {}
    for axes, place in zip(panels, places, strict=True):
        for panel, task in zip(axes, tasks, strict=True):
            part = rows[(rows["task"] == task) & (rows["place"] == place)]
            handles |= dict(_lines(panel, part, models))
            handles |= dict(_baselines(panel, rows.attrs["baselines"], str(task), str(place)))
            tidy(panel, f"{_title(str(task))}, {place}")
            panel.grid(axis="y", color=FAINT, linewidth=0.5)
            panel.set_ylim(0, 1.02)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
        axes[0].set_ylabel("F1 (%)")
    for panel in panels[-1]:
        panel.set_xlabel("layer")
    figure.legend(
        handles=list(handles.values()),
        labels=list(handles),
        loc="outside lower center",
        ncols=2 if len(tasks) < 3 else 4,
        fontsize=7,
        frameon=False,
        handlelength=3.2,
    )
    return figure


def _lines(panel: Axes, part: Any, models: Sequence[str]) -> Iterator[tuple[str, object]]:
    colours: dict[str, Any] = dict(zip(KINDS, palette(len(KINDS)), strict=True))
    for (model, kind), line in part.groupby(["model", "kind"], sort=False):
        x = line["layer"].to_numpy(float)
        colour, dash = colours[str(kind)], DASHES[models.index(str(model)) % len(DASHES)]
        panel.fill_between(x, line["f1_low"], line["f1_high"], color=colour, alpha=0.2, linewidth=0)
        if len(x) == 1:  # a band of no width is not seen
            panel.vlines(x, line["f1_low"], line["f1_high"], color=colour, linewidth=1)
        (drawn,) = panel.plot(
            x,
            line["f1"],
            dash,
            color=colour,
            marker=MARKERS[str(kind)],
            markersize=4,
            linewidth=1.4,
        )
        name = str(kind) if len(models) == 1 else f"{model}: {kind}"
        yield name, drawn


def _baselines(
    panel: Axes, baselines: Sequence[dict], task: str, place: str
) -> Iterator[tuple[str, object]]:
    side = "target" if place.startswith("decoder") else "source"
    for each in baselines:
        if each["task"] == task and each["side"] == side:
            style = BASELINES[each["control"]]
            line = panel.axhline(each["f1"], color=MUTED, linewidth=0.9, linestyle=style)
            yield NAMES[each["control"]], line
