"""Purity of regions of unbinding space by part of speech: huang's 76.3 %, in every reading.

The paper does not say how it parts the space, whether 76.3 % is a mean over regions or words, and of
which words. So: three kinds of regions, both means, on the words that they were found on and on
others (five folds of images); and beside u_t what a word's place and the word before tell alone.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from sklearn.linear_model import RidgeClassifier
from sklearn.metrics import pairwise_distances_argmin

from tprpapers.huang.unbinding.contingency import Contingency, Tables, compare, count
from tprpapers.huang.unbinding.generations import GeneratedWords
from tprprobe.estimators.clusters.kmeans import fit_means
from tprprobe.statistics import Interval, divide

REGIONS = 17
FOLDS = 5
MAX_WORDS = 10_000  # words that are looked at, of whole images
TYPES = 300  # words before that are told apart
PLACES = 20
READINGS = ("k-means", "class mean", "linear")
SPLITS = ("in sample", "held out")
UNBINDING, TWIN, PLACE, BEFORE, PLACE_AND_BEFORE = (
    "u",
    "u of the untrained twin",
    "position",
    "previous word",
    "position and previous word",
)
SHUFFLED, NOTHING = "u, tags permuted", "nothing (the commonest tag)"
CONTROLS = [PLACE, BEFORE, PLACE_AND_BEFORE, SHUFFLED]

PartitionKey = tuple[str, str, str]  # reading, vectors, split


@dataclass(frozen=True, eq=False)
class Regions:
    """Counts of words by region and by whether they have the region's tag, for every partition."""

    counts: Mapping[PartitionKey, Contingency]
    words: int
    images: int
    tags: int
    seed: int

    def table(self) -> pd.DataFrame:
        """One row per partition: reading, vectors, split, regions; macro, micro, _low and _high."""
        return pd.DataFrame([self._row(key) for key in self.counts])

    def gain(self, reading: str, split: str, mean: str, control: str = "") -> dict[str, Interval]:
        """The purity (``macro`` or ``micro``) of u minus a control's, by default the purest; its name says which."""
        measure, controls = MEASURES[mean], [control] if control else CONTROLS
        counts = {name: self.counts[reading, name, split] for name in (UNBINDING, *controls)}
        best = max(controls, key=lambda name: measure(counts[name].table[None])[0])
        interval = compare(counts[UNBINDING], counts[best], measure, self.seed)
        return {f"{reading}, {split}, {OVER[mean]}, against {best}": interval}

    def _row(self, key: PartitionKey) -> dict[str, Any]:
        counts = self.counts[key]
        row: dict[str, Any] = dict(zip(("reading", "vectors", "split"), key, strict=True))
        row["regions"] = int(np.sum(counts.table.sum(1) > 0))
        for name, measure in MEASURES.items():
            row |= counts.measure(measure, self.seed).columns(name)
        return row


def _macro(tables: Tables) -> Float[np.ndarray, " replicate"]:
    """The mean purity over regions that have words."""
    return np.nanmean(divide(tables[..., 0], tables.sum(2)), axis=1)


OVER = {"macro": "over regions", "micro": "over words"}
MEASURES = {"macro": _macro, "micro": lambda tables: tables[..., 0].sum(1) / tables.sum((1, 2))}


def partition_space(words: GeneratedWords, max_words: int = MAX_WORDS, seed: int = 0) -> Regions:
    """All partitions of the words of the first images (``most`` words) by part of speech."""
    table = first_words(words, max_words)
    tags, groups = table["pos"].to_numpy(), table["group"]
    vectors = read_vectors(words, table)
    rng = np.random.default_rng(seed)
    folds = rng.permuted(np.arange(int(groups.max()) + 1) % FOLDS)[groups.to_numpy()]
    tagged = {name: (columns, tags) for name, columns in vectors.items()}
    tagged[SHUFFLED] = vectors[UNBINDING], rng.permutation(tags)
    counts = {
        (reading, name, split): _count_regions(reading, *tagged[name], folds, split, groups, seed)
        for name in tagged
        for reading in READINGS
        for split in SPLITS
    }
    everywhere = np.zeros(len(tags), int)
    commonest = tags == pd.Series(tags).mode()[0]
    counts["one region", NOTHING, SPLITS[0]] = _count(everywhere, commonest, groups)
    return Regions(counts, len(table), int(groups.nunique()), len(np.unique(tags)), seed)


