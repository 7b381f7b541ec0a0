"""Names of clusters, of a model beside its baseline model: in sentences, as tables, and as a figure."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import zip_longest
from textwrap import wrap
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.analyses.clustering.clusters import BETWEEN, STABLE
from tprprobe.analyses.naming.fields import compare_places, count_places
from tprprobe.analyses.naming.name_counts import (
    TRAINED,
    compare_names,
    compare_samples,
    count_by_model,
    count_marks,
    find_most_named,
    select_named,
)
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.word_names import AGREEMENT, GAIN
from tprprobe.errors import unknown
from tprprobe.figures.cluster_labels import describe_name, explain_signs, quote_label
from tprprobe.figures.colors import line_colors
from tprprobe.figures.labels import site_label
from tprprobe.figures.legends import legend
from tprprobe.figures.look import TICKS, current_look
from tprprobe.figures.style import (
    MUTED,
    PANEL_TITLE,
    SMALL,
    Drawing,
    GivenAxes,
    Options,
    check_axes,
    headline,
    open_panels,
    refuse_low,
    tidy,
)
from tprprobe.figures.tables import PanelTable, Table
from tprprobe.statistics import write_interval
from tprprobe.store.reader import Source

PLACE = ["site", "head"]
WORD_KEYS = [*PLACE, "model"]
ORIGIN = {"Model": "model_name", "Data": "data"}  # columns of a table of words
N_TOLD = 2  # tokens that tell clusters of one name apart
N_NAMED, N_PLACES = 20, 8  # named clusters of a model, and sites in print
MEASURES = {"precision": "o", "recall": "s"}  # their marks
LABEL, NARROW_LABEL = 30, 13  # characters of a line of a name in the figure
MIN_LINES, LINE = 4.0, 0.115  # of names beside a title and a legend; inches of one
AMI = "AMI: adjusted mutual information of all clusters with labels (0: chance)."
HELD_OUT = "Names are chosen on half of the documents and measured on the other. 95 % intervals: of these clusters, over documents; no interval: fewer than ten documents."
LACKING = "Why a cluster has no name: the nearest one, with its precision on the half that names are chosen on, or where that sufficed, what it lacks on the other."


def summarize_words(names: pd.DataFrame) -> str:
    """A sentence a question: how many clusters have a name, beside the baseline model's, whether all together agree with labels more than
    its clusters do, whether other random starts find the same, and, of several sites or heads, where.
    """
    groups = names.groupby("model", sort=False)["name"]
    by_model = {str(model): count_places(of_model) for model, of_model in groups}
    of_trained = by_model.pop(TRAINED, 0)
    compared = compare_names(count_by_model(names))
    lines = [f"{compared} {compare_places(of_trained, by_model)}".strip()]
    places = list(names.groupby(PLACE, sort=False, dropna=False))
    lines[0] += compare_samples(names) + count_marks(names)
    lines += [*_list_agreements(names), describe_recovery(names)]
    if len(places) > 1:
        counts = []
        for place, rows in places:
            shares = [f"{m} {n_named} of {n}" for m, (n_named, n) in count_by_model(rows).items()]
            counts.append(f"{site_label(*place)}: {'; '.join(shares)}")
        n_hidden = len(counts) - N_PLACES
        lines += ["", *counts[:N_PLACES], *[f"and {n_hidden} more sites or heads"] * (n_hidden > 0)]
    return "\n".join([*lines, ""])


def _list_agreements(names: pd.DataFrame) -> list[str]:
    """The agreement of all clusters with the labels of every task, where it is highest, beside the baseline model's."""
    lines = []
    for task in _list_tasks(names):
        column = f"{AGREEMENT}{task}"
        of_trained = names[names["model"] == TRAINED]
        best: Any = of_trained.nlargest(1, column).iloc[0]
        of_baselines = names[names["model"] != TRAINED]
        rivals = _choose(of_baselines, best).drop_duplicates("model")
        has_others = of_trained[column].nunique() > 1
        where = f" at {site_label(best['site'], best['head'])} (where most)" * has_others
        text = f"AMI with {task}{where}: {write_interval(best, column, 'z.2f')}"
        for _, rival in rivals.iterrows():
            gain = write_interval(rival, f"{GAIN}{task}", "+.3f")
            text += f"; baseline ({rival['model']}) {write_interval(rival, column, 'z.2f')}, difference {gain}"
        lines.append(f"{text}.")
    return [f"{AMI} {lines[0]}", *lines[1:]] if lines else []


