"""Two stores on the same samples: where their clusters agree."""

from functools import partial

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from tprprobe.dashboard.plots import plot_grid
from tprprobe.dashboard.scene import Cloud
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
    """The text of every sample; of samples without one, their tokens."""
    tokens = store.tokens
    column = next((name for name in TEXTS if name in tokens), None)
    if column is None:
        texts = tokens.groupby("sample")["token"].agg(lambda each: " ".join(map(str, each)))
        return texts.rename("text").reset_index()
    samples = tokens.drop_duplicates("sample")
    return pd.DataFrame({"text": samples[column].astype(str), "sample": samples["sample"]})


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
    texts = np.where(shares >= 0.1, np.char.mod("%.0f", 100 * shares), "")
    rows, columns = ([str(each) for each in range(n)] for n in counts.shape)
    chart = plot_grid(
        shares, rows, columns, dark, texts, None, (names[0][:60], names[1]), height=520
    )
    note = "percent of a row's cluster; 0 agreement is what chance gives, 1 is the same clusters"
    return View(title, partial(count_squares, counts, title, names), joined, note, chart)
