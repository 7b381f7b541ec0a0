"""The run: every cell, subject × method × seed, is measured once and kept; a run that was cut off goes on."""

import importlib
import pkgutil
import time
from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import typer

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
    names = sorted(module.name for module in pkgutil.iter_modules(methods.__path__))
    modules: Any = {name: importlib.import_module(f"{methods.__name__}.{name}") for name in names}
    return modules


def list_subjects(tpdn: Path = Path(), models: Path = Path()) -> dict[str, Subject]:
    """The subjects by name; those that need TPDN's GRUs or real models read the folders when they are drawn."""
    fixed = (*planted.SUBJECTS, *compiled.SUBJECTS, *networks.SUBJECTS)
    every = (*fixed, *networks.list_grus(tpdn), *real.list_subjects(models))
    return {subject.name: subject for subject in every}


def choose(options: dict[str, Any], names: Sequence[str] | None, kind: str) -> dict[str, Any]:
    """The named ones, or all."""
    for name in names or ():
        if name not in options:
            raise unknown(kind, name, options)
    return {name: options[name] for name in names or options}


def run(
    out: Path,
    subjects: dict[str, Subject],
    selected_methods: dict[str, Method],
    seeds: int,
) -> pd.DataFrame:
    """The cells, a row each; in ``out`` they are ``cells.csv``, and settings that were tried ``chosen.csv``."""
    run_folder = KeptRun.open(out, {"version": VERSION}, True, MANIFEST, MANIFEST)
    tuned = {name: _tune(run_folder, name, method) for name, method in selected_methods.items()}
    draws = [(s, seed) for seed in range(seeds) for s in subjects.values() if not seed or s.family != "real"]  # fmt: skip
    cells, begun, draw_once = [], time.process_time(), cache(draw)
    for subject, seed in draws:
        draw_once.cache_clear()
        for name, method in selected_methods.items():
            facts = {"subject": subject.name, "family": subject.family, "method": name}
            setting = _settings(method)[int(np.argmax(tuned[name]["chosen"]))]
            make = partial(_cell, partial(draw_once, subject, seed), method, setting, seed, facts)
            job = run_folder.part(f"{subject.name}-{name}-{seed}".replace(" ", "_"), make)
            job.finish()
            cells.append(job.read("cell"))
        typer.echo(f"{subject.name}, seed {seed}: {time.process_time() - begun:.0f} s", err=True)
    table = pd.concat(cells, ignore_index=True)
    write_table(out / "cells.csv", table)
    write_table(out / "chosen.csv", pd.concat(tuned.values(), ignore_index=True))
    return table


def _cell(case: Any, method: Method, setting: Any, seed: int, facts: Any) -> Any:
    return {"cell": pd.DataFrame([facts | {"seed": seed} | measure(case(), method, setting, seed)])}


def _settings(method: Method) -> list[dict[str, Any]]:
    return [
        dict(zip(method.GRID, choice, strict=True)) for choice in product(*method.GRID.values())
    ]


def _tune(run_folder: KeptRun, name: str, method: Method) -> pd.DataFrame:
    """Every setting of a method's grid, its score on the validation subject, and which is chosen."""

    def make() -> dict[str, pd.DataFrame]:
        case, settings = draw(planted.VALIDATION, 0), _settings(method)
        scores = [_score(case, method, s) if len(settings) > 1 else 0.0 for s in settings]
        texts = [", ".join(f"{key} {value}" for key, value in s.items()) for s in settings]
        frame = pd.DataFrame({"method": name, "setting": texts, "score": scores})
        return {"chosen": frame.assign(chosen=frame.index == int(np.argmax(scores)))}

    job = run_folder.part(f"settings-{name}", make)
    job.finish()
    return job.read("chosen")


def _score(case: Case, method: Method, setting: dict[str, Any]) -> float:
    """The mean of the primary score and the share of right edits."""
    scheme, swaps = case.structure.scheme, case.swaps["seen"]
    model = fit(case, method, setting, 0, scheme)
    scores = [total(errors(case, method.PRIMARY, model, scheme))]
    if model.swap:
        scores.append(judge_edits(case, np.nan_to_num(model.swap(swaps)), swaps)[0])
    return float(np.mean(scores))
