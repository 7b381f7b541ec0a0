"""Tables beside the charts: the sites of a store, its clusters with their names, its tokens."""

import numpy as np
import pandas as pd
import plotly.graph_objects as go
from jaxtyping import Bool

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.store_card import tell_size
from tprprobe.dashboard.view import View
from tprprobe.figures.tables import Table
from tprprobe.store import Store

MOST = 5000  # marked tokens in a table


def show_sites(store: Store) -> View:
    """The sites of a store, with their sizes."""
    summary = store.summary
    cells = pd.DataFrame(
        {
            "site": summary["site"],
            "axes": summary["axes"],
            "shape": [" × ".join(f"{n:,}" for n in shape) for shape in summary["shape"]],
            "type": summary["dtype"],
            "size": summary["bytes"].map(tell_size),
        }
    )
    table = Table(cells.astype(str), f"Sites of {store.path.name}")
    return View(table.title, go.Figure(), table.draw, cells)


def show_clusters(scene: Cloud) -> View:
    """The clusters of a scene as a table: names and precision (held out), tokens."""
    cells = cluster_table(scene)
    shown = cells.map(lambda each: f"{each:.2f}" if isinstance(each, float) else str(each))
    table = Table(shown.replace("nan", "–"), f"Clusters of {scene.place}")
    return View(table.title, go.Figure(), table.draw, cells)


def cluster_table(scene: Cloud) -> pd.DataFrame:
    """One row per cluster: name and precision (held out) where data have exact structure, its tokens."""
    summary = scene.roles.summary
    table = pd.DataFrame({"cluster": summary["cluster"]})
    names = scene.names
    if names is not None:
        table["name"] = names["name"].to_numpy()
    table["tokens"] = summary["size"]
    if names is not None:
        has_name = (
            names["name"] != UNNAMED
        )  # the measures of a name that does not hold tell nothing
        table["precision"] = names["precision"].where(has_name).to_numpy()
        table["recall"] = names["recall"].where(has_name).to_numpy()
    table["commonest tokens"] = [visible(top, 60) for top in summary["top"]]
    return table


def name_clusters(scene: Cloud) -> dict[int, str]:
    """Every cluster with its name, or its commonest tokens where it has none."""
    summary, names = scene.roles.summary, scene.names
    tops = [visible(top, 40) for top in summary["top"]]
    if names is not None:
        own = names["name"].tolist()
        tops = [
            top if name == UNNAMED else visible(name, 60)
            for name, top in zip(own, tops, strict=True)
        ]
    return {i: f"{i}: {top}" for i, top in enumerate(tops)}


def token_table(scene: Cloud, marked: Bool[np.ndarray, " token"]) -> pd.DataFrame:
    """The marked tokens (the first MOST of them), a row each, their texts made visible."""
    chosen = np.flatnonzero(marked)[:MOST]
    tokens = scene.tokens.iloc[chosen]
    table = pd.DataFrame(
        {
            "row": scene.rows[chosen],
            "sample": tokens["sample"].to_numpy(),
            "position": tokens["position"].to_numpy(),
            "token": [visible(each) for each in tokens["token"]],
            "cluster": scene.roles.labels[chosen],
        }
    )
    if "question" in tokens:
        table["in"] = [visible(each, 80) for each in tokens["question"]]
    return table
