"""F1 of probes layer by layer, beside the strongest control: a table, and its figure."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing import rows as probe_rows
from tprprobe.errors import InputError, unknown
from tprprobe.evaluation.intervals import LEVEL as SIGNIFICANCE
from tprprobe.evaluation.results import BEHIND
from tprprobe.figures.behavior import kind_of
from tprprobe.figures.dots import EMBEDDING_LAYER, render
from tprprobe.figures.labels import CONTROLS
from tprprobe.figures.line_styles import BASELINE, EMBEDDING, RIVAL
from tprprobe.figures.look import current_look
from tprprobe.figures.probe_captions import (
    ALL_HEADS,
    ENDS,
    NAMES,
    PLAIN,
    describe_probes,
    fill_columns,
    is_unread,
    side_of,
    title_of,
    write_notes,
)
from tprprobe.figures.scenes import BAND, LEVEL, Dots, Lines
from tprprobe.figures.style import GivenAxes
from tprprobe.figures.tables import Table
from tprprobe.statistics import Row, measured, write_interval
from tprprobe.store.layout import TWINS

KINDS = ("role", "filler", "tpr", "hidden")  # the order of vectors; others follow
STRONGEST = "strongest control"
CONTROL = ["control_f1", "control_low", "control_high", "control_macro"]
TITLE = "What vectors know about words: {} of {}"
KINDS_OF_PROBES = {"linear": "linear probes", "span-conv": "edge probes"}
HOLLOW = "hollow: not shown to beat every control"
BELOW = "hollow: not above the strongest control"  # of a score that is not tested
LOWEST, CEILING = (
    -1.0,
    0.03,
)  # of a score on the axis, which begins below the lowest that is drawn; lower levels stand in the table
UNCONTROLLED = {"control_f1": np.nan, "control_name": "none", "sure": True, "best": False}
ACROSS = 3  # panels of one task in a row
SCORES = {"f1": "", "macro_f1": "macro F1", "accuracy": "accuracy"}  # and their names
MACRO, OF_CONTROL = [f"macro_f1{end}" for end in ENDS], "control's macro F1"
OF_F1 = ["best_control", "beats_controls", "beyond", BEHIND, probe_rows.P_BEHIND]  # tests
POINT = ["task", "place", "model", "layer"]


@dataclass(frozen=True, eq=False)
class ProbeTable(Table):
    """The table of probes, whose figure has layers on x, a line per vector and a panel per task."""

    rows: pd.DataFrame | None = None

    @property
    def lines(self) -> Lines:
        """Lines over layers, in a panel a task."""
        assert self.rows is not None
        return probe_lines(self.rows)

    @property
    def scene(self) -> Lines | Dots:
        """The lines; of a single layer one panel with a row of dots a task."""
        lines = self.lines
        is_single = len({*lines.rows["layer"]} - {EMBEDDING_LAYER}) == 1 < len(lines.panels)
        is_single &= lines.rows["task"].nunique() == len(lines.panels)
        return _dot_tasks(lines) if is_single and current_look().panel is None else lines

    def draw(self, ax: GivenAxes | None = None) -> Any:
        """The figure."""
        return render(self.scene, ax)


def probe_table(probes: pd.DataFrame, kinds: Sequence[str] = (), score: str = "f1") -> ProbeTable:
    """F1 by task, layer and vector of every model beside the strongest control, as a table and as a figure.

    ``probes`` are the rows of :func:`tprprobe.probe` with the column ``model``. Only some ``kinds`` of vectors may be drawn. A score that is beyond
    every control has a mark, which no other ``score`` than F1 has, as F1 is what is tested.
    """
    is_f1 = score == "accuracy" in probes and score == probe_rows.name_score(probes)
    if score != "f1" and not is_f1:
        probes = _replace_f1(probes, score)
    rows = average_probes(probes, kinds)
    rows.attrs["label"] = SCORES[score] or rows.attrs["label"]
    names = _sort_kinds(rows["kind"].unique())
    cells = []
    for (task, place, model, _), point in rows.groupby(POINT, sort=False):
        cell = {
            "task": title_of(str(task)),
            "side": str(place),
            "model": str(model),
            "layer": point["tick"].iloc[0],
        }
        cell |= {kind: _score_cell(point[point["kind"] == kind]) for kind in names}
        strongest = point.iloc[point["control_f1"].fillna(-1).to_numpy().argmax()]
        has_macro = len(names) == 1 and MACRO[0] in rows
        if has_macro:
            cell[SCORES[MACRO[0]]] = write_interval(point.iloc[0], MACRO[0], ".1f", 100)
        cell[STRONGEST] = _control_cell(strongest)
        if has_macro and strongest["control_name"] != "none":
            cell[OF_CONTROL] = f"{100 * strongest['control_macro']:.1f}"
        cells.append(cell)
    tasks = [cell["task"] for cell in cells]
    ruled = tuple(i for i in range(1, len(tasks)) if tasks[i] != tasks[i - 1])
    table = pd.DataFrame(cells).fillna("–")
    constant = [name for name in ("model", "side") if table[name].nunique() == 1 and table[name][0]]
    origins = {name: table[name][0] for name in constant}
    if "data" in probes:
        origins["data"] = "; ".join(probes["data"].astype(str).unique())
    origin_lines = [f"{name.capitalize()}: {v}." for name, v in origins.items() if v not in PLAIN]
    is_untested = bool(rows["beats_controls"].isna().all() and rows["control_f1"].notna().any())
    origin_lines += [f"The {rows.attrs['label']} is not tested against controls."] * is_untested
    guessed = probes.loc[probes["is_guessed"], "task"].unique() if "is_guessed" in probes else ()
    rows.attrs["guessed"] = {*guessed}
    guesses = ", ".join(map(title_of, guessed))
    origin_lines += [f"Labels that a pipeline guessed, right or wrong: {guesses}."] * bool(guesses)
    probes = fill_columns(probes)
    caption = describe_probes(probes, rows, origin_lines)
    probed = probes["probe"].dropna().unique().tolist() if "probe" in probes else []
    kind_of_probes = KINDS_OF_PROBES.get(probed[0], "probes") if len(probed) == 1 else "probes"
    title = TITLE.format(rows.attrs["label"], kind_of_probes)
    rows.attrs["note"] = write_notes(probes, rows, origin_lines)
    rows.attrs["notes"] = {
        task: write_notes(probes[probes["task"] == task], of_task, origin_lines)
        for task, of_task in rows.groupby("task", sort=False)
    }
    cells = table.drop(columns=constant)
    return ProbeTable(
        cells,
        title,
        caption,
        ruled,
        block=("task",),
        spare=((SCORES[MACRO[0]], OF_CONTROL),),
        rows=rows,
    )


def _replace_f1(probes: pd.DataFrame, score: str) -> pd.DataFrame:
    """The rows with another score in the place of F1, without the tests of F1."""
    accepted = [name for name in SCORES if name in probes.dropna(axis=1, how="all")]
    if score not in accepted:
        raise unknown("score of these probes", score, accepted)
    f1 = {f"f1{end}": probes[f"{score}{end}"] for end in ENDS}
    return probes.drop(columns=[*OF_F1, *MACRO], errors="ignore").assign(**f1)


def average_probes(probes: pd.DataFrame, kinds: Sequence[str] = ()) -> pd.DataFrame:
    """One row per task, place (stack and sub-layer), layer, model and kind of vector."""
    probes = fill_columns(probes)
    metric = probe_rows.find_metric(probes)
    if metric != "f1":
        probes = probes.assign(**{f"f1{end}": probes[f"{metric}{end}"] for end in ENDS})
    probes = probes[probes["head"].isna() | (probes["head"] == ALL_HEADS)]
    real = probes[probes["control"] == "real"]
    names: Any = real["site"].astype(str).str.replace(r"\.\d+", "", regex=True).str.rsplit(".", n=1)
    places = names.str[0].where(names.str.len() > 1, "").str.replace(".", " ")
    places = PLAIN[0] if {*places} == {*PLAIN} else places  # the only stacks of several models
    real = real.assign(kind=real["site"].astype(str).map(kind_of), place=places)
    if kinds:
        real = real[real["kind"].isin(kinds)]
    if real.empty:
        condition = f" ({', '.join(kinds)})" if kinds else ""
        raise InputError(f"these probes are of no vectors of all heads{condition}: nothing to draw")
    real = real.assign(row=real.index)
    controls = [strongest_control(probes, row) for _, row in real.iterrows()]
    real[["control_name", *CONTROL]] = pd.DataFrame(controls, real.index)
    is_embedding = real["site"].astype(str).str.fullmatch(r"(.*\.)?embedding")
    layers = real["layer"].astype(float)
    beside = np.where(is_embedding, EMBEDDING_LAYER, np.nan_to_num(layers.max(), nan=-1) + 1)
    ticks = layers.map("{:g}".format).where(
        layers.notna(), real["kind"].where(~is_embedding, "emb")
    )
    real = real.assign(layer=np.where(layers.isna(), beside, layers), tick=ticks)
    keys, numbers = [*POINT, "kind"], ["f1", "f1_low", "f1_high", *CONTROL, "n_train", "n_test"]
    numbers += MACRO if {*MACRO} <= {*real.dropna(axis=1, how="all")} else []
    marks = ["control_name", "site", "row", "beats_controls", "tick"]
    how = dict.fromkeys(numbers, "mean") | dict.fromkeys(marks, "first")
    real = real.assign(
        **{name: np.nan for name in (BEHIND, probe_rows.P_BEHIND) if name not in real}
    )
    how |= {BEHIND: "mean", probe_rows.P_BEHIND: "max"}
    means = real.groupby(keys, as_index=False).agg(how)
    least = means.groupby(["task", "place", "model", "kind"])[BEHIND].transform("min")
    means["best"] = means[BEHIND].notna() & (means[BEHIND] == least)
    orders = {name: pd.unique(real[name]) for name in ("task", "model")}  # as in the table
    orders["kind"] = np.array(_sort_kinds(means["kind"].unique()))
    for column, order in orders.items():
        means[column] = pd.Categorical(means[column], order)
    means = means.sort_values(keys, ignore_index=True).astype(dict.fromkeys(orders, str))
    baselines: Any = probes[probes["control"].isin([*NAMES])]
    of_side = ["task", "side", "model", "control", "is_at_token"]
    by_side = baselines.groupby(of_side, sort=False, as_index=False)["f1"]
    label = "F1" if metric == "f1" else metric
    means.attrs["label"] = (
        probe_rows.name_score(real) if label == "F1" and "accuracy" in real else label
    )
    means.attrs["baselines"] = by_side.mean().to_dict("records")
    twins: Any = probes.assign(row=probes.index)[probes["control"].isin(["static", *TWINS])]
    by_site = twins.groupby(["task", "side", "model", "control", "site"], sort=False)
    points = by_site[["row", "n_train", *(f"f1{end}" for end in ENDS)]].first().reset_index()
    means.attrs["controls"] = points.to_dict("records")
    return means


def _sort_kinds(names: Iterable[str]) -> list[str]:
    return sorted(sorted(names), key=lambda kind: (*KINDS, kind).index(kind))


def strongest_control(probes: pd.DataFrame, row: pd.Series) -> tuple[object, ...]:
    """The name of a row's strongest control, in a table that names none the highest, its score with its interval and its macro F1;
    NaN where it has none, measured there or once for all vectors.
    """
    rows = probes[(probes["control"] != "real") & (probes["side"] == row["side"])]
    rows = rows[(rows["task"] == row["task"]) & (rows["model"] == row["model"])]
    is_layer = rows["layer"].isna() | (rows["layer"] == row["layer"])
    is_here = is_layer & rows["site"].isin(["", row["site"]])
    is_itself = (rows["control"] == "static") & (rows["site"] == row["site"])
    rows = rows[(is_here | rows["control"].isin(probe_rows.OF_ALL)) & ~is_itself]
    scores = [*(f"f1{end}" for end in ENDS), MACRO[0]]
    means = rows.reindex(columns=["control", *scores]).groupby("control").mean()
    name = row["best_control"] if "best_control" in row else means["f1"].nlargest(1).index.min()
    return (name, *means.loc[name]) if name in means.index else ("none", *[np.nan] * len(scores))


def _control_cell(row: Row) -> str:
    if row["control_name"] == "none":
        return "–"
    return f"{100 * row['control_f1']:.1f} {probe_rows.name_control(row['control_name'])}"


def _score_cell(point: pd.DataFrame) -> str:
    if point.empty:
        return "–"
    score = write_interval(point.iloc[0], "f1", ".1f", 100)
    row = point.iloc[0]
    is_alike = row[BEHIND] > 0 and row[probe_rows.P_BEHIND] >= SIGNIFICANCE
    marks = {probe_rows.BEYOND: point["beats_controls"].eq(True).all(), "best": row["best"]}
    marks |= {probe_rows.ALIKE: is_alike}
    return " ".join([score, *(mark for mark, holds in marks.items() if holds)])


def probe_lines(means: pd.DataFrame) -> Lines:
    """The scene of the table: a panel per place and task, over the band of the strongest control."""
    attributes = means.attrs
    places = means["place"]
    is_plain = places.nunique() == 1 and places.iloc[0] in PLAIN
    titles = means["task"].map(title_of) + ("" if is_plain else ", " + places)
    is_guessed = means["task"].isin(attributes.get("guessed", ()))
    titles = titles.str.removesuffix(", ") + is_guessed.map({True: "\n(guessed)", False: ""})
    is_one = means["model"].nunique() == 1
    names = means["kind"] if is_one else means["model"].astype(str) + ": " + means["kind"]
    means = means.assign(panel=titles, line=names, group=names, x=means["layer"])
    is_tested = means["beats_controls"].notna().any()
    is_below = means["f1"] <= means["control_f1"]
    means["sure"] = means["beats_controls"].eq(True) if is_tested else ~is_below
    vectors, compared = (
        table["line"].unique() for table in (means, means[means["control_name"] != "none"])
    )
    added = [*_list_embeddings(means, attributes["controls"], is_one)]
    added += _list_twins(means, attributes["controls"])
    means = pd.concat([means, pd.DataFrame(added)], ignore_index=True) if added else means
    told = [_describe(row) for _, row in means.iterrows()]
    means = means.assign(told=told)
    kinds = means["kind"].map(_sort_kinds(means["kind"].unique()).index)
    tasks, places = (pd.factorize(means[column])[0] for column in ("task", "place"))
    rows = measured(means, "f1").iloc[np.lexsort((kinds, tasks, places))].set_index("row")
    control = {"control_f1": "value", "control_low": "low", "control_high": "high"}
    bands = means.dropna(subset=["control_f1"]).sort_values("control_f1")
    bands = bands.drop_duplicates(["panel", "x", "model"], keep="last").rename(columns=control)
    bands = _name_models(bands[[*BAND, "model"]].sort_index().assign(line=""), ["panel", "x"])
    levels = [
        (panel, NAMES[row["control"]], row["f1"], row["model"])
        for (panel, task, place), points in rows.groupby(["panel", "task", "place"], sort=False)
        for row in _of_place(attributes["baselines"], str(task), str(place))
        if row["model"] in {*points["model"]} and not is_unread(row)
    ]
    lowest = min(
        np.nanmin(table[["value", "low"]].to_numpy(float)) for table in (rows, bands) if len(table)
    )
    lower_limit = max(LOWEST, np.floor(5 * lowest) / 5)  # a tick
    upper_limit = 1 + CEILING * (rows["value"].max() > 1 - CEILING)  # marks there are seen whole
    in_sight = pd.DataFrame(levels, columns=[*LEVEL, "model"]).query("value >= @lower_limit")
    in_sight = _name_models(in_sight, ["panel", "line"])
    controls = sorted({*means["control_name"]} - {"none"})
    band = f": {CONTROLS.get(controls[0], controls[0])}" if len(controls) == 1 else ""
    band += f" (of {', '.join(compared)})" * (len(compared) < len(vectors))
    notes = {
        panel: attributes.get("notes", {}).get(task, "")
        for panel, task in rows[["panel", "task"]].drop_duplicates().to_numpy()
    }
    across = rows["task"].nunique() if rows["task"].nunique() > 1 else ACROSS
    return Lines(
        rows, bands, attributes["label"], across=across, limits=(lower_limit, upper_limit),
        levels=in_sight, band=f"{STRONGEST}{band}", hollow=HOLLOW if is_tested else BELOW, note=attributes.get("note", ""), notes=notes,
    )  # fmt: skip


def _name_models(controls: pd.DataFrame, place: list[str]) -> pd.DataFrame:
    """Controls, those of models that differ at a place with the model before the name of their line."""
    controls = controls.drop_duplicates([*place, "value"])
    is_own = controls.groupby(["panel", "line"])["model"].transform("nunique") > 1
    names = (controls["model"].astype(str) + ": " + controls["line"]).where(
        is_own, controls["line"]
    )
    return controls.assign(line=names).drop(columns="model")


def _dot_tasks(lines: Lines) -> Dots:
    """The lines of a single layer as dots, a row a task, the strongest control and levels among them."""
    levels = lines.levels.assign(low=lines.levels["value"], high=lines.levels["value"])
    bands = lines.named_bands
    controls = pd.concat([bands, levels]).assign(stands_for=RIVAL, sure=True)
    rows = pd.concat([lines.rows, controls], ignore_index=True)
    rows = rows.assign(name=rows["panel"], hue=rows["group"], group=rows["line"])
    columns = ["name", "group", "value", "low", "high", "sure", "stands_for"]
    rows = rows.reindex(columns=[*columns, "line", "hue"])
    note = lines.note.replace("Shaded", "Bars", 1)
    note += f" {lines.hollow.capitalize()}." * (not rows["sure"].all())
    return Dots(rows, lines.label, (0, 1.02), title=lines.title, note=note)


def _list_embeddings(
    means: pd.DataFrame, controls: Sequence[dict], is_one: bool
) -> Iterator[dict[str, Any]]:
    """The control ``static`` as the layer of embeddings, where it is not the band and no probe of these is among the points."""
    place = {"x": EMBEDDING_LAYER, "layer": EMBEDDING_LAYER, "kind": EMBEDDING, "tick": "emb"}
    for (_, model), points in means.groupby(["panel", "model"], sort=False):
        point = points.iloc[0]
        for row in _of_place(controls, point["task"], point["place"]):
            is_drawn = EMBEDDING_LAYER in {*points["x"]} or row["site"] in {*points["site"]}
            is_drawn |= points["control_name"].eq("static").all()
            if (row["model"], row["control"]) == (model, "static") and not is_drawn:
                name = EMBEDDING if is_one else f"{model}: {EMBEDDING}"
                place |= {"line": name, "group": EMBEDDING if is_one else point["group"]}
                yield {**point, **row, **place, **UNCONTROLLED, "stands_for": EMBEDDING}


def _list_twins(means: pd.DataFrame, controls: Sequence[dict]) -> Iterator[dict[str, Any]]:
    """The baseline models at the same sites; not where one is the band, as the strongest control at every point."""
    names = ["site", "model"]
    for _, points in means.groupby(["panel", "model"], sort=False):
        for _, point in points.iterrows():
            for row in _of_place(controls, point["task"], point["place"]):
                is_band = points["control_name"].eq(row["control"]).all()
                is_here = all(row[name] == point[name] for name in names)
                if row["control"] in TWINS and is_here and not is_band:
                    name = f"{point['line']}, {CONTROLS.get(row['control'], row['control'])}"
                    yield {**point, **row, **UNCONTROLLED, "line": name, "stands_for": BASELINE}


def _describe(row: Row) -> str:
    """What is written of a mark under the pointer."""
    text = f"{row['site']}: {100 * row['f1']:.1f} %"
    text += f" · {row['n_train']:.0f} targets {probe_rows.LEARNED_FROM}" if row["n_train"] else ""
    if row["control_name"] == "none":
        return text
    return f"{text} · strongest control: {probe_rows.name_control(row['control_name'])} {100 * row['control_f1']:.1f} %"


def _of_place(rows: Sequence[dict], task: str, place: str) -> list[dict]:
    """The rows of controls of a task on the side of a place."""
    return [row for row in rows if (row["task"], row["side"]) == (task, side_of(place))]
