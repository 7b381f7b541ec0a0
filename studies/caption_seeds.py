"""``python -m studies.caption_seeds RUNS``: captions of the models trained with other seeds.

RUNS/NAME-SEED are what ``tprprobe train models/NAME/recipe.toml --set seed=SEED --out …`` wrote.
Their captions of the test images stand in ``studies/captions/seeds.csv.gz``: image, and a column a run.
"""

from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import torch
import typer

from tprpapers.study.records import csv_bytes
from tprprobe.data import load_data
from tprprobe.files import assets
from tprprobe.files.writing import write_file
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate

DATA, SPLIT, N = "scenes:persons=colored", "test", 1000
MODELS = ("tpgn-scenes", "cnn-lstm-scenes")
CAPTIONS = assets.find("studies", "captions") / "seeds.csv.gz"


def main(runs: Annotated[Path, typer.Argument(help="The folder of the trained runs.")]) -> None:
    """Write the captions of every finished run."""
    torch.set_num_threads(1)
    captions = {}
    for folder in sorted(runs.glob("*/model")):
        name = folder.parent.name
        if name.rpartition("-")[0] in MODELS:
            captions[name] = _write(folder)
            typer.echo(f"{name}: {len(captions[name])} captions")
    table = pd.DataFrame(captions).rename_axis("image").reset_index()
    write_file(CAPTIONS, csv_bytes(table, CAPTIONS.name))


def _write(folder: Path) -> pd.Series:
    model: Any = load_model(folder)
    rows = evaluate(model, load_data(DATA, split=SPLIT, n=N))
    return rows.set_index("image")["prediction"]


def read_seeds(name: str, shipped: pd.DataFrame) -> list[pd.DataFrame]:
    """The evaluations of a model's seeds by the table of the shipped one, which comes first."""
    table = pd.read_csv(CAPTIONS, index_col="image", keep_default_na=False)
    captions = table.loc[:, [str(column).rpartition("-")[0] == name for column in table]]
    of_images = captions.loc[shipped["image"]]
    return [shipped, *(shipped.assign(prediction=of_images[run].to_numpy()) for run in of_images)]


if __name__ == "__main__":
    typer.run(main)
