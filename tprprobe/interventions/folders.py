"""The folder of a sweep or of swaps: its settings, and its parts measured one by one."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.files.runs import KeptRun, join_parts
from tprprobe.interventions.kinds import INTERVENTIONS
from tprprobe.interventions.sweep_recipes import RecipeData
from tprprobe.models.architectures import describe_origin
from tprprobe.models.protocol import Language

MANIFEST = INTERVENTIONS.file
MEASURED = "measured"  # the table of a part
MeasurePart = Callable[[], pd.DataFrame]


def begin_run(folder: Path, settings: dict[str, object], resume: bool) -> KeptRun:
    """The run with these settings, by this version."""
    return KeptRun.open(folder, settings | {"tprprobe": version("tprprobe")}, resume, MANIFEST)


def open_run(
    folder: Path, model: Language, data: Dataset, recipe: RecipeData, resume: bool
) -> KeptRun:
    """The run of a model with these weights, these data, this recipe."""
    return begin_run(folder, run_origin(model, data) | {"recipe": recipe.model_dump()}, resume)


def run_origin(model: Language, data: Dataset) -> dict[str, object]:
    """Of what model and data a run is: their names, the weights, and every file that they were read from."""
    origin, data_origin = describe_origin(model), data.origin
    files = {"model": origin["files"], "data": data_origin.pop("files")}
    settings: dict[str, object] = {"model": model.name, "weights": origin["sha256"], "files": files}
    return settings | {"data": list(data_origin.values())}


def measure_parts(run: KeptRun, measures: Sequence[MeasurePart], title: str) -> pd.DataFrame:
    """The rows of all parts, one after another; missing parts are measured."""
    jobs = [
        run.part(str(n), lambda measure=measure: {MEASURED: measure()})
        for n, measure in enumerate(measures)
    ]
    missing = [job for job in jobs if not job.is_done]
    for job in track(missing, title, len(missing)):
        job.finish()
    return join_parts(jobs, MEASURED)