def _list_tasks(names: pd.DataFrame) -> list[str]:
    """The tasks whose labels the clusters are compared with."""
    of_tasks = [name for name in map(str, names) if name.startswith(AGREEMENT)]
    return [name.removeprefix(AGREEMENT) for name in of_tasks if f"{name}_low" in names]


def _choose(names: pd.DataFrame, place: pd.Series) -> pd.DataFrame:
    """The clusters of the site and head of a row."""
    heads = names["head"]
    is_head = heads.isna() if pd.isna(place["head"]) else heads.eq(place["head"]).fillna(False)
    return names.loc[(names["site"].eq(place["site"]) & is_head).to_numpy(bool)]


def describe_recovery(names: pd.DataFrame) -> str:
    """How well random starts agree on the clusters of the trained model."""
    rows = names[names["model"] == TRAINED]
    stability = rows.groupby(PLACE, dropna=False)["stability"].first()
    shares = " to ".join(dict.fromkeys(f"{n:.2f}" for n in (stability.min(), stability.max())))
    n_below = int((stability < STABLE).sum())
    where = f" at {n_below} of {len(stability)} sites or heads" * (len(stability) > 1)
    verdict = f", below {STABLE:g}{where}: one of many divisions" * (n_below > 0)
    return f"Random starts of k-means agree to {shares} (adjusted Rand index){verdict}."


def list_names(names: pd.DataFrame, out: Source | None) -> str:
    """All clusters with a name (of many sites the surest), of the model and then of its baseline models, then the model's others, of
    many sites as many as one has; and where the rest is.
    """
    named_rows = select_named(names).sort_values("f05", ascending=False)
    unnamed_rows = names[(names["model"] == TRAINED) & ~names.index.isin(named_rows.index)]
    order = [named_rows[named_rows["model"] == model] for model in names["model"].unique()]
    rows = pd.concat([of_model.head(N_NAMED) for of_model in order])
    rows = pd.concat([rows, unnamed_rows.head(names["cluster"].nunique())])
    cells = tabulate_clusters(rows).cells
    reasons = cells["unnamed because"]
    is_unnamed = ~rows.index.isin(named_rows.index)
    cells["name"] += (" (" + reasons.replace("–", "special token") + ")").where(is_unnamed, "")
    baselines = ("baseline (" + rows["model"] + "), ").where(rows["model"] != TRAINED, "")
    cells["cluster"] = baselines + cells["cluster"]
    printed = ["cluster", "name", "precision", "recall", "tokens most its own"]
    notes = " ".join(filter(None, [HELD_OUT, LACKING * any(reasons != "–"), _explain(rows)]))
    n_trained = int((names["model"] == TRAINED).sum() - (rows["model"] == TRAINED).sum())
    where = f"{out}/results.parquet" if out else "in OUT, with --out OUT"
    n_more = len(names) - len(cells)
    pointer = (
        f"{n_more} more {'cluster' if n_more == 1 else 'clusters'} ({n_trained} of the trained model): {where}. "
        * (n_more > 0)
    )
    pointer += (
        f"As a figure: `tprprobe figure names --ckpt {out or 'OUT'} --out names.pdf` (.tex, .md)."
    )
    return f"{Table(cells[printed], _title(names), notes).markdown()}\n{pointer}\n"


def _explain(names: pd.DataFrame) -> str:
    """What the signs in the names of clusters mean, as a sentence after others."""
    rows = names[names["name"] != UNNAMED].to_dict("records")
    drawn = (row.get("told") or describe_name(row) for row in rows)
    note = "; ".join(explain_signs(drawn, _list_tasks(names)))
    return f"{note[:1].upper()}{note[1:]}." * bool(note)


def _title(names: pd.DataFrame) -> str:
    unit = names["unit"].iloc[0] if "unit" in names else ""
    return f"Names of clusters{' of ' * bool(unit)}{unit}"


def words_table(names: pd.DataFrame) -> Table:
    """Clusters of the trained model: their tokens, name, precision, recall, the documents that these were measured on, or why a
    cluster has no name.
    """
    rows = names[names["model"] == TRAINED]
    return tabulate_clusters(rows.sort_values(["layer", "head", "cluster"], kind="stable"))


