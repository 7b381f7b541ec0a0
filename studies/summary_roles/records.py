"""The tables of roles of a study's models, made of its finished runs, and the interval of what they say."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from studies.summary_roles.measures import measure_model
from tprpapers.study.comparisons import Answers
from tprpapers.study.records import ANSWERS, EXACT, Study, column, common_seeds, csv_bytes
from tprprobe.console import track
from tprprobe.files import assets
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.writing import write_file, write_folder
from tprprobe.training.loop import MODEL, STEPS

STUDY, LONGER = "matched-summaries", "longer"  # its companion: three times the steps and reports
FILES = {"reports": "roles.csv.gz", "discreteness": "discreteness.csv"}
RUNS, ROLES_FOLDER = "runs", "roles"
ALONG = ["run", "step", "sublayer", "layer", "n_distributions", "above_98", "above_90", "entropy"]


def measure_missing(study: Path) -> None:
    """Every finished model's tables, kept in its folder; of one that was cut off all is made anew."""
    finished = [path.parent for path in sorted((study / RUNS).glob(f"*/{ANSWERS}"))]
    missing = [path for path in finished if not (path / ROLES_FOLDER).is_dir()]
    for folder in track(missing, "roles", len(missing)):
        steps = {int(step.name): step for step in (folder / STEPS).glob("*")}
        steps |= {int(read_json(folder / ANSWERS)["steps"]): folder / MODEL}
        with TemporaryDirectory() as scratch:
            measured = measure_model(folder / MODEL, dict(sorted(steps.items())), Path(scratch))
        tables = {
            FILES[name]: csv_bytes(table, FILES[name])
            for name, table in measured.items()
            if len(table)
        }
        write_folder(folder / ROLES_FOLDER, tables)


def collect_roles(study: Path, home: Path) -> list[Path]:
    """The two tables in the folder ``home``, with the runs that they had and those of the study."""
    stored = read_roles(home) if (home / FILES["reports"]).is_file() else None
    tables_of_run: Any = (
        {} if stored is None else {name: stored.of_run(name) for name in stored.runs["run"]}
    )
    for folder in sorted((study / RUNS).glob(f"*/{ROLES_FOLDER}")):
        tables_of_run[folder.parent.name] = [
            pd.read_csv(folder / file) if (folder / file).is_file() else pd.DataFrame()
            for file in FILES.values()
        ]
    order = sorted(tables_of_run, key=lambda run: (run.rpartition("-")[2], run))
    reports = [tables_of_run[run][0].add_prefix(f"{run}:") for run in order]
    along = [
        tables_of_run[run][1].assign(run=run)[ALONG] for run in order if len(tables_of_run[run][1])
    ]
    tables = (
        pd.concat(reports, axis=1),
        pd.concat(along) if along else pd.DataFrame(columns=ALONG),
    )
    return [
        write_file(home / file, csv_bytes(table.round(5), file))
        for file, table in zip(FILES.values(), tables, strict=True)
    ]


@dataclass(frozen=True, eq=False)
class Roles:
    """What was measured of a study's models.

    ``reports``: a row per report, a column ``RUN:MEASURE`` for each of
    :mod:`studies.summary_roles.measures`. ``discreteness`` (a row per run, step, sub-layer and
    layer): ALONG; entropy in bits.
    """

    reports: pd.DataFrame
    discreteness: pd.DataFrame

    @property
    def runs(self) -> pd.DataFrame:
        """run, variant, seed."""
        names = list(dict.fromkeys(str(column_).partition(":")[0] for column_ in self.reports))
        name_parts = [name.rpartition("-") for name in names]
        rows = [
            (name, fields[0], int(fields[2]))
            for name, fields in zip(names, name_parts, strict=True)
        ]
        return pd.DataFrame(rows, columns=["run", "variant", "seed"])

    def of_run(self, run: str) -> list[pd.DataFrame]:
        """The two tables of one run, as its folder has them."""
        report_columns = self.reports[
            [column_ for column_ in self.reports if str(column_).startswith(f"{run}:")]
        ]
        along = self.discreteness[self.discreteness["run"] == run]
        return [
            report_columns.rename(columns=lambda name: name.partition(":")[2]),
            along.drop(columns="run"),
        ]

    def seeds(self, *variants: str) -> list[int]:
        """The seeds that all of these variants have."""
        return common_seeds(self.runs, *variants)

    def answers(self, weights: Mapping[str, Mapping[str, float]]) -> Answers:
        """Σ weight × measure of every run of these variants that has them, by report, for means and
        contrasts over model seeds and reports.

        A ratio of sums R = Σ num / Σ den counts as R + (num − R den) / mean(den) of a report: its mean
        over reports is R, its variance that of R (delta method).
        """
        runs_and_variants = zip(*self.runs[["run", "variant"]].to_numpy().T, strict=True)
        weights_of_run = {
            run: {f"{run}:{measure}": weight for measure, weight in weights[variant].items()}
            for run, variant in runs_and_variants
            if variant in weights
        }
        scores = {
            column(run, EXACT): sum(
                weight * self._values(name) for name, weight in weights_of_column.items()
            )
            for run, weights_of_column in weights_of_run.items()
            if all(name in self.reports for name in weights_of_column)
        }
        runs = self.runs[self.runs["run"].isin(list(scores))].reset_index(drop=True)
        study = Study(STUDY, runs, pd.DataFrame(), pd.DataFrame(scores))
        return Answers(study, np.ones(len(self.reports), bool))

    def _values(self, name: str) -> Float[np.ndarray, " report"]:
        cells = self.reports[name]
        if pd.api.types.is_numeric_dtype(cells):
            return cells.to_numpy(float)
        over, under = cells.str.split("/", expand=True).to_numpy(float).T
        ratio = over.sum() / under.sum()
        return ratio + (over - ratio * under) / under.mean()


def load_roles() -> list[Roles]:
    """What ships of the study's models, and of the longer training's."""
    home = assets.find("studies", STUDY)
    return [read_roles(folder) for folder in (home, home / LONGER)]


def read_roles(folder: Path) -> Roles:
    """The two tables in a folder."""
    return Roles(*(pd.read_csv(folder / file) for file in FILES.values()))
