"""The nominal/verbal generalization over two clusters: huang's Table 2."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprpapers.huang.unbinding.categories import NOMINAL, SIDES, VERBAL
from tprpapers.huang.unbinding.generations import GeneratedWords
from tprprobe.statistics import Interval, bootstrap_mean, bootstrap_ratio, group_sums

PRINTED = {  # N_w, N_r. Source: huang Table 2
    "noun": (16683, 16115),
    "pronoun": (462, 442),
    "indefinite article": (7248, 7107),
    "definite article": (797, 762),
    "adjective": (2543, 2237),
    "verb": (3558, 3409),
    "preposition or conjunction": (8184, 7859),
    "adverb": (13, 8),
}
TOTAL = "all"


def measure_conformity(
    words: GeneratedWords, labels: Int[np.ndarray, " word"], seed: int = 0
) -> pd.DataFrame:
    """One row per category, then all: n, conforming, share with low and high, majority.

    Of two clusters the one with the larger share of nominal words is the nominal one, found on one
    half of the images; words of the other half are counted, without the first of every caption, as
    in the paper. ``majority`` is the share if all words were put on the commoner side.
    Source: huang §5.3.2, Table 2.
    """
    table = words.table.assign(conforms=_conforms(words, labels))
    evaluated = table.loc[~table["learned"] & (table["side"] != "") & (table["position"] > 1)]
    commoner = evaluated["side"].mode().get(0, NOMINAL)
    rows = [_row(name, evaluated, str(commoner), seed) for name in (*SIDES, TOTAL)]
    return pd.DataFrame(rows)


def _conforms(words: GeneratedWords, labels: Int[np.ndarray, " word"]) -> np.ndarray:
    """True for every word of a side that is generated from that side's cluster."""
    table = words.table
    is_fitted = (table["learned"] & (table["position"] > 1)).to_numpy()
    nominal, verbal = (is_fitted & (table["side"] == side).to_numpy() for side in (NOMINAL, VERBAL))
    kinds = np.arange(2)
    of_nominal, of_verbal = ((labels[mask][:, None] == kinds).mean(0) for mask in (nominal, verbal))
    cluster = int(np.argmax(of_nominal - of_verbal))
    return (labels == cluster) == (table["side"] == NOMINAL).to_numpy()


def _row(name: str, evaluated: pd.DataFrame, commoner: str, seed: int) -> dict[str, Any]:
    words = evaluated if name == TOTAL else evaluated.loc[evaluated["category"] == name]
    if words.empty:
        return {"category": name, "n": 0, "conforming": 0, "share": np.nan, "majority": np.nan}
    sums = group_sums(
        np.stack([words["conforms"], np.ones(len(words))], 1).astype(float),
        words["group"].to_numpy(),
    )
    share = bootstrap_ratio(*sums.T, seed=seed, lowest=0)
    return {
        "category": name,
        "n": len(words),
        "conforming": int(words["conforms"].sum()),
        "share": share.value,
        "low": share.low,
        "high": share.high,
        "majority": float((words["side"] == commoner).mean()),
    }


def share_one_cluster(words: GeneratedWords, labels: Int[np.ndarray, " word"]) -> float:
    """The share of captions all of whose words are in one cluster: 0 where clusters are roles.

    Clusters that tell captions apart and not words have a conformity near chance.
    """
    by_caption = pd.Series(labels).groupby(words.table["sample"].to_numpy())
    return float((by_caption.min() == by_caption.max()).mean())


def split_initial(
    words: GeneratedWords, labels: Int[np.ndarray, " word"], seed: int = 0
) -> Interval:
    """The share of first words in the rarer of the two clusters: huang §5.3.2."""
    is_initial = (words.table["position"] == 1).to_numpy() & ~words.table["learned"].to_numpy()
    rarer = int(np.argmin(np.bincount(labels[is_initial], minlength=2)))
    groups = words.table.loc[is_initial, "group"].to_numpy()
    return bootstrap_mean(labels[is_initial] == rarer, groups, seed=seed)
