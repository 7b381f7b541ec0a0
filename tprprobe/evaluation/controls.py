"""Controls: labels and features that hold nothing, or less, of what is asked; rules that need no vector.

A control keeps what the real thing has by itself (how often a label occurs, which words a sequence has) and loses the
relation that is tested.
"""

from collections.abc import Iterator
from operator import itemgetter

import numpy as np
from jaxtyping import Bool, Float64, Int

from tprprobe.evaluation.metrics import Marks

REAL = "real"  # the control of a row that is none, in views and options
MAJORITY, IDENTITY = "majority", "identity"
BASELINES = (MAJORITY, IDENTITY)  # rules that need no vector
CONTROLS = {  # what each is, in words
    "permuted": "baseline model (permuted weights)",
    "untrained": "baseline model (untrained)",
    "static": "input embeddings",
    "previous": "a random vector for the word before",
    MAJORITY: "most frequent label",
    IDENTITY: "most frequent label of the word",
    "control": "control task (random labels)",
    "prefix": "random labels of a word and the one before",
    "shuffled": "shuffled labels",
}


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
    """What BASELINES predict: the most frequent label, and that of the spans' last words.

    A pair of words that was never seen has the label of one of them, and unseen words the most frequent label.
    """
    most_frequent = np.full(len(tested), labels.sum(0).argmax(), int)
    yield MAJORITY, most_frequent
    spans = list(range(words.shape[1]))
    lookups = [_look_up(labels, words[:, [i]], tested[:, [i]]) for i in spans if len(spans) > 1]
    lookups.append(_look_up(labels, words, tested))
    predictions = most_frequent
    for _, codes in sorted(lookups, key=itemgetter(0)):  # pairs are right at least as often
        predictions = np.where(codes >= 0, codes, predictions)
    yield IDENTITY, predictions


def _look_up(
    labels: Marks, words: Int[np.ndarray, "target span"], tested: Int[np.ndarray, "_tested span"]
) -> tuple[int, Int[np.ndarray, " _tested"]]:
    """How many labels are the most frequent one of their words, and that of the tested words; −1 is unseen."""
    types, index = np.unique(words, axis=0, return_inverse=True)
    counts = np.zeros((len(types), labels.shape[1]), int)
    np.add.at(counts, index.reshape(-1), labels)
    label_of = {tuple(key): label for key, label in zip(types, counts.argmax(1), strict=True)}
    codes = np.array([label_of.get(tuple(key), -1) for key in tested], int)
    return int(counts.max(1).sum()), codes
