"""Tables beside the charts: the sites of a store, its clusters with their names, its tokens."""

import numpy as np
import pandas as pd
from jaxtyping import Bool

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.holdings import write_size
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.scene import Cloud
from tprprobe.dashboard.view import View
from tprprobe.figures.tables import Table
from tprprobe.store import Store

MOST = 5000  # marked tokens in a table


def show_sites(store: Store) -> View:
    """The sites of a store, with their sizes."""
    summary = store.summary
    shapes = [" × ".join(f"{n:,}" for n in shape) for shape in summary["shape"]]
    cells = pd.DataFrame(
        {
            "site": summary["site"],
            "axes": summary["axes"],
            "shape": shapes,
            "type": summary["dtype"],
        }
    )
    cells = cells.assign(size=summary["bytes"].map(write_size))
    table = Table(cells.astype(str), f"Sites of {store.path.name}")
    return View(table.title, table.draw, cells)


def show_clusters(scene: Cloud) -> View:
    """The clusters of a scene as a table: names and precision (held out), tokens."""
    cells = cluster_table(scene)
    shown = cells.map(lambda each: f"{each:.2f}" if isinstance(each, float) else str(each))
    table = Table(shown.replace("nan", "–"), f"Clusters of {scene.place}")
    return View(table.title, table.draw, cells)


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


def find_samples(store: Store, text: str, most: int = 500) -> list[int]:
    """The samples that hold a text, ignoring case: in their question, else in their tokens; all for an empty one."""
    if not text.strip():
        return list(range(store.samples))
    tokens, sought = store.tokens, text.strip().casefold()
    column = next((name for name in ("question", "source") if name in tokens), None)
    if column is None:
        texts = tokens.groupby("sample", sort=True)["token"].agg(
            lambda each: " ".join(map(str, each))
        )
    else:
        texts = tokens.drop_duplicates("sample").set_index("sample")[column]
    holds = texts.astype(str).str.casefold().str.contains(sought, regex=False)
    return [int(each) for each in texts.index[holds.to_numpy()][:most]]


def tabulate(rows: list[dict[str, str]]) -> pd.DataFrame:
    """Facts as a table; what one of them lacks is empty."""
    return pd.DataFrame(rows).fillna("")
