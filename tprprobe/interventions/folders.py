"""The folder of a sweep or of swaps: its settings, and its parts measured one by one."""

from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.files.runs import KeptRun, Part, join_parts
from tprprobe.interventions.kinds import INTERVENTIONS
from tprprobe.interventions.sweep_recipes import Chosen
from tprprobe.models.architectures import fingerprint
from tprprobe.models.protocol import Language

MANIFEST = INTERVENTIONS.file
MEASURED = "measured"  # the table of a part


def open_run(folder: Path, model: Language, data: Dataset, recipe: Chosen, resume: bool) -> KeptRun:
    """The run of a model with these weights, these data, this recipe."""
    about = {"model": model.name, "weights": fingerprint(model)}
    about |= {"data": [data.name, data.split, data.seed], "recipe": recipe.model_dump()}
    return KeptRun.open(folder, about | {"tprprobe": version("tprprobe")}, resume, MANIFEST)


def measure_parts(parts: Sequence[Part], title: str) -> pd.DataFrame:
    """The rows of all parts, one after another; missing parts are measured."""
    missing = [part for part in parts if not part.is_done]
    for part in track(missing, title, len(missing)):
        part.finish()
    return join_parts(parts, MEASURED)
