"""Control labels of targets: labels that vectors cannot know, to compare scores with."""

import numpy as np
from jaxtyping import Bool, Float64, Int

from tprprobe.analyses.probing.targets import Targets

Keys = Int[np.ndarray, "target key"]
Labels = Bool[np.ndarray, "target label"]
LABELS = ("control", "prefix", "shuffled")  # the controls that are other labels


def control_labels(
    targets: Targets, reference: Bool[np.ndarray, "_reference label"], seed: int
) -> dict[str, Labels]:
    """The labels of the targets by the control that they belong to; ``real`` are the given ones.

    A label of ``control`` is drawn for what the last word of every span says, one of ``prefix`` for
    that word and the one before the span, which is all of it that a decoder's state has read.
    """
    pairs = np.concatenate([targets.forms, targets.before], axis=1)
    return {
        "real": targets.labels,
        "control": draw_labels(targets.forms, reference, seed),
        "prefix": draw_labels(pairs, reference, seed),
        "shuffled": targets.labels[np.random.default_rng(seed).permutation(len(targets))],
    }


def draw_labels(keys: Keys, labels: Bool[np.ndarray, "_reference label"], seed: int) -> Labels:
    """A label for every target, drawn once a key from the distribution of ``labels``.

    A key's draw depends on it and the seed only, so that it is the same in every store.
    Source: Hewitt and Liang 2019, control tasks.
    """
    ordered = np.argsort(labels.argmax(1), kind="stable")
    drawn = (_uniform(keys, seed) * len(labels)).astype(int)
    return labels[ordered[drawn]]


def _uniform(keys: Keys, seed: int) -> Float64[np.ndarray, " target"]:
    """A number in [0, 1) for every key: splitmix64 over its parts."""
    state = np.full(len(keys), seed, np.uint64)
    for part in keys.T.astype(np.uint64):
        state = (state ^ part) + np.uint64(0x9E3779B97F4A7C15)
        for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
            state = (state ^ (state >> np.uint64(shift))) * np.uint64(factor)
        state ^= state >> np.uint64(31)
    return (state >> np.uint64(11)).astype(np.float64) / 2**53
