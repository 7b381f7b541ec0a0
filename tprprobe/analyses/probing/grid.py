"""The grid: which probes a run trains, in stacks of one shape, in rounds that fit in memory."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from tprprobe.analyses.probing.batches import CHUNK
from tprprobe.analyses.probing.controls import LABELS
from tprprobe.analyses.probing.labelled_splits import Splits
from tprprobe.analyses.probing.probes import Shape
from tprprobe.analyses.probing.settings import Kind, Loss, ProbeSettings
from tprprobe.analyses.probing.sides import TRAIN, Corpus
from tprprobe.analyses.probing.tasks import Task
from tprprobe.analyses.probing.vectors import (
    Vector,
    dictionary_controls,
    joined_vectors,
    previous_words,
    site_vectors,
)
from tprprobe.errors import InputError
from tprprobe.store import Store

FLOAT = 4
STATES = 6  # parameters, three moments of Adam, the best so far, and a temporary
LOGITS = 5  # times the labels that a linear probe keeps for every target
COPIES = 3  # of a chunk's vectors: as read, stacked, standardized


@dataclass(frozen=True, eq=False)
class Probe:
    """A probe to be trained: the vector that it reads, its seed, and the labels that it learns.

    ``portion`` is the share of the training samples that it sees, where it is for a codelength.
    """

    task: Task
    vector: Vector
    seed: int
    control: str = "real"
    loss: Loss = "sigmoid"
    portion: float | None = None
    kind: Kind = "span-conv"

    @property
    def labels(self) -> str:
        """The name of the labels that it learns, ``real`` or a control."""
        return self.control if self.control in LABELS else "real"


@dataclass(frozen=True, eq=False)
class Piece:
    """Probes of one shape and task that are to be trained in one stack."""

    probes: tuple[Probe, ...]
    shape: Shape
    splits: Splits

    @property
    def corpus(self) -> Corpus:
        return self.splits.train.corpus

    @property
    def state_bytes(self) -> int:
        """Bytes that the probes take while they are trained."""
        return len(self.probes) * self.shape.parameters * STATES * FLOAT


def lay_out(
    corpus: Corpus,
    sites: Sequence[str],
    splits: Mapping[Task, Splits],
    settings: ProbeSettings,
    test: Store | None = None,
) -> list[list[Piece]]:
    """The probes of all tasks on one side of a store, in rounds.

    Those of an untrained twin learn from the samples that it has read, and are left out where these
    are not in all three splits, or where the store they are tested on has none.
    """
    store = corpus.store
    real = list(site_vectors(store, sites, settings.heads))
    others = list(_control_vectors(store, sites, real, settings))
    if test is not None and test.control is None:
        others = [vector for vector in others if vector.control != "untrained"]
    joined = [] if settings.heads else list(joined_vectors(store, sites))
    twin = store.control
    pieces: list[Piece] = []
    for task, whole in splits.items():
        probes = list(_probes(task, real, others, corpus.side, settings))
        trained = [probe for probe in probes if probe.control != "untrained"]
        pieces += _pieces(trained, whole, settings)
        if twin is not None and len(trained) < len(probes):
            few = whole.first_samples(twin.samples)
            if min(map(len, (few.train, few.dev, few.test))):
                untrained = [probe for probe in probes if probe.control == "untrained"]
                pieces += _pieces(untrained, few, settings)
            elif settings.controls is not None:
                raise InputError(
                    f"the untrained twin has read the first {twin.samples} samples, which lack a split "
                    f"of {task.name}: leave out that control"
                )
        if settings.informs and (whole.train.targets.labels.sum(1) == 1).all():
            for portion, part in whole.portions(settings.seed):
                coding = [
                    Probe(task, vector, settings.seed, "real", "softmax", portion, settings.kind)
                    for vector in [*real, *joined]
                ]
                pieces += _pieces(coding, part, settings)
    return _rounds(pieces, settings)


def _control_vectors(
    store: Store, sites: Sequence[str], real: Sequence[Vector], settings: ProbeSettings
) -> Iterator[Vector]:
    if settings.has("untrained") and store.control is not None:
        for vector in real:
            if vector.site in store.control.sites:
                yield replace(vector, control="untrained")
    elif settings.controls is not None and "untrained" in settings.controls:
        raise InputError(f"{store.path} has no untrained twin: leave out that control")
    if settings.has("previous"):
        yield previous_words(max(vector.width for vector in real))
    if settings.has("dictionary") and not settings.heads:
        stems = {site.rpartition(".")[0] for site in sites}
        weights = [s for s in store.sites if s.endswith(".role_weights") and s[:-13] in stems]
        yield from dictionary_controls(store, weights, settings.seed)


def _probes(
    task: Task, real: Sequence[Vector], others: Sequence[Vector], side: str, settings: ProbeSettings
) -> Iterator[Probe]:
    names, loss, kind = ["real"], settings.loss_of_probes, settings.kind
    names += [name for name in ("control", "shuffled") if settings.has(name)]
    if settings.has("prefix") and (side == "target" or settings.controls):
        names.append("prefix")
    for seed in range(settings.seed, settings.seed + settings.seeds):
        for name in names:
            yield from (Probe(task, vector, seed, name, loss, kind=kind) for vector in real)
        for vector in others:
            yield Probe(task, vector, seed, vector.control, loss, kind=kind)


def _pieces(probes: Sequence[Probe], splits: Splits, settings: ProbeSettings) -> Iterator[Piece]:
    """Pieces of one shape, whose weights take at most half of the budget."""
    by_width: dict[int, list[Probe]] = {}
    for probe in probes:
        by_width.setdefault(probe.vector.width, []).append(probe)
    task, labels = probes[0].task, len(splits.train.targets.inventory)
    for width, some in by_width.items():
        shape = Shape(width, task.spans, labels, settings.kernel, settings.hidden)
        size = max(1, settings.budget // 2 // _probe_bytes(shape, splits))
        order = {probe.vector: place for place, probe in enumerate(some)}
        some.sort(key=lambda probe: order[probe.vector])  # those of one vector together
        for start in range(0, len(some), size):
            yield Piece(tuple(some[start : start + size]), shape, splits)


def _probe_bytes(shape: Shape, splits: Splits) -> int:
    """Bytes of one probe in training: its weights, and of a linear one what all its targets read."""
    if shape.hidden:
        return FLOAT * STATES * shape.parameters
    inputs = shape.spans * shape.kernel * shape.width
    per_target = 2 * inputs + LOGITS * shape.labels
    return FLOAT * (len(splits.train) * per_target + shape.parameters)


def _rounds(pieces: Sequence[Piece], settings: ProbeSettings) -> list[list[Piece]]:
    """Rounds of pieces whose weights and vectors of one chunk take at most half of the budget."""
    rounds: list[list[Piece]] = []
    held: set[Vector] = set()
    taken = 0
    for piece in pieces:
        new = {probe.vector for probe in piece.probes} - held
        more = piece.state_bytes + sum(chunk_bytes(piece.corpus, v) for v in new)
        if not rounds or taken + more > settings.budget // 2:
            rounds.append([])
            held, taken = set(), 0
            new = {probe.vector for probe in piece.probes}
            more = piece.state_bytes + sum(chunk_bytes(piece.corpus, v) for v in new)
        rounds[-1].append(piece)
        held |= new
        taken += more
    return rounds


def chunk_bytes(corpus: Corpus, vector: Vector) -> int:
    """Bytes of a vector's rows in a chunk of samples."""
    rows = len(corpus.first) / max(1, corpus.store.samples)
    return int(min(CHUNK, corpus.store.samples) * rows * vector.width * FLOAT * COPIES)


def training_samples(corpus: Corpus) -> np.ndarray:
    """The samples of the documents that are trained on."""
    return np.flatnonzero(corpus.split == TRAIN)