def first_words(words: GeneratedWords, max_words: int) -> pd.DataFrame:
    """The words of the first samples, of those only that the untrained twin has too."""
    table = words.table
    if words.store.control is not None:
        table = table.loc[table["sample"] < words.store.control.samples]
    if len(table) > max_words:
        end = table["sample"].iloc[max_words]
        table = table.loc[table["sample"] < end]
    return table.assign(group=pd.factorize(table["group"])[0])


def read_vectors(
    words: GeneratedWords, table: pd.DataFrame
) -> dict[str, Float[np.ndarray, "word width"]]:
    """The vectors of some words, and codes of their place and of the word before."""
    rows = table["row"].to_numpy()

    def read(store: Any) -> np.ndarray:
        block = store.read(words.site, slice(0, int(rows[-1]) + 1))
        return block.reshape(len(block), -1)[rows].astype(np.float32)

    place = np.eye(PLACES, dtype=np.float32)[table["position"].clip(upper=PLACES) - 1]
    previous_codes = word_codes(table["previous"])
    vectors = {
        UNBINDING: read(words.store),
        PLACE: place,
        BEFORE: previous_codes,
        PLACE_AND_BEFORE: np.hstack([place, previous_codes]),
    }
    twin = words.store.control
    if twin is not None and words.site in twin.sites and table["sample"].max() < twin.samples:
        vectors[TWIN] = read(twin)
    return vectors


def word_codes(previous: pd.Series) -> Float[np.ndarray, "word type"]:
    """The commonest 300 words one-hot; zeros for others."""
    types = previous.value_counts().index[:TYPES]
    codes = pd.Categorical(previous, categories=list(types)).codes.astype(int)
    return np.vstack([np.eye(len(types), dtype=np.float32), np.zeros(len(types), np.float32)])[
        codes
    ]


def cluster_rows(
    vectors: Float[np.ndarray, "row width"], k: int, seed: int = 0
) -> Int[np.ndarray, " row"]:
    """The clusters of vectors in memory, as many as they have distinct values if these are fewer."""
    k = min(k, len(np.unique(vectors, axis=0)))
    return fit_means(vectors, k, seed).labels_.astype(int)


def _count_regions(
    reading: str,
    vectors: Float[np.ndarray, "word width"],
    tags: Shaped[np.ndarray, " word"],
    folds: Int[np.ndarray, " word"],
    split: str,
    groups: pd.Series,
    seed: int,
) -> Contingency:
    """Regions and whether each word has its region's tag; regions of a fold are its own."""
    if split == SPLITS[0]:
        return _count(*_assign_regions(reading, vectors, tags, vectors, tags, seed), groups)
    region, is_right = np.zeros(len(tags), int), np.zeros(len(tags), bool)
    for fold in range(FOLDS):
        is_test, is_train = folds == fold, folds != fold
        assignment = _assign_regions(
            reading, vectors[is_train], tags[is_train], vectors[is_test], tags[is_test], seed
        )
        region[is_test], is_right[is_test] = assignment[0] + fold * 10 * REGIONS, assignment[1]
    return _count(region, is_right, groups)


def _assign_regions(
    reading: str,
    train_vectors: Float[np.ndarray, "row width"],
    train_tags: Shaped[np.ndarray, " row"],
    vectors: Float[np.ndarray, "word width"],
    tags: Shaped[np.ndarray, " word"],
    seed: int,
) -> tuple[Int[np.ndarray, " word"], np.ndarray]:
    """The region of every word, and whether its tag is the region's, both found on other words."""
    if reading == "k-means":
        k = min(REGIONS, len(np.unique(train_vectors, axis=0)))
        means = fit_means(train_vectors, k, seed)
        region_tags = (
            pd.Series(train_tags).groupby(means.labels_).agg(lambda region: region.mode()[0])
        )
        region = means.predict(vectors)
        return region.astype(int), region_tags.reindex(range(k)).to_numpy()[region] == tags
    if reading == "linear":
        predicted: Any = RidgeClassifier(alpha=1.0).fit(train_vectors, train_tags).predict(vectors)
    else:
        names, index = np.unique(train_tags, return_inverse=True)
        means = np.stack([train_vectors[index == i].mean(0) for i in range(len(names))])
        predicted = names[pairwise_distances_argmin(vectors, means)]
    return np.unique(predicted, return_inverse=True)[1].astype(int), predicted == tags


def _count(region: Int[np.ndarray, " word"], right: np.ndarray, groups: pd.Series) -> Contingency:
    region = np.unique(region, return_inverse=True)[1]
    names: Any = pd.Series(np.where(right, "right", "wrong"), groups.index)
    return count(region, names, groups, ("right", "wrong"))
