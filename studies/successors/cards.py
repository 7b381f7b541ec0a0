"""``python -m studies.successors.cards [RUNS]``: every network that is built to bind as a shipped checkpoint.

The card says what was trained and how many fresh examples are answered; a test recomputes a part.
"""

import json
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
import typer

import tprprobe as tp
from studies.successors.tables import CONTROLS
from studies.successors.trainings import PLAN, RUNS, Training, list_trainings
from studies.templates import table
from tprprobe.data.pairs import encode_pairs
from tprprobe.files import hub
from tprprobe.files.writing import write_file
from tprprobe.models.answers import exact_matches
from tprprobe.models.architectures import find_architecture
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.statistics import wilson
from tprprobe.training.loop import MODEL

MODELS = Path("models")
N_SCORED, N_RECOMPUTED = 500, 100
SPLITS = {"dev": "held out", "test": "systematic test"}
BEGINNING = """---
license: apache-2.0
library_name: tprprobe
tags: [tensor-product-representation, interpretability]
tprprobe:
  data: {data}
  split: dev
---

# {name}

A {architecture} of {parameters:,} parameters, trained on `{data}`. It is made to be looked into: "Do networks built to bind really bind?" (`studies/results/successors.md`) has its measurements.

{sources}

## Training

`tprprobe train recipe.toml`: {steps:,} steps of {batch_size} sequences, seed {seed}, {optimizer}, one CPU thread, {seconds:.0f} seconds. The curve is in `log.csv`.

## Exact match

Answers that are right in every symbol, with Wilson's 95 % interval, beside the share of the most frequent answer.

{scores}
"""


def list_shipped() -> Iterator[tuple[str, Training]]:
    """The names of the shipped checkpoints and their trainings: the first task and seed of every model."""
    first: dict[str, Training] = {}
    for training in list_trainings():
        first.setdefault(training.model, training)
    for model, training in first.items():
        if model not in CONTROLS:
            yield f"{model}-{training.task}", training


def ship(name: str, training: Training, runs: Path) -> None:
    """Writes the folder of a checkpoint."""
    folder, source = MODELS / name, runs / training.name
    shutil.copytree(source / MODEL, folder, dirs_exist_ok=True)
    recipe = (folder / hub.RECIPE).read_text("utf-8")
    write_file(folder / hub.RECIPE, recipe.replace(f'"{training.name}"', f'"{name}"', 1))
    shutil.copy(source / "log.csv", folder)
    seconds = pd.read_csv(source / "log.csv")["seconds"].max()
    model = training.load(runs)
    scores = [
        score_split(model, training, split) for split in PLAN["tasks"][training.task]["tests"]
    ]
    recompute = {"data": training.data, "split": "dev", "n": N_RECOMPUTED}
    recompute["correct"] = count_right(model, training.data, "dev", N_RECOMPUTED)[0]
    expected = {"recompute": recompute, "exact_match": scores}
    write_file(folder / hub.EXPECTED, json.dumps(expected, indent=1))
    write_file(folder / hub.CARD, write_card(name, model, training, scores, seconds))


def count_right(model: Model, data: str, split: str, n: int) -> tuple[int, int]:
    """How many answers are right, and how often the most frequent answer is."""
    examples = tp.load_data(data, split=split, n=n)
    right, _ = exact_matches(model, encode_pairs(examples, require_vocabulary(model)))
    return int(right.sum()), Counter(example.target for example in examples).most_common(1)[0][1]


def score_split(model: Model, training: Training, split: str) -> dict[str, Any]:
    right, n_frequent = count_right(model, training.data, split, N_SCORED)
    interval = wilson(right, N_SCORED)
    return {
        "split": split,
        "n": N_SCORED,
        "exact_match": round(interval.value, 4),
        "low": round(interval.low, 4),
        "high": round(interval.high, 4),
        "commonest_answer": round(n_frequent / N_SCORED, 4),
    }


def write_card(
    name: str, model: Model, training: Training, scores: list[dict[str, Any]], seconds: float
) -> str:
    architecture, _ = find_architecture(training.model)
    module = __import__(architecture.__module__, fromlist=["_"])
    sources = str(module.__doc__).partition("Source: ")[2]
    rows = [
        {
            "split": f"`{row['split']}`, {SPLITS[row['split']]}",
            "n": f"{row['n']:,}",
            "exact match": f"{row['exact_match']:.3f} [{row['low']:.3f}, {row['high']:.3f}]",
            "most frequent answer": f"{row['commonest_answer']:.3f}",
        }
        for row in scores
    ]
    return BEGINNING.format(
        name=name,
        data=training.data,
        architecture=training.model,
        parameters=sum(weights.numel() for weights in model.parameters()),
        sources=f"Source of the architecture: {sources.strip()}",
        steps=training.recipe.steps,
        batch_size=training.recipe.batch_size,
        seed=training.seed,
        optimizer=training.recipe.optimizer.name,
        seconds=seconds,
        scores=table(rows),
    )


def main(runs: Annotated[Path, typer.Argument(help="Folder of the trainings.")] = RUNS) -> None:
    """Write the folders of the shipped checkpoints."""
    for name, training in list_shipped():
        if (runs / training.name / MODEL).exists():
            ship(name, training, runs)


if __name__ == "__main__":
    typer.run(main)
