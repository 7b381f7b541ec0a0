"""Two stores on the same samples: where their clusters agree."""

from functools import partial

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from tprprobe.dashboard.safe_text import plotted
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.selection import Mark, mark_rows
from tprprobe.dashboard.theme import dress, look
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.dots import count_squares
from tprprobe.store import Store

TEXTS = ("question", "source", "document")  # columns that tell which sample it is


def match_samples(first: Store, second: Store) -> pd.DataFrame:
    """The samples that both stores have, by their texts: text, first, second.

    Raises:
        InputError: none, or stores whose samples have no text.
    """
    found = [_texts(store) for store in (first, second)]
    pairs = found[0].merge(found[1], on="text", suffixes=("_first", "_second"))
    pairs = pairs.drop_duplicates("text")
    if pairs.empty:
        raise InputError(f"{first.path.name} and {second.path.name} have no sample in common")
    return pairs.rename(columns={"sample_first": "first", "sample_second": "second"})


def _texts(store: Store) -> pd.DataFrame:
    tokens = store.tokens
    column = next((name for name in TEXTS if name in tokens), None)
    if column is None:
        raise InputError(f"{store.path} does not say what its samples are: it cannot be compared")
    samples = tokens.drop_duplicates("sample")
    return pd.DataFrame({"text": samples[column].astype(str), "sample": samples["sample"]})


def carry_mark(first: View, second: View, scene: Cloud) -> Mark | None:
    """The mark of the tokens in a strip of ``scene`` that stand where those marked in another's do."""
    places = first.data.loc[first.data["marked"], "position"]
    return mark_rows(
        second.data.loc[second.data["position"].isin(places), "row"].to_numpy(), scene.side
    )


def show_agreement(first: Cloud, second: Cloud, pairs: pd.DataFrame, dark: bool = False) -> View:
    """Which clusters of the first lie in which of the second, over the tokens both have.

    Raises:
        InputError: they have no token in common.
    """
    tables = [
        scene.tokens[["sample", "position"]].assign(cluster=scene.roles.labels)
        for scene in (first, second)
    ]
    mapped = tables[0].merge(pairs[["first", "second"]], left_on="sample", right_on="first")
    joined = mapped.merge(
        tables[1], left_on=["second", "position"], right_on=["sample", "position"]
    )
    if joined.empty:
        raise InputError("the two have no token in common: choose sites of the same side")
    a, b = joined["cluster_x"].to_numpy(), joined["cluster_y"].to_numpy()
    counts = np.zeros((first.roles.k, second.roles.k), int)
    np.add.at(counts, (a, b), 1)
    rand, information = adjusted_rand_score(a, b), adjusted_mutual_info_score(a, b)
    names = [f"clusters of {scene.store.path.name}, {scene.place}" for scene in (first, second)]
    title = f"Clusters of the same {len(joined):,} tokens: ARI {rand:.2f}, AMI {information:.2f}"
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    heat = go.Heatmap(
        z=shares, zmin=0, zmax=1, colorscale=look(dark).scale, showscale=False,
        text=np.where(shares >= 0.1, np.char.mod("%.0f", 100 * shares), ""), texttemplate="%{text}",
        hovertemplate="%{y} → %{x}: %{z:.0%}<extra></extra>",
    )  # fmt: skip
    chart = dress(go.Figure(heat), 520, dark, "zoom")
    chart.update_yaxes(title=plotted(names[0], 80), autorange="reversed", dtick=1)
    chart.update_xaxes(title=plotted(names[1], 80), dtick=1)
    note = "percent of a row's cluster; 0 agreement is what chance gives, 1 is the same clusters"
    return View(title, chart, partial(count_squares, counts, title, names), joined, note)
