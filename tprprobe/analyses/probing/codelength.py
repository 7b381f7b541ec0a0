"""Online codelength and usable information, in bits, from probes that end in a softmax."""

from collections.abc import Sequence

import numpy as np
from jaxtyping import Bool

from tprprobe.analyses.probing.controls import Labels


def codelength(first: int, n_labels: int, nats: Sequence[float]) -> float:
    """The bits of all labels, coded portion by portion: t_1 log2 K − Σ_i log2 p_i(portion i + 1).

    The ``first`` targets take the uniform code; ``nats`` are the sums of −ln p of every later
    portion by the probe that has been trained on those before. Source: Voita and Titov 2020.
    """
    return first * np.log2(n_labels) + sum(nats) / np.log(2)


def compression(bits: float, n_targets: int, n_labels: int) -> float:
    """The compression n log2 K / bits, which is 1 for a uniform predictor."""
    return n_targets * np.log2(n_labels) / bits


def constant_bits(training: Labels, tested: Bool[np.ndarray, "_tested label"]) -> float:
    """The bits a target that the label shares of the training data (one added to each count) cost."""
    shares = (training.sum(0) + 1) / (training.sum() + training.shape[1])
    known = tested[tested.any(1)]
    return float(-(known @ np.log2(shares) / known.sum(1)).mean())
