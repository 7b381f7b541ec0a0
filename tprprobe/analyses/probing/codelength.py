"""Online codelength and usable information, in bits, from probes that end in a softmax."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from jaxtyping import Bool

from tprprobe.analyses.probing.controls import Labels
from tprprobe.analyses.probing.stacks import Material

FRACTIONS = (0.001, 0.002, 0.004, 0.008, 0.016, 0.032, 0.0625, 0.125, 0.25, 0.5, 1.0)


def portions(material: Material, seed: int) -> Iterator[tuple[float, Material]]:
    """The training portions that double, each tested on what the next one adds.

    The last is all training samples, tested on the test samples. Portions are cut by sample, in one
    random order; those that would be the same as the one before are left out.
    Source: Voita and Titov 2020, online coding.
    """
    samples = np.random.default_rng([1, seed]).permutation(material.train.samples)
    sizes = sorted({max(1, round(fraction * len(samples))) for fraction in FRACTIONS})
    for size, following in zip(sizes, [*sizes[1:], None], strict=True):
        test = material.test
        if following is not None:
            test = material.train.of(samples[size:following])
        train = material.train.of(samples[:size])
        yield size / len(samples), replace(material, train=train, test=test)


def codelength(first: int, n_labels: int, nats: Sequence[float]) -> float:
    """t_1 log2 K − Σ_i log2 p_i(portion i + 1): bits of all labels, coded portion by portion.

    The ``first`` targets take the uniform code; ``nats`` are the sums of −ln p of every later
    portion by the probe that has been trained on those before. Source: Voita and Titov 2020.
    """
    return first * np.log2(n_labels) + sum(nats) / np.log(2)


def compression(bits: float, n_targets: int, n_labels: int) -> float:
    """n log2 K / bits: 1 for a uniform predictor."""
    return n_targets * np.log2(n_labels) / bits


def constant_bits(training: Labels, tested: Bool[np.ndarray, "_tested label"]) -> float:
    """Bits a target of the constant model: −mean log2 of the training shares (plus one)."""
    shares = (training.sum(0) + 1) / (training.sum() + training.shape[1])
    known = tested[tested.any(1)]
    return float(-(known @ np.log2(shares) / known.sum(1)).mean())
