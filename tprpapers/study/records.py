"""The tables of a study: three CSV files of its finished runs, readable without weights."""

import gzip
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.tables import Columns, check_columns, columns, read_table
from tprprobe.files.writing import write_file
from tprprobe.training.logs import read_log

PLAN, ANSWERS, TEST = "plan.json", "answers.json", "test.parquet"
FILES = ("runs.csv", "curves.csv.gz", "examples.csv.gz")
GZIP = ".gz"  # studies of earlier versions have plain tables
HOW_TO_RECOVER = "take it from where it was copied, or train again"
COLUMNS = {
    FILES[0]: columns(
        text="run variant", whole="seed parameters steps", number="gigaflops seconds"
    ),
    FILES[1]: columns(text="run variant metric", whole="seed step", number="seconds value"),
    FILES[2]: columns(text="module source target"),
}
EXACT = "exact_match"
FLAGS = ("longer", "discordant")  # of questions
WATCHED = ("loss", "exact_match", "held_out_loss")


@dataclass(frozen=True, eq=False)
class Study:
    """The results of a study's finished runs.

    ``runs`` (a row per run): run, variant, seed, parameters, gigaflops (forward and backward pass on 64
    examples), steps, seconds.
    ``curves``: run, variant, seed, step, seconds, metric, value.
    ``examples`` (a row per tested example): module (of documents: split), source, target; of
    questions also longer and discordant; a column per run, 0 or 1 for exact match, and of documents
    a column ``run:score`` for every other score.
    """

    name: str
    runs: pd.DataFrame
    curves: pd.DataFrame
    examples: pd.DataFrame

    @cached_property
    def variants(self) -> list[str]:
        """The variants, in the order of the plan."""
        return list(dict.fromkeys(self.runs["variant"]))

    def seeds(self, *variants: str) -> list[int]:
        """The seeds with which all of these variants have finished."""
        return common_seeds(self.runs, *variants)

    @cached_property
    def measures(self) -> list[str]:
        """Exact match, and the scores of documents."""
        run_name = str(self.runs["run"].iloc[0])
        column_parts = (str(name).partition(":") for name in self.examples)
        return [EXACT, *(score for run, colon, score in column_parts if colon and run == run_name)]

    def scores(self, measure: str = EXACT) -> pd.DataFrame:
        """One measure of every example (rows) by every run (columns)."""
        return self.examples[[column(run, measure) for run in self.runs["run"]]].set_axis(
            list(self.runs["run"]), axis=1
        )


def common_seeds(runs: pd.DataFrame, *variants: str) -> list[int]:
    """The seeds that all of these variants have among ``runs``."""
    finished = list(zip(runs["variant"], runs["seed"], strict=True))
    seeds_by_variant = [
        {seed for variant, seed in finished if variant == name} for name in variants
    ]
    return sorted(set.intersection(*seeds_by_variant))


def column(run: str, measure: str) -> str:
    """The column of the examples in which one measure of a run stands."""
    return run if measure == EXACT else f"{run}:{measure}"


def collect_study(folder: str | os.PathLike[str]) -> Path:
    """The folder, in which the three tables of its finished runs are now.

    A run that stands in the tables already has finished, too: its folder may be elsewhere.

    Raises:
        InputError: it holds no study, or no run has finished.
    """
    folder = Path(folder)
    plan, recorded = read_json(folder / PLAN), read_records(folder)
    examples, runs, curves = pd.read_parquet(folder / "data" / TEST), [], []
    scores: list[pd.DataFrame] = []
    run_keys = {
        f"{v}-{s}": {"variant": v, "seed": s} for v in plan["variants"] for s in plan["seeds"]
    }
    for name in dict.fromkeys([*run_keys, *recorded[0]["run"]]):
        path = folder / "runs" / name
        if (path / ANSWERS).is_file():
            tables = _read_run(path, {"run": name, **run_keys[name]})
        elif name in set(recorded[0]["run"]):
            tables = _recorded_run(recorded, name)
        else:
            continue
        runs.append(tables[0])
        curves.append(tables[1])
        scores.append(tables[2])
    if not runs:
        raise InputError(f"{folder} has no finished run yet: train on with --resume")
    flags = examples.select_dtypes(bool).columns
    examples = pd.concat([examples.astype(dict.fromkeys(flags, int)), *scores], axis=1)
    for file, table in zip(FILES, (pd.concat(runs), pd.concat(curves), examples), strict=True):
        write_file(folder / file, csv_bytes(table, file))
    return folder


