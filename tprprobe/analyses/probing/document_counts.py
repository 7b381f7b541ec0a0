"""Counts by document: what probes give their test targets, and what needs no vector."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.analyses.probing.examples import LABELS, Examples, Places, Splits
from tprprobe.analyses.probing.inputs import Reader, Shape, Vector
from tprprobe.analyses.probing.labelled_words import Marks
from tprprobe.analyses.probing.settings import BASELINES, HIDDEN, Kind, Loss
from tprprobe.analyses.probing.task import Task

TERMS = ("hit", "false", "missed", "right", "n", "nats")
CURVE = ("step", "train_loss", "held_out_loss")
NATS = TERMS.index("nats")
REAL = "real"
PLACE = ("task", "side", "site", "layer", "head", "seed", "control")
KEY = ("task", "side", "site", "head", "seed", "control")  # of a vector

BySubset = Float[np.ndarray, "subset document term"]
Curves = list[list[tuple[int, float, float]]]  # by probe and validation


@dataclass(frozen=True, eq=False)
class Probe:
    """A probe to be trained: the vector that it reads, the examples, its seed, and the labels that it learns.

    ``portion`` is the share of the training samples that it sees, where it is for a codelength.
    """

    vector: Vector
    splits: Splits
    seed: int
    control: str
    loss: Loss
    kind: Kind
    portion: float | None = None

    @property
    def labels(self) -> str:
        """The name of the labels that it learns, ``real`` or a control."""
        return self.control if self.control in LABELS else REAL

    @property
    def shape(self) -> Shape:
        """The shape of its weights."""
        task, examples = self.splits.task, self.splits.examples
        hidden = 0 if self.kind == "linear" else HIDDEN
        sizes = (self.vector.width, task.spans, len(examples.inventory), len(examples.window))
        return Shape(*sizes, hidden)


@dataclass(frozen=True, eq=False)
class Tested:
    """A probe that has been trained: its test sums, and of every validation the CURVE.

    ``weights`` by name, which are not read again, are those for (vector − ``mean``) / ``scale``; their first axis is of one probe.
    """

    probe: Probe
    sums: BySubset
    curve: Float[np.ndarray, "validation 3"]
    weights: Mapping[str, Tensor] = field(default_factory=dict)

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        return float(self.sums[0, :, NATS].sum())

    @property
    def place(self) -> dict[str, Any]:
        """The columns that name its row."""
        probe, vector = self.probe, self.probe.vector
        values = (*probe.splits.name, vector.site, vector.layer, vector.head, probe.seed)
        return dict(zip(PLACE, (*values, probe.control), strict=True))


def list_tested(
    probes: Sequence[Probe],
    sums: Float[np.ndarray, "probe subset document term"],
    curves: Curves,
    weights: Mapping[str, Tensor],
    reader: Reader,
) -> list[Tested]:
    """Probes of a reader's vectors as they were trained together and tested; ``weights`` are of all."""
    scaling = {"mean": reader.mean, "scale": reader.scale}
    common = {name: torch.as_tensor(x).expand(reader.vector.width) for name, x in scaling.items()}
    tested = []
    for i, probe in enumerate(probes):
        of_probe = {name: weight[i : i + 1] for name, weight in weights.items()}
        curve = np.array(curves[i], float).reshape(-1, len(CURVE))
        tested.append(Tested(probe, sums[i], curve, {**of_probe, **common}))
    return tested


def losses(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    loss: Loss,
) -> Float[Tensor, "probe target"]:
    """The loss of every target in nats: cross-entropy averaged over labels, or of the softmax."""
    if loss == "sigmoid":
        by_label = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, marks, reduction="none"
        )
        return by_label.mean(-1)
    shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
    return -(shares * logits.log_softmax(-1)).sum(-1)


def labels_of(
    probes: Sequence[Probe], examples: Examples, chosen: Places | slice, device: torch.device
) -> Float[Tensor, "probe target label"]:
    """The labels that probes should give some examples."""
    named = {name: examples.marks[name][chosen] for name in {probe.labels for probe in probes}}
    marks = np.stack([named[probe.labels] for probe in probes])
    return torch.from_numpy(marks).to(device).float()


