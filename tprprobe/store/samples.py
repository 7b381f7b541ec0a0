"""The texts of a store's samples, those that hold a text, and a part of them, read like a store."""

import functools
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Integer

from tprprobe.errors import InputError
from tprprobe.statistics import Interval, wilson
from tprprobe.store.layout import SAMPLE, SIDES
from tprprobe.store.reader import Rows, Store

TEXTS = ("question", "source", "document")  # columns with the text of a sample


def read_texts(store: Store) -> pd.Series:
    """The text of every sample by its number; of samples without one, their tokens."""
    tokens = store.tokens
    column = next((name for name in TEXTS if name in tokens), None)
    if column is None:
        return tokens.groupby("sample")["token"].agg(lambda words: " ".join(map(str, words)))
    return tokens.drop_duplicates("sample").set_index("sample")[column].astype(str)


def find_samples(store: Store, text: str, limit: int = 500) -> list[int]:
    """The samples that hold a text, ignoring case; all for an empty one."""
    if not text.strip():
        return list(range(store.samples))
    texts = read_texts(store)
    holds = texts.str.casefold().str.contains(text.strip().casefold(), regex=False)
    return [int(sample) for sample in texts.index[holds.to_numpy()][:limit]]


def match_samples(store: Store, other_store: Store) -> pd.DataFrame:
    """The samples that both stores have, by their texts: text, first, second."""
    texts, other_texts = (
        read_texts(s).rename("text").rename_axis(name).reset_index()
        for s, name in ((store, "first"), (other_store, "second"))
    )
    pairs = texts.merge(other_texts, on="text").drop_duplicates("text")
    if pairs.empty:
        names = " and ".join("/".join(s.path.parts[-2:]) for s in (store, other_store))
        raise InputError(f"{names} have no sample in common: choose a store of the same data")
    return pairs


def score_answers(
    store: Store, is_arithmetic: bool, samples: Collection[int] | None = None
) -> Interval | None:
    """The share of right answers, of all samples or these; None for a corpus, which asks nothing, and for texts of which none is its reference."""
    if not store.has_answers or not {"correct", "answer", "question"} <= {*store.tokens}:
        return None
    rows = store.tokens[["sample", "question", "answer", "correct"]]
    rows = rows if samples is None else rows[rows["sample"].isin(samples)]
    rows = rows.drop_duplicates("sample").dropna().astype({"answer": str, "question": str})
    rows = rows[rows["answer"] != ""]
    is_asked, right = (rows["answer"] != rows["question"]).any(), rows["correct"].astype(bool)
    is_scored = is_asked and (is_arithmetic or right.any())
    return wilson(int(right.sum()), len(right)) if is_scored else None


N_DRAWN, MIN_ROWS = 20_000, 2_000  # vectors that a first view is made of
NUMBERS = 4_000_000  # in these: wide vectors are fewer
STRETCHES = 64  # runs of samples that follow one another: a disk is read in few places


@dataclass(frozen=True, eq=False, repr=False)
class Thinned(Store):
    """The samples ``sample_ids`` (in order) of the store ``full_store``; rows are renumbered."""

    full_store: Store
    sample_ids: Integer[np.ndarray, " sample"]

    @functools.cached_property
    def tokens(self) -> pd.DataFrame:
        table = self.full_store.tokens
        return table.loc[np.isin(table["sample"].to_numpy(), self.sample_ids)].reset_index(
            drop=True
        )

    def rows(self, site: str) -> Integer[np.ndarray, " row"]:
        return np.flatnonzero(
            np.isin(self.full_store.tokens_of(site)["sample"].to_numpy(), self.sample_ids)
        )

    def read(self, site: str, rows: Rows | None = None, head: int | None = None) -> np.ndarray:
        if (site, head) not in self._last_read:
            self._last_read.clear()
            self._last_read[site, head] = self.full_store.read(site, self.rows(site), head)
        return self._last_read[site, head][slice(None) if rows is None else rows]

    @functools.cached_property
    def _last_read(self) -> dict[tuple[str, int | None], np.ndarray]:
        """The vectors that were read last: they lie scattered on the disk, and are few."""
        return {}


def take(store: Store, samples: Integer[np.ndarray, " sample"]) -> Thinned:
    side = store.tokens.loc[np.isin(store.tokens["sample"].to_numpy(), samples), "side"]
    counts = {name: int((side == name).sum()) for name in SIDES} | {SAMPLE: len(samples)}
    lengths = {**store.facts.lengths, **counts}
    manifest = {**store.manifest, "lengths": lengths, "samples": len(samples)}
    return Thinned(store.path, manifest, store, np.asarray(samples))


def thin(store: Store, site: str, limit: int, seed: int = 0) -> Store:
    """The store, or stretches of its samples drawn at random, at most ``limit`` vectors of a site in all."""
    tokens = store.tokens_of(site)["sample"].to_numpy()
    if len(tokens) <= limit:
        return store
    samples, counts = np.unique(tokens, return_counts=True)
    n_samples = max(1, int(limit / counts.mean()))
    length = max(1, n_samples // STRETCHES)
    starts = np.arange(0, len(samples) - length + 1, length)
    rng = np.random.default_rng(seed)
    stretches = np.sort(rng.choice(starts, min(len(starts), n_samples // length), replace=False))
    positions = (stretches[:, None] + np.arange(length)).ravel()
    positions = positions[np.cumsum(counts[positions]) <= limit]
    return take(store, samples[positions if len(positions) else stretches[:1]])


def count_drawn(store: Store, site: str) -> int:
    """How many vectors of a site (or of a head of it) a first view is made of."""
    spec = store.specs[store.select(site)[0]]
    width = int(np.prod(spec.shape)) // (spec.heads or 1)
    return min(N_DRAWN, max(MIN_ROWS, NUMBERS // max(width, 1)))
