"""Controls: labels and features that hold nothing, or less, of what is asked; rules that need no vector.

A control keeps what the real thing has by itself (how often a label occurs, which words a sequence has) and loses the
relation that is tested.
"""

from collections.abc import Iterator

import numpy as np
from jaxtyping import Bool, Float64, Int

from tprprobe.evaluation.metrics import Marks

REAL = "real"  # the control of a row that is none, in views and options
MAJORITY, IDENTITY = "majority", "identity"
BASELINES = (MAJORITY, IDENTITY)  # rules that need no vector


def draw_labels(
    keys: Int[np.ndarray, "target key"], labels: Bool[np.ndarray, "_reference label"], seed: int
) -> Marks:
    """A label for every target, drawn from ``labels`` once a key, the same in every store (Hewitt and Liang 2019)."""
    ordered = np.argsort(labels.argmax(1), kind="stable")
    return labels[ordered[(_uniform(keys, seed) * len(labels)).astype(int)]]


def _uniform(keys: Int[np.ndarray, "target key"], seed: int) -> Float64[np.ndarray, " target"]:
    """A number in [0, 1) for every key: splitmix64 over its columns."""
    state = np.full(len(keys), seed, np.uint64)
    for column in keys.T.astype(np.uint64):
        state = (state ^ column) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) / 2**53


def shuffle_labels(labels: Marks, seed: int) -> Marks:
    """The labels of other targets: every label as often as before."""
    return labels[np.random.default_rng(seed).permutation(len(labels))]


def embed_words(words: Int[np.ndarray, " row"], width: int) -> Float64[np.ndarray, "row width"]:
    """A fixed random vector for every word, the same in every store; −1 is no word."""
    types, index = np.unique(words, return_inverse=True)
    vectors = [np.random.default_rng(int(word) + 1).normal(size=width) for word in types]
    return np.array(vectors).reshape(len(types), width)[index]


def predict_without_vectors(
    labels: Marks, words: Int[np.ndarray, "target span"], tested: Int[np.ndarray, "_tested span"]
) -> Iterator[tuple[str, Int[np.ndarray, " _tested"]]]:
    """What BASELINES predict: the most frequent label, and that of the spans' last words, where these were seen."""
    most_frequent = int(labels.sum(0).argmax())
    types, index = np.unique(words, axis=0, return_inverse=True)
    counts = np.zeros((len(types), labels.shape[1]), int)
    np.add.at(counts, index.reshape(-1), labels)
    label_of = {tuple(key): label for key, label in zip(types, counts.argmax(1), strict=True)}
    yield MAJORITY, np.full(len(tested), most_frequent)
    yield IDENTITY, np.array([label_of.get(tuple(key), most_frequent) for key in tested], int)