def csv_bytes(table: pd.DataFrame, file: str) -> bytes:
    """The table as CSV, compressed where the file's name ends in ``.gz``; equal tables are equal bytes."""
    content = table.to_csv(index=False).encode()
    return gzip.compress(content, mtime=0) if file.endswith(GZIP) else content


RunTables = tuple[pd.DataFrame, pd.DataFrame, pd.DataFrame]  # its row, its curve, its scores


def _read_run(path: Path, run_keys: dict[str, Any]) -> RunTables:
    answers, log = read_json(path / ANSWERS), pd.DataFrame(read_log(path))
    log = log[log["metric"].isin(WATCHED)].astype({"step": int, "seconds": float})
    scores = {
        column(run_keys["run"], name): values for name, values in answers.pop("scores").items()
    }
    row = run_keys | answers | {"seconds": log["seconds"].iloc[-1]}
    return (
        pd.DataFrame([row]),
        log[["step", "seconds", "metric", "value"]].assign(**run_keys),
        pd.DataFrame(scores),
    )


def _recorded_run(recorded: Sequence[pd.DataFrame], name: str) -> RunTables:
    runs, curves, examples = recorded
    row, curve = (table[table["run"] == name] for table in (runs, curves))
    columns = [column for column in examples if str(column).partition(":")[0] == name]
    return row, curve, examples[columns]


def read_records(folder: Path) -> list[pd.DataFrame]:
    """The three tables that the folder has, all their cells as texts; without them, empty ones.

    Raises:
        InputError: one of them is missing.
    """
    if not (folder / FILES[0]).is_file():
        return [pd.DataFrame({"run": []}) for _ in FILES]
    return [
        pd.read_csv(path, dtype=str, keep_default_na=False)
        for path in _table_paths(folder).values()
    ]


def load_study(folder: str | os.PathLike[str]) -> Study:
    """The study whose three tables are in the folder.

    Raises:
        InputError: one of them is missing.
    """
    folder = Path(folder)
    paths = _table_paths(folder)
    runs, curves, examples = (
        read_table(paths[file], columns, HOW_TO_RECOVER) for file, columns in COLUMNS.items()
    )
    expected_names = runs["variant"] + "-" + runs["seed"].astype(str)
    if runs.empty or examples.empty or (expected_names != runs["run"]).any():
        raise InputError(
            f"{folder} has runs that are not named as its variants and seeds: {HOW_TO_RECOVER}"
        )
    if repeated := [*runs.loc[runs["run"].duplicated(), "run"]]:
        raise InputError(f"{paths[FILES[0]]} has the run {repeated[0]!r} twice: {HOW_TO_RECOVER}")
    if missing := [name for name in runs["run"] if name not in examples]:
        raise InputError(f"{paths[FILES[2]]} lacks the run {missing[0]!r}: {HOW_TO_RECOVER}")
    run_names = set(runs["run"])
    scores: Columns = {
        column: int if column in run_names else float
        for column in map(str, examples)
        if column.partition(":")[0] in run_names
    }
    examples = check_columns(examples, scores, paths[FILES[2]], HOW_TO_RECOVER)
    return Study(folder.resolve().name, runs, curves, examples)


def _table_paths(folder: Path) -> dict[str, Path]:
    """The path of every table, by its name in FILES."""
    paths = {}
    for file in FILES:
        plain = folder / file.removesuffix(GZIP)
        paths[file] = plain if plain.is_file() else folder / file
        if not paths[file].is_file():
            raise InputError(f"{folder} has no {file} of a study: train one by a plan first")
    return paths
