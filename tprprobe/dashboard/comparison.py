"""Two stores on the same samples: where their clusters agree."""

from collections.abc import Sequence
from functools import partial

import numpy as np
import pandas as pd
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.token_maps import Cloud
from tprprobe.dashboard.contents import read_texts
from tprprobe.dashboard.statements import Statement
from tprprobe.dashboard.view import Squares, View
from tprprobe.errors import InputError
from tprprobe.figures.dots import count_squares
from tprprobe.store import Store

APART = "the two have no token in common: choose sites of the same side"
SAMPLES = 1000  # that are compared


def match_samples(first: Store, second: Store) -> pd.DataFrame:
    """The samples that both stores have, by their texts: text, first, second."""
    one, two = (read_texts(each).rename("text").reset_index() for each in (first, second))
    pairs = one.merge(two, on="text", suffixes=("_first", "_second")).drop_duplicates("text")
    if pairs.empty:
        one, two = ("/".join(each.path.parts[-2:]) for each in (first, second))
        raise InputError(
            f"{one} and {two} have no sample in common: choose a store of the same data"
        )
    return pairs.rename(columns={"sample_first": "first", "sample_second": "second"})


def show_agreement(first: Cloud, second: Cloud, pairs: pd.DataFrame) -> View:
    """The view of which clusters of one scene lie in which of another.

    Args:
        first: One scene.
        second: The other.
        pairs: The tokens that both have, with their clusters in both.

    Returns:
        The view, a map of shares.

    Raises:
        InputError: The two have no token in common.

    Examples:
        >>> scene = tp.dashboard.build_scene(store, "encoder.-1.self.role", head=0, k=3)
        >>> tp.dashboard.show_agreement(scene, scene, pd.DataFrame({"first": [], "second": []}, dtype=int))
        Traceback (most recent call last):
        tprprobe.errors.InputError: the two have no token in common: choose sites of the same side
    """
    if pairs.empty:
        raise InputError(APART)
    common = pairs.head(SAMPLES)
    one, two = _label(first, common["first"]), _label(second, common["second"])
    mapped = one.merge(pairs[["first", "second"]], left_on="sample", right_on="first")
    joined = mapped.merge(two, left_on=["second", "position"], right_on=["sample", "position"])
    if joined.empty:
        raise InputError(APART)
    a, b = joined["cluster_x"].to_numpy(), joined["cluster_y"].to_numpy()
    counts = np.zeros((first.roles.k, second.roles.k), int)
    np.add.at(counts, (a, b), 1)
    scores = f"ARI {adjusted_rand_score(a, b):.2f}, AMI {adjusted_mutual_info_score(a, b):.2f}"
    title = f"Clusters of the same {len(joined):,} tokens: {scores}"
    names = [f"clusters of {scene.store.path.name}, {scene.place}" for scene in (first, second)]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    texts = np.where(shares >= 0.1, np.char.mod("%.0f", 100 * shares), "")
    rows, columns = ([str(each) for each in range(n)] for n in counts.shape)
    grid = Squares(shares, rows, columns, (names[0][:60], names[1]), texts)
    note = "percent of a row's cluster; 0 agreement is what chance gives, 1 is the same clusters"
    return View(title, joined, grid, partial(count_squares, counts, title, names), note)


def _label(scene: Cloud, samples: pd.Series) -> pd.DataFrame:
    """The cluster of every token of some samples, drawn or not: sample, position, cluster."""
    part, roles = scene.of(samples.tolist())
    tokens = part.tokens_of(roles.site)[["sample", "position"]].assign(cluster=roles.labels)
    return tokens[tokens["cluster"] >= 0]


def summarize_agreement(
    joined: pd.DataFrame, scenes: Sequence[Cloud], names: Sequence[str]
) -> Statement:
    """How far two stores' clusters agree on the same tokens, and how many of each have a name."""
    counts = [
        f"{(known := scene.names['name'] != UNNAMED).sum()} of {len(known)} clusters of {name} have a name"
        for scene, name in zip(scenes, names, strict=True)
        if scene.names is not None
    ]
    rand = adjusted_rand_score(joined["cluster_x"], joined["cluster_y"])
    text = (
        f"On {len(joined):,} tokens that both have, the clusters of {names[0]} and of {names[1]} agree by "
        f"{rand:.2f} (adjusted Rand index; 0: chance, 1: the same clusters)."
    )
    return Statement(text + (f" {', '.join(counts)}." if counts else ""))
