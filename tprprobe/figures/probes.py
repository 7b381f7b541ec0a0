"""F1 of probes layer by layer, beside the strongest control: a table, and its figure."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from tprprobe.analyses.probing.rows import find_metric
from tprprobe.errors import InputError
from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, legend, palette, tidy
from tprprobe.figures.tables import Table
from tprprobe.statistics import Interval, interval_text, read_interval

KINDS = ("role", "filler", "tpr", "hidden")  # the order of vectors; others follow
MARKERS = "osD^vP*X"
DASHES = ("-", "--", ":", "-.")
BASELINES = {"majority": (0, (1, 2)), "identity": (0, (6, 2))}  # the dashes of their lines
ENDS = ("", "_low", "_high")
NAMES = {"majority": "most frequent label", "identity": "most frequent label of the word"}
STRONGEST, BESIDE = "strongest control", ["control_f1", "control_low", "control_high"]
TITLES = {"pos": "POS", "upos": "UPOS", "dep": "DEP", "srl": "SRL", "nel": "NEL"}
TITLE = "What vectors know about words: F1 of edge probes"
CAPTION = (
    "Micro-F1 in percent on held-out documents, mean over seeds, in brackets the 95 % interval over "
    "documents.\nIn a decoder the state that predicts a word is probed. Layers count from 0."
)
ALIKE = 0.02  # share of targets that whole samples make more or fewer
POINT = ["task", "place", "layer", "model"]


@dataclass(frozen=True, eq=False)
class ProbeTable(Table):
    """The table of probes, whose figure has layers on x, a line per vector and a panel per task."""

    rows: pd.DataFrame | None = None

    def draw(self) -> Drawing:
        """The figure."""
        assert self.rows is not None
        return _draw(self.rows)


def probe_table(probes: pd.DataFrame) -> ProbeTable:
    """F1 by task, layer and vector of every model beside the strongest control, as a table and as a figure.

    Args:
        probes: The rows of :func:`tprprobe.probe` with the column ``model``.

    Raises:
        InputError: no row is of real labels and of all heads together.
    """
    return tabulate_probes(probes)


def tabulate_probes(
    probes: pd.DataFrame, note: str = "", controls: bool = True, kinds: Sequence[str] = ()
) -> ProbeTable:
    """The same with a note in the caption, without the controls, or of some kinds of vectors only."""
    rows = _average(probes, kinds)
    known = _kinds(rows)
    cells = []
    for (task, place, layer, model), part in rows.groupby(POINT, sort=False):
        cell = {"task": _title(str(task)), "side": str(place), "layer": str(int(layer))}
        cell |= {"model": str(model)}
        cell |= {kind: _cell(part[part["kind"] == kind]) for kind in known}
        if controls:
            best = part.loc[part["control_f1"].fillna(-1).idxmax()]
            cell[STRONGEST] = _control_cell(best)
            cell["learnt from"] = f"{int(part['n_train'].max()):,}"
        of_labels = _baselines(rows.attrs["baselines"], str(task), str(place))
        cell |= {NAMES[each["control"]]: f"{100 * each['f1']:.1f}" for each in of_labels}
        cells.append(cell)
    tasks = [cell["task"] for cell in cells]
    ruled = tuple(i for i in range(1, len(tasks)) if tasks[i] != tasks[i - 1])
    rows.attrs["controls"] = controls
    fewer = _learnt(probes) if controls else ""
    table = pd.DataFrame(cells).fillna("–")
    metric = rows.attrs["metric"]
    title, caption = (
        TITLE.replace("F1", metric),
        CAPTION.replace("Micro-F1", "Micro-F1" if metric == "F1" else metric.capitalize()),
    )
    return ProbeTable(table, title, f"{caption}{note}{fewer}", ruled, rows=rows)


def _average(probes: pd.DataFrame, kinds: Sequence[str]) -> Any:
    """One row per task, place (stack and sub-layer), layer, model and kind of vector."""
    metric = find_metric(probes)
    if metric != "f1":
        probes = probes.assign(**{f"f1{end}": probes[f"{metric}{end}"] for end in ENDS})
    real: Any = probes[(probes["control"] == "real") & probes["head"].isna()]
    parts = real["site"].astype(str).str.split(".")
    names = parts.map(lambda site: [part for part in site if not part.isdigit()])
    real = real.assign(kind=names.str[-1], place=names.map(lambda name: " ".join(name[:-1])))
    if kinds:
        real = real[real["kind"].isin(kinds)]
    if real.empty:
        named = f" ({', '.join(kinds)})" if kinds else ""
        raise InputError(f"these probes are of no vectors of all heads{named}: nothing to draw")
    if "n_train" not in real:
        real = real.assign(n_train=0)
    beside = [strongest_control(probes, row) for _, row in real.iterrows()]
    strongest = [(name, f1.value, f1.low, f1.high) for name, f1 in beside]
    real[["control_name", *BESIDE]] = pd.DataFrame(strongest, real.index)
    real = real.assign(layer=real["layer"].fillna(0))
    keys, scores = [*POINT, "kind"], ["f1", "f1_low", "f1_high", *BESIDE, "n_train"]
    how = {**dict.fromkeys(scores, "mean"), "control_name": "first"}
    means = real.groupby(keys, as_index=False).agg(how)
    orders = {"task": [*TITLES], "kind": [*KINDS]}
    for column, order in orders.items():
        order += sorted({*means[column]} - {*order})
        means[column] = pd.Categorical(means[column], order)
    means = means.sort_values(keys, ignore_index=True).astype(dict.fromkeys(orders, str))
    baselines: Any = probes[probes["control"].isin([*BASELINES])]
    by_side = baselines.groupby(["task", "side", "control"], sort=False, as_index=False)["f1"]
    means.attrs["metric"] = "F1" if metric == "f1" else metric
    means.attrs["baselines"] = by_side.mean().to_dict("records")
    return means


def _kinds(rows: Any) -> list[str]:
    known = [str(kind) for kind in rows["kind"].unique()]
    return sorted(known, key=lambda kind: (*KINDS, kind).index(kind))


def strongest_control(
    probes: pd.DataFrame, row: pd.Series, score: str = "f1"
) -> tuple[str, Interval]:
    """The name of a row's best control, and its score; NaN where it has none."""
    name = row.get("best_control")
    same = probes[(probes["control"] == name) & (probes["side"] == row["side"])]
    same = same[(same["task"] == row["task"]) & (same["model"] == row["model"])]
    exact = same[same["site"] == row["site"]]
    rival = exact if len(exact) else same
    if not isinstance(name, str) or rival.empty:
        return "none", Interval(np.nan, np.nan, np.nan)
    return name, Interval(*rival[[score, f"{score}_low", f"{score}_high"]].mean().tolist())


