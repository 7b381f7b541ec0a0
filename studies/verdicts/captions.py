"""Claims on captions: scores of TPGN and CNN-LSTM over seeds, training time, unbinding vectors."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from studies.caption_seeds import read_seeds
from studies.verdicts.arithmetic_tables import keep_table
from studies.verdicts.training_times import judge_time
from studies.verdicts.unbinding import judge_unbinding
from tprpapers.claims import Verdict
from tprpapers.huang.caption_scores import judge_scores
from tprpapers.scoring.captions.toolkit import score_rows
from tprprobe.data import load_data
from tprprobe.files import hub
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.training.recipes import read_recipe

MODELS = ("tpgn", "cnn-lstm")
DATA, SPLIT, N = ("scenes", "coco-words"), "test", 1000  # what was trained on, what is tested


def decide(runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on captions; intermediate results are kept in a folder.

    Raises:
        InputError: data or a tagger that does not ship is missing.
    """
    folder = runs / "captions"
    for data in DATA:
        for verdict in judge_captions(data, folder):
            yield data, verdict
    yield "", judge_time(folder)
    yield from judge_unbinding(folder)


def judge_captions(data: str, runs: Path) -> list[Verdict]:
    """The verdicts on scores, over every seed that captioned this data's test images."""
    scores = []
    for name in [f"{model}-{data}" for model in MODELS]:
        file = runs / f"{name}.{SPLIT}.parquet"
        rows = keep_table(file, lambda name=name: _write(name))
        scores.append([score_rows(captions) for captions in read_seeds(name, rows)])
    return judge_scores(*scores)


def _write(name: str) -> pd.DataFrame:
    """The captions that a shipped model writes."""
    model: Any = load_model(name)
    mix = read_recipe(hub.locate("models", name) / hub.RECIPE).stages[0].mix[0]
    return evaluate(model, load_data(str(mix.data), split=SPLIT, n=N))
