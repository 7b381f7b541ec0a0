"""What the probes of a task learn from: targets in three splits, with every control's labels."""

from dataclasses import replace

import numpy as np

from tprprobe.analyses.probing.batches import Examples
from tprprobe.analyses.probing.controls import (
    Labels,
    draw_labels,
    prefix_keys,
    shuffle_labels,
    type_keys,
)
from tprprobe.analyses.probing.settings import Settings
from tprprobe.analyses.probing.sides import DEV, TEST, TRAIN, Corpus
from tprprobe.analyses.probing.stacks import Material
from tprprobe.analyses.probing.targets import Targets, find_states, read_targets, with_inventory
from tprprobe.analyses.probing.tasks import Task
from tprprobe.errors import InputError


def prepare(task: Task, corpus: Corpus, test: Corpus | None, settings: Settings) -> Material:
    """The targets of a task for training, validation and testing.

    With a ``test`` corpus all its targets are the test, and documents that it has are not trained on.

    Raises:
        InputError: a split without targets, or softmax for targets of several labels.
    """
    targets, lost = _stated(read_targets(corpus.words, task), corpus, settings)
    split = corpus.split[targets.sample]
    if test is not None:
        known = np.isin(np.array(corpus.names, object), np.array(test.names, object))
        split = np.where(known[corpus.document[targets.sample]], TEST, split)
    for name in (TRAIN, DEV) if test is not None else (TRAIN, DEV, TEST):
        if not (split == name).any():
            raise InputError(
                f"no targets of {task.name} in the {name} documents on the {corpus.side} side: "
                "extract more samples"
            )
    training = targets.take(np.flatnonzero(split == TRAIN))
    inventory = [targets.inventory[i] for i in np.flatnonzero(training.labels.any(0))]
    if task.labels != "training":
        inventory = list(task.labels)
    whole = with_inventory(targets, inventory)
    reference = with_inventory(training, inventory).labels
    parts = [
        _examples(whole.take(np.flatnonzero(split == name)), corpus, reference, settings)
        for name in (TRAIN, DEV, TEST)
    ]
    if test is not None:
        others, more = _stated(read_targets(test.words, task), test, settings)
        parts[2] = _examples(with_inventory(others, inventory), test, reference, settings)
        lost += more
    if not len(parts[2]):
        raise InputError(f"no targets of {task.name} on the {corpus.side} side to test on")
    for part in parts:
        if settings.loss == "softmax" and (part.targets.labels.sum(1) > 1).any():
            raise InputError(f"targets of {task.name} have several labels: probe with loss sigmoid")
    return Material(parts[0], parts[1], parts[2], lost)


def _stated(targets: Targets, corpus: Corpus, settings: Settings) -> tuple[Targets, int]:
    """The targets all whose spans have states, and how many are lost."""
    states = find_states(targets, corpus.side, settings.mode(corpus.side), corpus.starts)
    kept = (states[..., 0] >= 0).all(1)
    return targets.take(np.flatnonzero(kept)), targets.lost + int((~kept).sum())


def _examples(targets: Targets, corpus: Corpus, reference: Labels, settings: Settings) -> Examples:
    states = find_states(targets, corpus.side, settings.mode(corpus.side), corpus.starts)
    marks = {
        "real": targets.labels,
        "control": draw_labels(type_keys(targets), reference, settings.seed),
        "prefix": draw_labels(prefix_keys(targets), reference, settings.seed),
        "shuffled": shuffle_labels(targets.labels, settings.seed),
    }
    return Examples(corpus, targets, states, marks, settings.window(corpus.side))


def first_samples(material: Material, n: int) -> Material:
    """What lies in the first samples only: all that an untrained twin's store has."""
    parts = (material.train, material.dev, material.test)
    return replace(
        material,
        **{
            name: part.take(np.flatnonzero(part.targets.sample < n))
            for name, part in zip((TRAIN, DEV, TEST), parts, strict=True)
        },
    )