def count(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    unseen: Int[Tensor, "probe target"],
    scored: Bool[Tensor, " label"],
    loss: Loss,
) -> Float[Tensor, "probe target term"]:
    """The counts TERMS of every target.

    A label is given where its logit is at least 0, of a softmax the highest one is; ``right`` are
    targets whose highest label is one of theirs. Source: jiant, AllenNLP's F1Measure.
    """
    highest = logits.argmax(-1, keepdim=True)
    gold = marks > 0
    counted = gold & scored
    wanted, is_gold = counted.sum(-1), gold.gather(-1, highest).squeeze(-1)
    if loss == "softmax":
        hit = counted.gather(-1, highest).squeeze(-1).long()
        false = scored[highest.squeeze(-1)] & ~is_gold
    else:
        positive = logits >= 0
        hit = (positive & counted).sum(-1)
        false = (positive & ~gold & scored).sum(-1)
    missed = wanted - hit + unseen
    asked = (wanted > 0) | (unseen > 0)
    right = is_gold & (wanted > 0)
    nats = losses(logits, marks, loss)
    return torch.stack([hit, false, missed, right, asked, nats], -1)


def count_probes(
    probes: Sequence[Probe],
    logits: Float[Tensor, "probe target label"],
    examples: Examples,
    chosen: Places,
) -> Float[np.ndarray, "probe target term"]:
    """The counts of what probes of one task give some examples; only real labels can be new."""
    device = logits.device
    is_real = np.array([probe.labels == REAL for probe in probes])
    unseen = torch.from_numpy(is_real[:, None] * examples.unseen[chosen]).to(device)
    scored = _scored(probes[0].splits.task, examples).to(device)
    marks = labels_of(probes, examples, chosen, device)
    return count(logits, marks, unseen, scored, probes[0].loss).double().cpu().numpy()


def _scored(task: Task, examples: Examples) -> Bool[Tensor, " label"]:
    return torch.tensor([task.is_scored(label) for label in examples.inventory])


def sum_documents(
    terms: Float[np.ndarray, "target term"],
    examples: Examples,
    chosen: Places | slice = slice(None),
) -> BySubset:
    """The counts of some examples by document: of all, then of their subsets."""
    document, n = examples.document[chosen], len(examples.corpus.names)
    subsets = [np.ones(len(terms), bool), *(x[chosen] for x in examples.subsets().values())]
    sums = [
        [np.bincount(document[inside], column[inside], n) for column in terms.T]
        for inside in subsets
    ]
    return np.array(sums).transpose(0, 2, 1)


def baselines(splits: Splits) -> dict[str, BySubset]:
    """The counts of the majority label, and of the majority label of the spans' last words; they give no probabilities."""
    sums: dict[str, list[BySubset]] = {name: [] for name in BASELINES}
    for turn in splits.turns:
        labels, forms = (x[turn.train] for x in (splits.examples.labels, splits.examples.forms))
        commonest = int(labels.sum(0).argmax())
        keys, index = np.unique(forms, axis=0, return_inverse=True)
        counts = np.zeros((len(keys), labels.shape[1]), int)
        np.add.at(counts, index.reshape(-1), labels)
        known = {tuple(key): label for key, label in zip(keys, counts.argmax(1), strict=True)}
        asked = splits.tested.forms[turn.test]
        by_word = np.array([known.get(tuple(key), commonest) for key in asked], int)
        for name, guess in zip(BASELINES, (np.full(len(asked), commonest), by_word), strict=True):
            sums[name].append(_count_guess(splits, guess, turn.test))
    return {name: np.sum(parts, axis=0) for name, parts in sums.items()}


def _count_guess(splits: Splits, guess: Int[np.ndarray, " target"], chosen: Places) -> BySubset:
    examples = splits.tested
    labels = torch.from_numpy(examples.labels[chosen])[None].float()
    logits = torch.full_like(labels, -1.0)
    logits[0, torch.arange(len(guess)), torch.from_numpy(guess)] = 1.0
    unseen = torch.from_numpy(examples.unseen[chosen])[None]
    scored = _scored(splits.task, examples)
    terms = count(logits, labels, unseen, scored, "sigmoid")[0].double().numpy()
    terms[:, NATS] = np.nan
    return sum_documents(terms, examples, chosen)


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
        splits = whole.probe.splits
        labels, turn, n_labels = (
            splits.examples.labels,
            splits.turns[0],
            len(splits.examples.inventory),
        )
        first = min(len(one.probe.splits.turns[0].train) for one in (*parts, whole))
        length = codelength(first, n_labels, [one.nats for one in parts])
        prior = constant_bits(labels[turn.train], splits.tested.labels[turn.test])
        yield dict(zip(KEY, key, strict=True)) | {
            "codelength": length,
            "compression": compression(length, len(turn.train), n_labels),
            "information": prior - bits[key],
            "added": _added(key, bits),
        }


def _bits(whole: Tested) -> float:
    """The bits that a test target costs."""
    splits = whole.probe.splits
    asked = splits.tested.labels[splits.turns[0].test].any(1).sum()
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
