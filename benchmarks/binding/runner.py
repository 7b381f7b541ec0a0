"""The run: every cell, subject × method × seed, is measured once and kept; a run that was cut off goes on."""

import importlib
import pkgutil
import time
from collections.abc import Sequence
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
from tprprobe.files.runs import KeptRun, Part, write_table

MANIFEST, VERSION = "benchmark.json", 1  # a change of subjects or scores is another version


def list_methods() -> dict[str, Method]:
    """The methods by name: the files of the folder."""
    names = sorted(found.name for found in pkgutil.iter_modules(methods.__path__))
    return {name: importlib.import_module(f"{methods.__name__}.{name}") for name in names}  # type: ignore[misc]


def list_subjects(tpdn: Path | None = None, folder: Path | None = None) -> dict[str, Subject]:
    """The subjects by name; those of TPDN's weights and of real models where their folders are given."""
    groups = (
        planted.SUBJECTS,
        compiled.SUBJECTS,
        networks.list_subjects(tpdn),
        real.list_subjects(folder),
    )
    return {subject.name: subject for group in groups for subject in group}


def choose(of: dict[str, Any], names: Sequence[str] | None, what: str) -> dict[str, Any]:
    """The named ones, or all."""
    for name in names or ():
        if name not in of:
            raise unknown(what, name, of)
    return of if not names else {name: of[name] for name in names}


def run(
    out: Path,
    subjects: dict[str, Subject],
    of_methods: dict[str, Method],
    seeds: int,
    report: Any = print,
) -> pd.DataFrame:
    """The cells, a row each, and in ``out`` the tables ``cells.csv`` and ``chosen.csv``."""
    kept = KeptRun.open(out, {"version": VERSION}, True, MANIFEST, MANIFEST)
    tuned = {name: _tune(kept, name, method) for name, method in of_methods.items()}
    rows, begun = [], time.process_time()
    for seed, subject in product(range(seeds), subjects.values()):
        if seed and subject.family == "real":
            continue  # once: they are large
        case: Case | None = None
        for name, method in of_methods.items():
            part = _cell(kept, subject, name, seed)
            if not part.is_done:
                case = case or draw(subject, seed)
                chosen = _values(tuned[name], method)
                row = measure(case, method, chosen, seed)
                facts = {
                    "subject": subject.name,
                    "family": subject.family,
                    "method": name,
                    "seed": seed,
                }
                Part(part.folder, lambda row=facts | row: {"cell": pd.DataFrame([row])}).finish()
            rows.append(part.read("cell"))
        report(f"{subject.name}, seed {seed}: {time.process_time() - begun:.0f} s")
    cells = pd.concat(rows, ignore_index=True)
    write_table(out / "cells.csv", cells)
    write_table(out / "chosen.csv", pd.concat(tuned.values(), ignore_index=True))
    return cells


def _cell(kept: KeptRun, subject: Subject, method: str, seed: int) -> Part:
    name = f"{subject.name}-{method}-{seed}".replace(" ", "_").replace("*", "x")
    return kept.part(name, dict)


def _tune(kept: KeptRun, name: str, method: Method) -> pd.DataFrame:
    """Every setting of a method's grid, with its score on the validation subject, and which is chosen."""

    def make() -> dict[str, pd.DataFrame]:
        case, rows = draw(planted.VALIDATION, 0), []
        settings = [
            dict(zip(method.GRID, values, strict=True)) for values in product(*method.GRID.values())
        ]
        for chosen in settings if len(settings) > 1 else ():
            text = ", ".join(f"{key} {value}" for key, value in chosen.items())
            rows.append({"method": name, "setting": text, "score": _score(case, method, chosen)})
        found = pd.DataFrame(rows or [{"method": name, "setting": "", "score": np.nan}])
        return {
            "chosen": found.assign(
                chosen=found.index == (int(found["score"].argmax()) if rows else 0)
            )
        }

    part = kept.part(f"settings-{name}", make)
    part.finish()
    return part.read("chosen")


def _score(case: Case, method: Method, chosen: dict[str, Any]) -> float:
    """The mean of the primary score and the share of right edits."""
    fitted = fit(case, method, chosen, 0)
    found = [total(errors(case, method, fitted))]
    if fitted.swap:
        edited = fitted.swap(case.swaps["seen"])
        found.append(judge_edits(case, np.nan_to_num(edited), case.swaps["seen"])[0])
    return float(np.mean(found))


def _values(table: pd.DataFrame, method: Method) -> dict[str, Any]:
    """The chosen values, as the grid has them."""
    at = int(np.flatnonzero(table["chosen"])[0])
    values = [*product(*method.GRID.values())][at] if method.GRID else ()
    return dict(zip(method.GRID, values, strict=True))
