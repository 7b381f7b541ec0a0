"""Sections of a model's page on its decoder, on its roles, and on what is not asked."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.cross_places import mean_map, places_by_output
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.naming.name_counts import compare_names, count_by_model, select_named
from tprprobe.analyses.naming.places import compare_places, count_places
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.figures.cluster_labels import explain_k
from tprprobe.figures.clusters import explain_ends, text_strips
from tprprobe.figures.dots import render
from tprprobe.figures.labels import site_label
from tprprobe.figures.report.sections import Section
from tprprobe.figures.scenes import Squares
from tprprobe.figures.tables import write_minus
from tprprobe.site.patterns import match
from tprprobe.statistics import Row, write_interval

MIN_WEIGHT = 0.05  # mean attention that is printed
MAX_PLACES = 6  # of the output, in a sentence
RULE = 0.5  # the share of cases from which on a relation is a rule
DECODER = "Where does its decoder look?"
ROLES = "What are its roles?"


def top(rows: pd.DataFrame, name: str) -> pd.Series:
    """The row with the largest value of a column."""
    return rows.iloc[int(np.nanargmax(rows[name].to_numpy(float)))]


def percent(row: Row, name: str, digits: int = 0) -> str:
    """A score and its interval in percent."""
    return write_interval(row, name, f".{digits}f", 100, "\u00a0%")


def show_decoder(table: pd.DataFrame, subject: Any) -> Section:
    """The clearest head of cross-attention, and its mean map over places."""
    is_real, is_sure = table["model"] == TRAINED, table["beyond_low"] > 0
    best = top(table[is_real], "beyond")
    counts, clearest = "", ""
    if not is_real.all():
        rival = top(table[~is_real], "beyond")
        counts = f" ({(is_sure & ~is_real).sum()} of {(~is_real).sum()} in the baseline model)"
        clearest = f"; the clearest head of the baseline model: {percent(rival, 'value')} at {rival['relation']}"
    where = site_label(best["site"], best["head"])
    exceptions = "" if best["value"] > RULE else " No one rule holds for all places of its output."
    text = (
        f"{(is_sure & is_real).sum()} of {is_real.sum()} heads of cross-attention look at one place of the source more often than chance{counts}. "
        f"Clearest is {where}: while it writes place i of the output, counted from the left, it looks most at {best['relation']} of the source in "
        f"{percent(best, 'value')} of the cases (a random choice: {100 * best['chance']:.0f}\u00a0%{clearest}).{exceptions} Most often it looks at: {_list_places(subject, best)}."
    )
    values = mean_map(subject.store, best["site"], int(best["head"]))
    rows, columns = ([*map(str, range(1, n + 1))] for n in values.shape)
    texts = np.where(values < MIN_WEIGHT, "", np.char.mod("%.0f", 100 * values))
    scene = Squares(values, rows, columns, ("output place", "source place"), texts, title=where)
    note = (
        f"Mean attention in percent over the texts of {len(columns)} tokens with outputs of {len(rows)}, the most frequent lengths. Relations: place i, or up to "
        "two places beside it, from the left or from the right; a head's was chosen on half of the texts and is scored on the other half, and so are the places."
    )
    deeper = f"tprprobe app {subject.folder}    # page Attention"
    figures = {write_minus(note): render(scene)}
    return Section(DECODER, text, figures, deeper=deeper, name="decoder")


def _list_places(subject: Any, best: pd.Series) -> str:
    """Which place of the source a head looks at most often while it writes the first places of the output, and in percent of texts."""
    shares = places_by_output(subject.store, best["site"], int(best["head"]), subject.seed)
    rows = shares.rename("share").reset_index().head(MAX_PLACES)
    return ", ".join(
        f"place {row['place']} from the {row['side']} for output {row['output']} ({100 * row['share']:.0f}\u00a0%)"
        for row in rows.to_dict("records")
    )


def show_roles(table: pd.DataFrame, subject: Any) -> Section:
    """How many clusters of roles have a name in the model and its baseline, and the head with the most names on some texts."""
    site, seed = str(table["site"].iloc[0]), subject.seed
    real = table[table["model"] == TRAINED]
    is_named = real.index.isin(select_named(real).index)
    head = int(real.loc[is_named, "head"].mode().min()) if is_named.any() else 0
    rows, named = real[real["head"] == head], real[is_named & (real["head"] == head)]
    n_heads, k = real["head"].nunique(), len(rows)
    layer = site_label(site).removesuffix(", role")
    place = f"roles at {layer} ({n_heads} heads, {k} clusters each)"
    by_model = table.groupby("model", sort=False)["name"]
    places = {str(model): count_places(names) for model, names in by_model}
    compared = compare_places(places.pop(TRAINED), places)
    text = f"{compare_names(count_by_model(table), place)} {compared}".strip()
    if len(named):
        best = top(named, "f05")
        text += (
            f" Head {head} has most names ({len(named)} of {k}); the clearest is {best['name']} (precision {percent(best, 'precision')}, "
            f"recall {percent(best, 'recall')})."
        )
    clusters = cluster(subject.store, site, head, k=k, seed=seed)
    labels = dict(zip(named["cluster"].astype(int), named["name"], strict=True))
    figure = render(text_strips(subject.store, clusters, labels))
    note = f"{explain_ends(subject.store)}The roles of head {head}; the number of its group stands under every token.\n{explain_k(k, subject.store)}"
    deeper = f"tprprobe name {subject.store.path} --site {site} --k {k} --seed {seed}"
    return Section(ROLES, text, {note: figure}, deeper=deeper, name="roles")


def list_absent(subject: Any, sites: Iterable[str]) -> list[Section]:
    """What of the model no question reads, the states of its decoder and its other roles, and the commands that do."""
    patterns = {"states of the decoder": "decoder.*.hidden", "roles of other layers": "*.self.role"}
    absent = {name: pattern for name, pattern in patterns.items() if match(pattern, [*sites])}
    if not absent:
        return []
    store = subject.folder / "more"
    options = " ".join(f"--sites '{pattern}'" for pattern in absent.values())
    data = f"--data {subject.data.name} -n {len(subject.data)}"
    commands = [f"tprprobe extract --ckpt {subject.checkpoint} {data} {options} --out {store}"]
    commands += [f"tprprobe name {store} --site '{site}' --k 12" for site in absent.values()]
    lack = f"Not measured: {' and '.join(absent)}. The first command records them, the next ones group and name their vectors."
    return [Section("What is not on this page?", lack=lack, deeper="; ".join(commands))]
