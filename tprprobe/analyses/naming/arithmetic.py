"""Names of clusters of arithmetic, beside controls, by the plug-in that reads arithmetic."""

import os
from collections.abc import Sequence
from typing import Any

from tprprobe.evaluation.runner import Progress
from tprprobe.gold.structure import find_structure
from tprprobe.store import Store


def name_all(
    store: Store,
    patterns: str | Sequence[str] = "encoder.*.self.role",
    k: int | Sequence[int] = 20,
    raw: bool = False,
    seed: int = 0,
    baseline: Store | None = None,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    projections: int | None = None,
) -> Any:
    """The names of all clusters of every head of the sites that match, and of their controls.

    Source: schlag §5.1 (k = 20, one head, raw, by eye).

    Args:
        store: A store of arithmetic questions.
        patterns: Sites to cluster, as patterns; default: encoder.*.self.role of arithmetic; of words *.role, else *.hidden.
        k: Numbers of clusters; default: 20.
        raw: Cluster raw vectors, without standardizing dimensions.
        seed: Seed of random choices.
        baseline: A store of a Transformer on the same questions, as a baseline.
        out: A new folder for the long table, the labels, the samples that names are measured on (``held_out.csv``) and, until then, the parts of the run.
        resume: Resume an interrupted run.
        progress: What shows the parts of the run as they are done.
        projections: How many random projections of LN(z) are a control; default: as many as there are heads.
    """
    arguments = (store, patterns, k, raw, seed, baseline, out, resume, progress, projections)
    return find_structure().name_all(*arguments)


def load_names(folder: str | os.PathLike[str]) -> Any:
    """The result of a finished run of :func:`name_all`, read from its folder."""
    return find_structure().load_names(folder)
