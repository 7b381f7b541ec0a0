"""Two stores on the same samples: where their clusters agree."""

import os
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pandas as pd
from jaxtyping import Int
from scipy.optimize import linear_sum_assignment
from sklearn.metrics import adjusted_mutual_info_score, adjusted_rand_score

from tprprobe.analyses.naming.name_counts import select_named
from tprprobe.analyses.token_maps import Cloud
from tprprobe.dashboard.statements import Statement
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.scenes import Squares
from tprprobe.gold.labels import WORD
from tprprobe.store.samples import match_samples as match_samples
from tprprobe.store.token_texts import visible

SAMPLES = 1000  # that are compared
NOTE = "Percent of a row’s cluster, written from 10 on. Clusters of the second are numbered and colored so that equal numbers share as many tokens as possible."


def show_agreement(first: Cloud, second: Cloud, pairs: pd.DataFrame) -> View:
    """The view of which clusters of one scene lie in which of another, of the tokens that both have (``pairs``)."""
    joined, counts = _count_common(first, second, pairs)
    a, b = joined["cluster_x"], joined["cluster_y"]
    scores = f"ARI {adjusted_rand_score(a, b):.2f}, AMI {adjusted_mutual_info_score(a, b):.2f}"
    title = f"Clusters of the same {_count_units(joined)}: {scores}"
    axes = [f"{visible(scene.store.path.name)}: {scene.place}" for scene in (first, second)]
    shares = counts / np.maximum(counts.sum(1, keepdims=True), 1)
    texts = np.where(shares >= 0.1, np.char.mod("%.0f", 100 * shares), "")
    rows, columns = ([str(i) for i in range(n)] for n in counts.shape)
    scene = Squares(shares, rows, columns, (axes[0], axes[1]), texts)
    return View(title, joined, scene, NOTE)


def renumber_clusters(scene: Cloud, second_scene: Cloud, pairs: pd.DataFrame) -> Cloud:
    """The second scene with the numbers, and so the colors, of the first, one to one, so that equal numbers share as many tokens as possible."""
    roles, (_, counts) = second_scene.roles, _count_common(scene, second_scene, pairs)
    if scene.roles.k != roles.k:
        return second_scene
    order = linear_sum_assignment(counts, maximize=True)[1]
    labels = np.argsort(order).astype(np.int32)[roles.labels]
    summary = roles.summary.iloc[order].assign(cluster=range(roles.k)).reset_index(drop=True)
    roles = replace(roles, labels=labels, centers=roles.centers[order], summary=summary)
    return replace(second_scene, roles=roles)


def align_tokens(tokens: pd.DataFrame, second_tokens: pd.DataFrame) -> pd.DataFrame:
    """The tokens that stand at the same positions of the samples ``second``; of texts that two tokenizers cut differently the last tokens of words."""
    joined = tokens.merge(second_tokens, on=["second", "position"])
    same = joined[joined["token_x"].astype(str) == joined["token_y"].astype(str)]
    if len(same) == len(joined) or WORD not in tokens or WORD not in second_tokens:
        return same
    words, second_words = (
        table[table[WORD] >= 0].drop_duplicates(["second", WORD], keep="last")
        for table in (tokens, second_tokens)
    )
    return words.merge(second_words, on=["second", WORD])


def _count_common(
    scene: Cloud, second_scene: Cloud, pairs: pd.DataFrame
) -> tuple[pd.DataFrame, Int[np.ndarray, "cluster second"]]:
    """The tokens that both have, with their two clusters, and how many tokens every two clusters share."""
    common = pairs.head(SAMPLES)[["first", "second"]]
    labels = scene.label(common["first"]).rename(columns={"sample": "first"})
    second_labels = second_scene.label(common["second"]).rename(columns={"sample": "second"})
    joined = align_tokens(labels.merge(common, on="first"), second_labels)
    if joined.empty:
        raise InputError("the two have no token in common: choose sites of the same side")
    counts = np.zeros((scene.roles.k, second_scene.roles.k), int)
    np.add.at(counts, (joined["cluster_x"].to_numpy(), joined["cluster_y"].to_numpy()), 1)
    return joined, counts


def _count_units(joined: pd.DataFrame) -> str:
    return f"{len(joined):,} {'tokens' if 'position' in joined else 'words'}"


def summarize_agreement(
    joined: pd.DataFrame, scenes: Sequence[Cloud], names: Sequence[str]
) -> Statement:
    """How far two stores' clusters agree on the same tokens, and how many of each have a name."""
    shared = os.path.commonpath([os.path.dirname(name) for name in names]) or "."
    names = [os.path.relpath(name, shared) for name in names]
    counts = [
        f"{len(select_named(scene.names))} of {len(scene.names)} in {name}"
        for scene, name in zip(scenes, names, strict=True)
        if scene.names is not None
    ]
    rand = adjusted_rand_score(joined["cluster_x"], joined["cluster_y"])
    text = (
        f"On {_count_units(joined)} of {joined['first'].nunique():,} different texts that both have, the clusters of {names[0]} and of {names[1]} agree by "
        f"{rand:.2f} (adjusted Rand index; 0: chance, 1: the same clusters)."
    )
    return Statement(text + (f" Clusters with a name: {', '.join(counts)}." if counts else ""))
