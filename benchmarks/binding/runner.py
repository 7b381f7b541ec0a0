"""The run: every cell, subject × method × seed, is measured once and kept; a run that was cut off goes on."""

import importlib
import pkgutil
import time
from collections.abc import Callable, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.binding import methods
from benchmarks.binding.scores import errors, fit, judge_edits, measure, total
from benchmarks.binding.structure import Method
from benchmarks.binding.subject import Case, Subject, draw
from benchmarks.binding.subjects import compiled, networks, planted, real
from tprprobe.errors import unknown
from tprprobe.files.runs import KeptRun, write_table

MANIFEST, VERSION = "benchmark.json", 1  # a change of subjects or scores is another version


def list_methods() -> dict[str, Method]:
    """The methods by name: the files of the folder."""
    names = sorted(found.name for found in pkgutil.iter_modules(methods.__path__))
    found: Any = {name: importlib.import_module(f"{methods.__name__}.{name}") for name in names}
    return found


def list_subjects(tpdn: Path | None = None, folder: Path | None = None) -> dict[str, Subject]:
    """The subjects by name; TPDN's GRUs and real models where their folders are given."""
    fixed, read = (*planted.SUBJECTS, *compiled.SUBJECTS), networks.list_subjects(tpdn)
    return {subject.name: subject for subject in (*fixed, *read, *real.list_subjects(folder))}


def choose(of: dict[str, Any], names: Sequence[str] | None, what: str) -> dict[str, Any]:
    """The named ones, or all."""
    for name in names or ():
        if name not in of:
            raise unknown(what, name, of)
    return {name: of[name] for name in names or of}


def run(
    out: Path,
    subjects: dict[str, Subject],
    used: dict[str, Method],
    seeds: int,
    report: Callable[[str], Any] = print,
) -> pd.DataFrame:
    """The cells, a row each; in ``out`` they are ``cells.csv``, and settings that were tried ``chosen.csv``."""
    kept = KeptRun.open(out, {"version": VERSION}, True, MANIFEST, MANIFEST)
    tuned = {name: _tune(kept, name, method) for name, method in used.items()}
    cells, begun = [], time.process_time()
    for seed, subject in product(range(seeds), subjects.values()):
        if seed and subject.family == "real":
            continue  # once: they are large
        case: Case | None = None
        for name, method in used.items():
            label = f"{subject.name}-{name}-{seed}".replace(" ", "_")
            if not (part := kept.part(label, dict)).is_done:
                case = case or draw(subject, seed)
                row = measure(case, method, _values(tuned[name], method), seed)
                facts = {"subject": subject.name, "family": subject.family, "method": name}
                cell = {"cell": pd.DataFrame([{**facts, "seed": seed, **row}])}
                (part := kept.part(label, lambda cell=cell: cell)).finish()
            cells.append(part.read("cell"))
        report(f"{subject.name}, seed {seed}: {time.process_time() - begun:.0f} s")
    table = pd.concat(cells, ignore_index=True)
    write_table(out / "cells.csv", table)
    write_table(out / "chosen.csv", pd.concat(tuned.values(), ignore_index=True))
    return table


def _tune(kept: KeptRun, name: str, method: Method) -> pd.DataFrame:
    """Every setting of a method's grid, its score on the validation subject, and which is chosen."""

    def make() -> dict[str, pd.DataFrame]:
        case = draw(planted.VALIDATION, 0)
        tried = [*product(*method.GRID.values())]
        values = [dict(zip(method.GRID, each, strict=True)) for each in tried]
        scores = [_score(case, method, each) if len(tried) > 1 else 0.0 for each in values]
        texts = [", ".join(f"{key} {value}" for key, value in each.items()) for each in values]
        found = pd.DataFrame({"method": name, "setting": texts, "score": scores})
        return {"chosen": found.assign(chosen=found.index == int(np.argmax(scores)))}

    part = kept.part(f"settings-{name}", make)
    part.finish()
    return part.read("chosen")


def _score(case: Case, method: Method, chosen: dict[str, Any]) -> float:
    """The mean of the primary score and the share of right edits."""
    fitted, swaps = fit(case, method, chosen, 0), case.swaps["seen"]
    found = [total(errors(case, method, fitted))]
    if fitted.swap:
        found.append(judge_edits(case, np.nan_to_num(fitted.swap(swaps)), swaps)[0])
    return float(np.mean(found))


def _values(table: pd.DataFrame, method: Method) -> dict[str, Any]:
    """The chosen setting, as the grid has it."""
    values = [*product(*method.GRID.values())][int(np.argmax(table["chosen"]))]
    return dict(zip(method.GRID, values, strict=True))
