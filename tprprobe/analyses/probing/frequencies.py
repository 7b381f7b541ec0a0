"""Baselines that read no vector: the commonest label, and the commonest label of the word."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from jaxtyping import Float, Int

from tprprobe.analyses.probing.controls import Labels
from tprprobe.analyses.probing.labelled_splits import Splits
from tprprobe.analyses.probing.tallies import ALL, TERMS, count
from tprprobe.analyses.probing.tasks import Task


@dataclass(frozen=True, eq=False)
class Baseline:
    """A baseline and its counts [subset, document, term] on the test targets, laid out as a probe's."""

    task: Task
    control: str
    sums: Float[np.ndarray, "subset document term"]
    subsets: tuple[str, ...]


def baselines(task: Task, splits: Splits) -> Iterator[Baseline]:
    """The majority label, and the majority label of the spans' last words."""
    train, test = splits.train, splits.test
    commonest = _commonest(train.targets.labels)
    yield _score(task, "majority", np.full(len(test), commonest), splits)
    known = {}
    keys, index = np.unique(train.targets.forms, axis=0, return_inverse=True)
    for key, label in zip(keys, _commonest_by(train.targets.labels, index), strict=True):
        known[tuple(key)] = label
    given = [known.get(tuple(key), commonest) for key in test.targets.forms]
    yield _score(task, "identity", np.array(given, int), splits)


def _commonest(labels: Labels) -> int:
    return int(labels.sum(0).argmax())


def _commonest_by(labels: Labels, index: np.ndarray) -> Int[np.ndarray, " key"]:
    counts = np.zeros((index.max() + 1, labels.shape[1]), int)
    np.add.at(counts, index.reshape(-1), labels)
    return counts.argmax(1)


def _score(task: Task, name: str, given: np.ndarray, splits: Splits) -> Baseline:
    test = splits.test
    logits = torch.full((1, *test.targets.labels.shape), -1.0)
    logits[0, torch.arange(len(given)), torch.from_numpy(given)] = 1.0
    marks = torch.from_numpy(test.targets.labels)[None].float()
    unseen = torch.from_numpy(test.targets.unseen)[None]
    scored = torch.tensor([task.is_scored(label) for label in test.targets.inventory])
    terms = count(logits, marks, unseen, scored, "sigmoid")[0].double().numpy()
    terms[:, TERMS.index("nats")] = np.nan  # a baseline gives no probabilities
    subsets = {ALL: np.ones(len(test), bool), **test.targets.subsets()}
    sums = np.zeros((len(subsets), len(test.corpus.names), len(TERMS)))
    document = test.corpus.document[test.targets.sample]
    for row, within in enumerate(subsets.values()):
        np.add.at(sums[row], document[within], terms[within])
    return Baseline(task, name, sums, tuple(subsets))
