"""Planted states: a bag of words, places, and bindings that carry a known share of the variance; and split halves, to compare."""

import numpy as np
from scipy import stats

from benchmarks.binding.nulls import Indices, draw_sequences
from benchmarks.binding.structure import Array
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.statistics import Interval

WIDTH, R2, RANKS = 24, 0.5, (4, 3)
MEAN_WIDTH = 48
REFERENCE = 20_000  # sequences that the share of bindings is known from
N_BLOCKS, N_SPLITS = 20, 5


def plant(
    rng: np.random.Generator, sequences: Indices, n_words: int, zipf: bool, share: float
) -> Array:
    """States of which bindings, beyond every function of the bag, carry a share of the variance in the population."""
    n_places = max(map(len, sequences))
    fillers, roles = rng.normal(size=(n_words, RANKS[0])), rng.normal(size=(n_places, RANKS[1]))
    table = np.einsum("fj,rk,jkd->frd", fillers, roles, rng.normal(size=(*RANKS, WIDTH)))
    table -= table.mean(0) + table.mean(1, keepdims=True) - table.mean((0, 1))
    words, places = rng.normal(size=(n_words, WIDTH)), rng.normal(size=(n_places, WIDTH))

    of_any_order = np.cumsum(table, 1) / np.arange(1, n_places + 1)[:, None]  # by length

    def add_up(sentences: Indices) -> tuple[Array, Array, Array]:
        lengths = np.array([len(s) for s in sentences])
        starts, word = np.cumsum(lengths) - lengths, np.concatenate(sentences)
        place = np.arange(len(word)) - np.repeat(starts, lengths)
        bound = np.add.reduceat(table[word, place], starts)
        expected = np.add.reduceat(of_any_order[word, np.repeat(lengths, lengths) - 1], starts)
        return np.add.reduceat(words[word] + places[place], starts), bound, bound - expected

    bag, bound, beyond = add_up(draw_sequences(rng, REFERENCE, n_words, zipf, n_places))
    beyond_variance = (beyond**2).sum(1).mean()
    a, b, c = bag.var(0).sum(), bound.var(0).sum(), 2 * ((bag - bag.mean(0)) * bound).sum(1).mean()
    # share of all = x² known / ((a + c x + b x²) / R2), solved for x
    scale = max(np.roots([beyond_variance - share * b / R2, -share * c / R2, -share * a / R2]).real)
    noise = np.sqrt((a + c * scale + b * scale**2) * (1 - R2) / R2 / WIDTH)
    bag, bound, _ = add_up(sequences)
    return bag + scale * bound + noise * rng.normal(size=bag.shape)


def plant_in_mean(rng: np.random.Generator, sequences: Indices, share: float) -> Array:
    """Means of word vectors, plus bindings of all words with a share of the variance (before noise, a tenth)."""
    n_words, n_places = 1 + max(int(s.max()) for s in sequences), max(map(len, sequences))
    fillers, roles = rng.normal(size=(n_words, RANKS[0])), rng.normal(size=(n_places, RANKS[1]))
    table = np.einsum("fj,rk,jkd->frd", fillers, roles, rng.normal(size=(*RANKS, MEAN_WIDTH)))
    table -= table.mean(1, keepdims=True)
    words = rng.normal(size=(n_words, MEAN_WIDTH)) + rng.normal(size=MEAN_WIDTH)
    mean = np.array([words[s].mean(0) for s in sequences])
    bound = np.array([table[s, np.arange(len(s))].sum(0) for s in sequences])
    scale = np.sqrt(share / (1 - share) * mean.var(0).sum() / bound.var(0).sum())
    clean = mean + scale * bound
    return clean + rng.normal(size=clean.shape) * np.sqrt(clean.var(0).mean() / 9)


def split_halves(counts: PairCounts, states: Array, rng: np.random.Generator) -> Interval:
    """Cross products of what pairs fit beyond words and places in two halves (crossnobis), jackknife over blocks."""
    pairs = counts.pairs.toarray()
    words_and_places = np.hstack([counts.fillers.toarray(), counts.roles.toarray()])
    block = rng.permutation(len(states)) % N_BLOCKS
    halves = [rng.random(len(states)) < 0.5 for _ in range(N_SPLITS)]

    def share(rows: Array) -> float:
        x, a, e = pairs[rows], words_and_places[rows], states[rows]
        products = []
        for half in (mask[rows] for mask in halves):
            interactions = []
            for side in (half, ~half):
                full = _predict(x[side], e[side], x)
                additive = _predict(a[side], full[side], a)
                interactions.append((full - full.mean(0)) - (additive - additive.mean(0)))
            products.append((interactions[0] * interactions[1]).sum())
        return float(np.mean(products) / ((e - e.mean(0)) ** 2).sum())

    value = share(np.ones(len(states), bool))
    left_out = np.array([share(block != b) for b in range(N_BLOCKS)])
    error = np.sqrt((N_BLOCKS - 1) / N_BLOCKS * ((left_out - left_out.mean()) ** 2).sum())
    half = float(stats.t.ppf(0.975, N_BLOCKS - 1) * error)
    return Interval(value, value - half, value + half)


def _predict(x: Array, e: Array, inputs: Array) -> Array:
    """What the least squares of e on x give at other counts (of minimal norm)."""
    gram = (x - x.mean(0)).T @ (x - x.mean(0))
    return (inputs - x.mean(0)) @ (np.linalg.pinv(gram, 1e-9, hermitian=True) @ ((x - x.mean(0)).T @ (e - e.mean(0))))  # fmt: skip
