"""The probes of every vector, those of a task side by side: real labels, controls, portions for codelengths."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from tprprobe.analyses.probing.document_counts import REAL, Probe
from tprprobe.analyses.probing.labelled_words import Corpus
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.splits import Splits
from tprprobe.analyses.probing.task import Task
from tprprobe.analyses.probing.vectors import (
    Vector,
    control_vectors,
    joined_vectors,
    site_vectors,
)
from tprprobe.errors import InputError
from tprprobe.store import Store


@dataclass(frozen=True, eq=False)
class Stack:
    """Probes of one vector and task that are trained side by side, on the same splits."""

    probes: list[Probe]
    splits: Splits


def lay_out(
    corpus: Corpus,
    sites: Sequence[str],
    splits: Mapping[Task, Splits],
    settings: ProbeSettings,
    test: Store | None = None,
) -> Iterator[list[Stack]]:
    """The probes on one side of a store, a round a vector; those of a twin learn from the samples that it has read."""
    store, n, seed = corpus.store, settings.targets, settings.seed
    parts = {task: whole.learning_from(n, seed) for task, whole in splits.items()}
    real = list(site_vectors(store, sites, settings.heads))
    joined = list(joined_vectors(store, sites)) if settings.informs and not settings.heads else []
    for vector in [*real, *control_vectors(store, real, test, settings), *joined]:
        stacks: list[Stack] = []
        for task, whole in splits.items():
            part = parts[task]
            if vector.control in store.twins:
                part = _of_twin(store, vector.control, task, whole, settings)
            new = partial(Probe, task, corpus.side, vector, kind=settings.kind)
            if part is not None and vector not in joined:
                stacks.append(Stack(list(_probes(new, vector, settings)), part))
            if part is not None and vector.control == REAL and settings.informs and _is_coded(part):
                stacks += [
                    Stack([new(seed, REAL, "softmax", portion=portion)], some)
                    for portion, some in part.portions(seed)
                ]
        if stacks:
            yield stacks


def _of_twin(
    store: Store, kind: str, task: Task, whole: Splits, settings: ProbeSettings
) -> Splits | None:
    n = store.twins[kind].samples
    part = whole.of_first_samples(n)
    if part is None and settings.controls is not None:
        raise InputError(
            f"the {kind} twin has read the first {n} samples, which lack a split "
            f"of {task.name}: leave out that control"
        )
    return None if part is None else part.learning_from(settings.targets, settings.seed)


def _probes(new: partial[Probe], vector: Vector, settings: ProbeSettings) -> Iterator[Probe]:
    """The probes of a vector: for every seed, of the real labels and of others."""
    controls = [vector.control]
    if vector.control == REAL:
        controls += [name for name in ("control", "shuffled") if settings.has(name)]
        if settings.has("prefix") and (new.args[1] == "target" or settings.controls):
            controls.append("prefix")
    for seed in range(settings.seed, settings.seed + settings.seeds):
        yield from (new(seed, control, settings.loss_of_probes) for control in controls)


def _is_coded(splits: Splits) -> bool:
    """True if every target that is trained on has one label: then there is a codelength."""
    return bool((splits.examples.labels[splits.turns[0].train].sum(1) == 1).all())
