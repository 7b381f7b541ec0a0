"""The tables of a study: three CSV files of its finished runs, readable without weights."""

import os
from dataclasses import dataclass
from functools import cached_property
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file
from tprprobe.training.logs import read_log

PLAN, ANSWERS, TEST = "plan.json", "answers.json", "test.parquet"
FILES = ("runs.csv", "curves.csv", "questions.csv")
WATCHED = ("loss", "exact_match", "held_out_loss")


@dataclass(frozen=True, eq=False)
class Study:
    """The results of a study's finished runs.

    ``runs`` (a row per run): run, variant, seed, parameters, gigaflops a step, steps, seconds.
    ``curves``: run, variant, seed, step, seconds, metric, value.
    ``questions``: module, question, answer, longer, discordant, and 0 or 1 for every run.
    """

    name: str
    runs: pd.DataFrame
    curves: pd.DataFrame
    questions: pd.DataFrame

    @cached_property
    def variants(self) -> list[str]:
        """The variants, in the order of the plan."""
        return list(dict.fromkeys(self.runs["variant"]))

    def seeds(self, *variants: str) -> Int[np.ndarray, " seed"]:
        """The seeds with which all of these variants have finished."""
        have = [set(self.runs.loc[self.runs["variant"] == each, "seed"]) for each in variants]
        return np.array(sorted(set.intersection(*have)), int)


def collect_study(folder: str | os.PathLike[str]) -> Path:
    """The folder of a study, with the three tables of its finished runs.

    Raises:
        InputError: it holds no study, or no run has finished.
    """
    folder = Path(folder)
    plan = read_json(folder / PLAN)
    names = {f"{v}-{s}": (v, s) for v in plan["variants"] for s in plan["seeds"]}
    done = {name: folder / "runs" / name for name in names}
    done = {name: path for name, path in done.items() if (path / ANSWERS).is_file()}
    if not done:
        raise InputError(f"{folder} has no finished run yet: train on with --resume")
    questions, runs, curves = pd.read_parquet(folder / "data" / TEST), [], []
    for name, path in done.items():
        variant, seed = names[name]
        about, log = read_json(path / ANSWERS), pd.DataFrame(read_log(path))
        log = log[log["metric"].isin(WATCHED)].astype({"step": int, "seconds": float})
        questions[name] = [int(digit) for digit in about.pop("correct")]
        told = {"run": name, "variant": variant, "seed": seed}
        runs.append(told | about | {"seconds": log["seconds"].iloc[-1]})
        curves.append(log[["step", "seconds", "metric", "value"]].assign(**told))
    questions = questions.astype({"longer": int, "discordant": int})
    tables = (pd.DataFrame(runs), pd.concat(curves), questions)
    for file, table in zip(FILES, tables, strict=True):
        write_file(folder / file, table.to_csv(index=False))
    return folder


def load_study(folder: str | os.PathLike[str]) -> Study:
    """The study whose three tables are in the folder.

    Raises:
        InputError: one of them is missing.
    """
    folder = Path(folder)
    if missing := [file for file in FILES if not (folder / file).is_file()]:
        raise InputError(f"{folder} has no {missing[0]} of a study: train one by a plan first")
    texts = [StringIO((folder / file).read_text()) for file in FILES]
    runs, curves, questions = (pd.read_csv(text) for text in texts)
    return Study(folder.resolve().name, runs, curves, questions)
