"""Agreement of labels with gold labels of the same sentences: precision, recall and F1."""

from collections.abc import Sequence

import numpy as np

from tprprobe.gold.labels import Labelled, Target
from tprprobe.statistics import bounds, f1, group_sums, replicate_totals

REPLICATES = 1000


def compare_labels(
    labelled: Sequence[Labelled], gold: Sequence[Labelled], task: str, prefix: Sequence[str] = ()
) -> dict[str, float | int]:
    """precision, recall, f1 (with its 95 % interval over documents) of a task's targets.

    A target is right where the gold sentence has one of the same spans and label. ``labels_right`` is
    the share of right labels among targets whose spans are gold. Labels that begin with one of
    ``prefix`` are left out on both sides; a sentence without gold targets of the task counts.
    """
    documents = np.array([sentence.document for sentence in gold])
    counts = np.array(
        [_count(a, b, task, tuple(prefix)) for a, b in zip(labelled, gold, strict=True)], float
    )
    sums = group_sums(counts, documents)
    hit, false, missed, n_placed = sums.sum(0)
    low, high = bounds(f1(replicate_totals(sums[:, :3], REPLICATES)), len(sums))
    return {
        "precision": hit / max(1, hit + false),
        "recall": hit / max(1, hit + missed),
        "f1": float(f1(sums[:, :3].sum(0)[None])[0]),
        "f1_low": float(low),
        "f1_high": float(high),
        "labels_right": hit / max(1, n_placed),
        "given": int(hit + false),
        "gold": int(hit + missed),
        "documents": len(sums),
    }


def _count(labelled: Labelled, gold: Labelled, task: str, prefix: tuple[str, ...]) -> list[int]:
    predicted, expected = (_kept(sentence, task, prefix) for sentence in (labelled, gold))
    spans = {(target.span1, target.span2) for target in expected}
    hit = len(predicted & expected)
    n_placed = sum((target.span1, target.span2) in spans for target in predicted)
    return [hit, len(predicted) - hit, len(expected) - hit, n_placed]


def _kept(sentence: Labelled, task: str, prefix: tuple[str, ...]) -> set[Target]:
    targets = sentence.targets.get(task, ())
    return {t for t in targets if not (prefix and t.label.startswith(prefix))}
