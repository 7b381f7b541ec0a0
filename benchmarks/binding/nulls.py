"""States that bind nothing: functions of which words occur, in any order or in the order of real text."""

import gzip
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

from benchmarks.binding.structure import Array

WIDTH, R2 = 48, 0.9  # numbers of a state, and which share of their variance is no noise
TREEBANK = "ewt/conllu/en_ewt-ud-*.conllu.gz"
SHORTEST, LONGEST = 3, 12
Indices = Sequence[np.ndarray]  # of every sequence, its words by number
Null = Callable[[np.random.Generator, Indices, Array], Array]  # words' vectors → states


def read_sentences(data: Path) -> list[tuple[str, ...]]:
    """The different sentences of 3 to 12 words of EWT."""
    sentences = {}
    for part in sorted(data.glob(TREEBANK)):
        with gzip.open(part, "rt") as file:
            for block in file.read().split("\n\n"):
                rows = [line.split("\t") for line in block.splitlines()]
                words = tuple(row[1].lower() for row in rows if row[0].isdigit())
                if SHORTEST <= len(words) <= LONGEST:
                    sentences[words] = None
    return list(sentences)


def draw_sentences(
    rng: np.random.Generator, sentences: Sequence[tuple[str, ...]], n: int
) -> list[np.ndarray]:
    """A sample of sentences, words by number."""
    sample = [sentences[i] for i in rng.choice(len(sentences), n, replace=False)]
    numbers = {word: i for i, word in enumerate(sorted({w for s in sample for w in s}))}
    return [np.array([numbers[word] for word in sentence]) for sentence in sample]


def draw_sequences(
    rng: np.random.Generator, n: int, n_words: int, zipf: bool = True, longest: int = 6
) -> list[np.ndarray]:
    """Sequences of 3 to ``longest`` words, the k-th drawn in proportion to 1/k."""
    weights = 1 / np.arange(1, n_words + 1) if zipf else np.ones(n_words)
    lengths = rng.integers(SHORTEST, longest + 1, n)
    words = rng.choice(n_words, lengths.sum(), p=weights / weights.sum())
    return np.split(words, np.cumsum(lengths)[:-1])


def _bag(sequences: Indices, vectors: Array) -> Array:
    return np.array([vectors[words].sum(0) for words in sequences])


def _pool(sequences: Indices, vectors: Array, weights: Array) -> Array:
    return np.array([weights[words] @ vectors[words] / max(weights[words].sum(), 1e-9) for words in sequences])  # fmt: skip


def _standardize(bag: Array) -> Array:
    return (bag - bag.mean(1, keepdims=True)) / bag.std(1, keepdims=True)


def _lengths(sequences: Indices) -> Array:
    return np.array([[len(words)] for words in sequences])


def _by_length(rng: np.random.Generator, sequences: Indices, vectors: Array) -> Array:
    factor = np.exp(0.7 * rng.normal(size=LONGEST + 1))
    return _bag(sequences, vectors) * factor[_lengths(sequences)]


def _idf(rng: np.random.Generator, sequences: Indices, vectors: Array) -> Array:
    frequency = np.bincount(np.concatenate([np.unique(w) for w in sequences]), minlength=len(vectors))  # fmt: skip
    return _pool(sequences, vectors, np.log(len(sequences) / np.maximum(1, frequency)))


def _hash(rng: np.random.Generator, sequences: Indices, vectors: Array) -> Array:
    seed = int(rng.integers(2**31))
    return np.array([np.random.default_rng((seed, zlib.crc32(words.tobytes()))).normal(size=vectors.shape[1]) for words in sequences])  # fmt: skip


NULLS: dict[str, Null] = {
    "sum": lambda _, s, v: _bag(s, v),
    "mean": lambda _, s, v: _bag(s, v) / _lengths(s),
    "unit norm": lambda _, s, v: _unit(_bag(s, v)),
    "LayerNorm": lambda _, s, v: _standardize(_bag(s, v)),
    "RMSNorm": lambda _, s, v: _unit(_bag(s, v)) * np.sqrt(v.shape[1]),
    "maximum": lambda _, s, v: np.array([v[words].max(0) for words in s]),
    "softmax pooling": lambda rng, s, v: _pool(s, v, np.exp(rng.normal(size=len(v)))),
    "idf weights": _idf,
    "tanh": lambda _, s, v: np.tanh(_bag(s, v) / _bag(s, v).std()),
    "bag × length": _by_length,
    "hash": _hash,
}


def _unit(bag: Array) -> Array:
    return bag / np.linalg.norm(bag, axis=1, keepdims=True)


def draw_null(
    name: str, rng: np.random.Generator, sequences: Indices, n_words: int, width: int = WIDTH
) -> Array:
    """States of a null with noise; words' vectors have a mean of their own."""
    vectors = rng.normal(size=(n_words, width)) + rng.normal(size=width)
    clean = NULLS[name](rng, sequences, vectors)
    scale = np.sqrt(clean.var(0).mean() * (1 - R2) / R2)
    return clean + rng.normal(size=clean.shape) * scale