def tabulate_clusters(names: pd.DataFrame, title: str = "") -> Table:
    """A row a cluster, in the order of ``names``."""
    places = zip(names["site"], names["head"], names["cluster"], strict=True)
    is_named, reasons = names["name"] != UNNAMED, names.get("unnamed_because", names["name"])
    reasons = reasons.astype(str).map(quote_label).where(~is_named, "–")
    tokens = names["distinctive"] if "distinctive" in names else names.get("commonest", "–")
    cells = {
        "cluster": [f"{site_label(site, head)}: {cluster}" for site, head, cluster in places],
        "tokens most its own": tokens,
        "name": [describe_name(row) for row in names.to_dict("records")],
        "precision": _intervals(names, "precision").where(is_named, "–"),
        "recall": _intervals(names, "recall").where(is_named, "–"),
        "documents": names["documents"].astype(str) if "documents" in names else "–",
        "unnamed because": reasons,
    }
    return Table(pd.DataFrame(cells), title or _title(names), HELD_OUT)


def _intervals(rows: pd.DataFrame, name: str) -> pd.Series:
    return pd.Series([write_interval(row, name, ".2f") for _, row in rows.iterrows()], rows.index)


@dataclass(frozen=True, eq=False)
class NamesTable(PanelTable):
    """The named clusters of a model above those of its baseline model; the figure has a panel for each model."""

    @property
    def numbers(self) -> pd.DataFrame:
        """The numbers of the figure, a row per mark."""
        columns = ["panel", "cluster", "name", "measure", "value", "low", "high"]
        marks = [
            [title.partition("\n")[0], row["cluster"], describe_name(row), measure]
            + [row[f"{measure}{end}"] for end in ("", "_low", "_high")]
            for title, rows in self.panels
            for row in rows.to_dict("records")
            for measure in MEASURES
        ]
        return pd.DataFrame(marks, columns=columns)

    def choose(self, panel: int | str) -> Any:
        """One panel alone, and of signs in names the meaning of those that it has."""
        chosen = super().choose(panel)
        signs = (_explain(pd.concat([rows for _, rows in t.panels])) for t in (self, chosen))
        return replace(
            chosen, caption=(self.caption.removesuffix(next(signs)) + next(signs)).strip()
        )

    def draw(self, ax: GivenAxes | None = None) -> Any:
        """The figure: precision and recall of every name, with their intervals."""
        titles, above = current_look().name_panels([title for title, _ in self.panels], self.title)
        axes = None if ax is None else check_axes(ax, titles)
        if axes is not None:  # which have large titles
            titles = ["\n".join(title.split("\n")[:2]) for title in titles]
        letters = NARROW_LABEL if current_look().is_narrow else LABEL
        labels = [[_fold(row, letters) for _, row in rows.iterrows()] for _, rows in self.panels]
        rows = [[name.count("\n") + 1.4 for name in names] for names in labels]
        down = len(rows) if len(rows) > 2 else 1  # those of several baseline models below
        if down == 1:  # rows beside each other have one height
            highest = list(map(max, zip_longest(*rows, fillvalue=0)))
            rows = [highest[: len(of_panel)] for of_panel in rows]
        lines = [max(MIN_LINES, sum(of_panel)) for of_panel in rows]
        heights = lines if down > 1 else [max(lines)] * len(lines)
        size = (
            6.3,
            LINE * (sum(heights[:down]) + down * max(t.count("\n") for t in titles)) + 0.8 * down,
        )
        figure, panels = open_panels(*size, down, len(lines) // down, axes)
        if axes is None:
            panels.flat[0].get_gridspec().set_height_ratios(heights[:down])
        for panel, (_, of_model), column, title, sizes, n_lines in zip(
            panels.flat, self.panels, labels, titles, rows, heights, strict=True
        ):
            if axes is not None:
                refuse_low(panel, n_lines * LINE)
            _draw_names(panel, of_model, dict(zip(column, sizes, strict=True)), title, n_lines)
        keys = panels.flat[0].get_legend_handles_labels()
        for place in [figure] if axes is None else panels.flat:
            legend(place, *keys)
        if isinstance(figure, Drawing):
            headline(figure, above)
            figure.put_below([self.caption.partition("\n")[2]])  # titles have the counts
        return figure


def _draw_names(
    panel: Axes, rows: pd.DataFrame, lines: Mapping[str, float], title: str, n_lines: float
) -> None:
    heights = np.array([*lines.values()])
    y = np.cumsum(heights) - heights / 2
    for measure, shift, color in zip(MEASURES, (-0.2, 0.2), line_colors(2), strict=True):
        look: Options = {"color": color, "clip_on": False, "in_layout": False}
        ends = rows[f"{measure}_low"], rows[f"{measure}_high"]
        panel.hlines(y + shift, *ends, linewidth=1, **look)
        look |= {"marker": MEASURES[measure], "markersize": 3.5, "linestyle": "", "label": measure}
        panel.plot(rows[measure], y + shift, **look)
    if rows.empty:
        look: Options = {"ha": "center", "va": "center", "color": MUTED, "fontsize": SMALL}
        panel.text(0.5, n_lines / 2, "no name\nholds", **look).set_in_layout(False)
    panel.set(xlim=(0, 1), ylim=(n_lines, 0))
    panel.set_yticks(y, [*lines], parse_math=False)
    panel.set_xticks([0, 0.5, 1], ["0", "50", "100%"])
    tidy(panel, title, "x", SMALL if current_look().is_narrow else PANEL_TITLE)
    panel.tick_params(labelsize=6 if current_look().is_narrow else TICKS)
    panel.tick_params("y", length=0)


def _fold(row: pd.Series, letters: int) -> str:
    """A name in lines, with the number of its cluster."""
    name = f"{row['cluster']}: {row.get('told', describe_name(row))}"
    return "\n".join(wrap(name, letters, break_long_words=False, break_on_hyphens=False))


def _distinguish(names: pd.DataFrame) -> pd.DataFrame:
    """The clusters with their names as ``told``: equal ones with the tokens that are most their own."""
    texts = pd.Series([describe_name(row) for row in names.to_dict("records")], names.index, object)
    tokens = names["distinctive"].astype(str) if "distinctive" in names else texts
    tokens = " (" + tokens.str.split(BETWEEN).str[:N_TOLD].str.join(BETWEEN) + ")"
    is_shared = texts.duplicated(keep=False) & ("distinctive" in names)
    return names.assign(told=texts + tokens.where(is_shared, ""))


def tabulate_names(
    cluster_names: pd.DataFrame, site: str = "", layer: int | None = None, head: int | None = None
) -> NamesTable:
    """The names of the clusters of a ``site`` (or ``layer``) and head, of the model and of its baseline model, with held-out precision and recall;
    default: where most tokens are in named clusters.
    """
    rows = cluster_names[cluster_names["site"].eq(site)] if site else cluster_names
    for column, value in (("layer", layer), ("head", head)):
        rows = (
            rows if value is None else rows.loc[rows[column].eq(value).fillna(False).to_numpy(bool)]
        )
    if rows.empty:
        places = cluster_names[PLACE].drop_duplicates().itertuples(index=False, name=None)
        place = site or f"layer {layer}, head {head}"
        raise unknown("place of this run", place, [site_label(*place) for place in places])
    of_trained = rows[rows["model"] == TRAINED]
    n_places, best = len(of_trained[PLACE].drop_duplicates()), find_most_named(of_trained, PLACE)
    rows, shown_site = _choose(rows, best), site_label(best["site"], best["head"])
    choice = f"Of {n_places} sites or heads {shown_site} has most tokens in named clusters. "
    panels, tables, n_models = [], [], rows["model"].nunique()
    for model, clusters in rows.groupby("model", sort=False):
        of_model = _distinguish(select_named(clusters).sort_values("f05", ascending=False))
        model = f"baseline model ({model})" if panels else "trained model"
        panel = "baseline model" if panels and n_models == 2 else model
        panel = panel.replace(" model", "") if current_look().is_narrow else panel
        heading = [panel, f"{len(of_model)} of {len(clusters)} named"]
        heading += [f"{t}: AMI {clusters[AGREEMENT + t].iloc[0]:z.2f}" for t in _list_tasks(rows)]
        panels.append(("\n".join(heading), of_model))
        cells = {"model": model, "cluster": of_model["cluster"].astype(str)}
        cells["name"] = of_model["told"].tolist()
        cells |= {measure: _intervals(of_model, measure) for measure in MEASURES}
        empty = {key: ["–"] for key in cells} | {"model": [model], "name": ["no name holds"]}
        tables.append(pd.DataFrame(cells if len(of_model) else empty))
    note = _explain(pd.concat([of_model for _, of_model in panels]))
    origin = "".join(
        f"{kind}: {rows[key].iloc[0]}. "
        for kind, key in ORIGIN.items()
        if key in rows and rows[key].iloc[0]
    )
    answers = " ".join([*_list_agreements(rows), describe_recovery(rows)])
    counts = "; ".join(title.replace("\n", ", ") for title, _ in panels)
    caption = f"{counts}.\n{origin}{choice * (n_places > 1 and len(panels[0][1]) > 0)}{f'{compare_samples(rows)}{count_marks(rows)} {answers}'.strip()} {HELD_OUT} {note}".strip()
    title = f"{_title(cluster_names)}: {shown_site}"
    ruled = tuple(np.cumsum([len(table) for table in tables[:-1]]).tolist())
    cells = pd.concat(tables, ignore_index=True)
    return NamesTable(cells, title, caption, ruled, panels, block=("model",))