def _control_cell(row: Any) -> str:
    if row["control_name"] == "none":
        return "–"
    return f"{100 * row['control_f1']:.1f} {row['control_name']}"


def _learnt(probes: pd.DataFrame) -> str:
    """Which controls learnt from fewer targets than the probes of real labels."""
    if "n_train" not in probes:
        return ""
    by_control = probes.groupby(["task", "side", "control"], sort=False)["n_train"]
    counts: Any = by_control.max().dropna()
    fewer = [
        f"{_title(task)} {control} {int(n):,} of {int(counts[task, side, 'real']):,}"
        for (task, side, control), n in counts.items()
        if n < (1 - ALIKE) * counts[task, side, "real"]
    ]
    return f"\nLearnt from fewer targets: {', '.join(fewer)}." if fewer else ""


def _title(task: str) -> str:
    return TITLES.get(task, task)


def _cell(part: pd.DataFrame) -> str:
    return "–" if part.empty else interval_text(read_interval(part.iloc[0], "f1"), ".1f", 100)


def _draw(rows: Any) -> Drawing:
    tasks, places = list(rows["task"].unique()), list(rows["place"].unique())
    figure = drawing(max(4.6, 1.75 * len(tasks)), 2.0 * len(places) + 0.7)
    panels = figure.subplots(len(places), len(tasks), sharey=True, sharex=True, squeeze=False)
    models, kinds = list(rows["model"].unique()), _kinds(rows)
    handles = {}
    for axes, place in zip(panels, places, strict=True):
        for panel, task in zip(axes, tasks, strict=True):
            part = rows[(rows["task"] == task) & (rows["place"] == place)]
            if rows.attrs["controls"]:
                handles |= dict(_band(panel, part))
            handles |= dict(_lines(panel, part, models, kinds))
            for each in _baselines(rows.attrs["baselines"], str(task), str(place)):
                style: Any = {
                    "color": MUTED,
                    "linewidth": 0.9,
                    "linestyle": BASELINES[each["control"]],
                }
                handles[NAMES[each["control"]]] = panel.axhline(each["f1"], **style)
            tidy(panel, f"{_title(str(task))}, {place}{_targets(rows, part)}", grid="y")
            panel.set_ylim(min(0, rows[["f1", "f1_low"]].min(axis=None)), 1.02)
            panel.xaxis.set_major_locator(MaxNLocator(integer=True))
            panel.yaxis.set_major_formatter(lambda share, _: f"{100 * share:.0f}")
        axes[0].set_ylabel(f"{rows.attrs['metric']} (%)")
    for panel in panels[-1]:
        panel.set_xlabel("layer")
    below = {"loc": "outside lower center", "ncols": 2 if len(tasks) < 3 else 4}
    legend(figure, list(handles.values()), list(handles), handlelength=3.2, **below)
    return figure


