"""The folder of a sweep or of swaps: its settings, and its parts measured one by one."""

from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.files.runs import KeptRun, join_parts
from tprprobe.interventions.kinds import INTERVENTIONS
from tprprobe.interventions.sweep_recipes import Chosen
from tprprobe.models.origins import describe_origin
from tprprobe.models.protocol import Language

MANIFEST = INTERVENTIONS.file
MEASURED = "measured"  # the table of a part
Make = Callable[[], pd.DataFrame]


def open_run(folder: Path, model: Language, data: Dataset, recipe: Chosen, resume: bool) -> KeptRun:
    """The run of a model with these weights, these data, this recipe."""
    about = run_origin(model, data) | {"recipe": recipe.model_dump()}
    return KeptRun.open(folder, about | {"tprprobe": version("tprprobe")}, resume, MANIFEST)


def run_origin(model: Language, data: Dataset) -> dict[str, Any]:
    """Of what model and data a run is: their names, the weights, and every file that they were read from."""
    origin, data_origin = describe_origin(model), data.origin
    files = {"model": origin["files"], "data": data_origin.pop("files")}
    about = {"model": model.name, "weights": origin["sha256"], "files": files}
    return about | {"data": list(data_origin.values())}


def measure_parts(run: KeptRun, makes: Sequence[Make], title: str) -> pd.DataFrame:
    """The rows of all parts, one after another; missing parts are measured."""
    parts = [run.part(str(n), lambda of=of: {MEASURED: of()}) for n, of in enumerate(makes)]
    missing = [part for part in parts if not part.is_done]
    for part in track(missing, title, len(missing)):
        part.finish()
    return join_parts(parts, MEASURED)
