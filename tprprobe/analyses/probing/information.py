"""What vectors tell of labels in bits: codelength, compression, usable information."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Bool

from tprprobe.analyses.probing.document_counts import KEY, Tested
from tprprobe.analyses.probing.examples import Marks


def measure_information(tested: Sequence[Tested]) -> Iterator[dict[str, Any]]:
    """Codelength, compression and usable information (bits a target) of every vector.

    ``information`` is H_V(label) − H_V(label | vector) on the test targets, ``added`` what the vector adds to the
    other one of its sub-layer, H_V(label | other) − H_V(label | both), both relative to this family of probes.
    Source: Xu et al. 2020; Hewitt et al. 2021.
    """
    by_vector: dict[tuple[Any, ...], list[Tested]] = {}
    for one in sorted(tested, key=lambda one: one.probe.portion or 0.0):
        if one.probe.portion is not None:
            by_vector.setdefault(tuple(one.place[name] for name in KEY), []).append(one)
    bits = {key: _bits(whole) for key, (*_, whole) in by_vector.items()}
    for key, (*parts, whole) in by_vector.items():
        if "+" in key[2]:
            continue
        examples, turn = whole.splits.examples, whole.splits.turns[0]
        n_labels = len(examples.inventory)
        first = min([*parts, whole], key=lambda one: one.n_train).n_train
        length = codelength(first, n_labels, [one.nats for one in parts])
        prior = constant_bits(examples.labels[turn.train], whole.splits.tested.labels[turn.test])
        yield dict(zip(KEY, key, strict=True)) | {
            "codelength": length,
            "compression": compression(length, whole.n_train, n_labels),
            "information": prior - bits[key],
            "added": _added(key, bits),
        }


def _bits(whole: Tested) -> float:
    """The bits that a test target costs."""
    asked = whole.splits.tested.labels[whole.splits.turns[0].test].any(1).sum()
    return whole.nats / np.log(2) / max(1, asked)


def _added(key: tuple[Any, ...], bits: Mapping[tuple[Any, ...], float]) -> float:
    stem, _, kind = str(key[2]).rpartition(".")
    other = {"role": "filler", "filler": "role"}.get(kind)
    one, both = ((*key[:2], f"{stem}.{name}", *key[3:]) for name in (other, "role+filler"))
    return bits[one] - bits[both] if one in bits and both in bits else np.nan


def codelength(first: int, n_labels: int, nats: Sequence[float]) -> float:
    """The bits of all labels, coded portion by portion: t_1 log2 K − Σ_i log2 p_i(portion i + 1) (Voita and Titov 2020)."""
    return first * np.log2(n_labels) + sum(nats) / np.log(2)


def compression(bits: float, n_targets: int, n_labels: int) -> float:
    """The compression n log2 K / bits, which is 1 for a uniform predictor."""
    return n_targets * np.log2(n_labels) / bits


def constant_bits(training: Marks, tested: Bool[np.ndarray, "_tested label"]) -> float:
    """The bits a target that the label shares of the training data (one added to each count) cost."""
    shares = (training.sum(0) + 1) / (training.sum() + training.shape[1])
    known = tested[tested.any(1)]
    return float(-(known @ np.log2(shares) / known.sum(1)).mean())