def _targets(rows: Any, part: Any) -> str:
    """What a panel's title says of the targets that its probes learnt from."""
    if not rows.attrs["controls"] or part.empty:
        return ""
    return f"\nlearnt from {int(part['n_train'].max()):,} targets"


def _band(panel: Axes, part: Any) -> Iterator[tuple[str, object]]:
    """The strongest control at every layer, of all models, and its interval."""
    known = part.dropna(subset=["control_f1"])
    if known.empty:
        return
    best = known.loc[known.groupby("layer")["control_f1"].idxmax()].sort_values("layer")
    x, low, high = (best[name] for name in ("layer", "control_low", "control_high"))
    panel.fill_between(x, low, high, color=FAINT, linewidth=0)
    (drawn,) = panel.plot(x, best["control_f1"], color=MUTED, marker=".", linewidth=1, zorder=1)
    yield STRONGEST, drawn


def _lines(
    panel: Axes, part: Any, models: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[str, object]]:
    known = [*KINDS, *(kind for kind in kinds if kind not in KINDS)]
    colors: dict[str, Any] = dict(zip(known, palette(len(known)), strict=True))
    for (model, kind), line in part.groupby(["model", "kind"], sort=False):
        x = line["layer"].to_numpy(float)
        color, dash = colors[str(kind)], DASHES[models.index(str(model)) % len(DASHES)]
        panel.fill_between(x, line["f1_low"], line["f1_high"], color=color, alpha=0.2, linewidth=0)
        if len(x) == 1:  # a band of no width is not seen
            panel.vlines(x, line["f1_low"], line["f1_high"], color=color, linewidth=1)
        marker = MARKERS[known.index(str(kind)) % len(MARKERS)]
        look: Any = {"color": color, "marker": marker, "markersize": 4, "linewidth": 1.4}
        (drawn,) = panel.plot(x, line["f1"], dash, **look)
        name = str(kind) if len(models) == 1 else f"{model}: {kind}"
        yield name, drawn


def _baselines(rows: Sequence[dict], task: str, place: str) -> list[dict]:
    """The baselines of a task's labels on the side of a place."""
    side = "target" if place.startswith("decoder") else "source"
    return [each for each in rows if each["task"] == task and each["side"] == side]
