"""The page on captions: scores of TPGN and CNN-LSTM side by side, and beside baselines."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd

from studies.caption_seeds import read_seeds
from studies.pages import training_times
from studies.pages.arithmetic_tables import keep_table
from studies.pages.markdown import verdict_table
from studies.pages.training_times import judge_time
from studies.pages.unbinding_section import summarize_unbinding
from studies.templates import fill, table
from tprpapers.captions.words import tokenize
from tprpapers.claims import Verdict
from tprpapers.huang.caption_scores import judge_scores
from tprpapers.scoring.baselines import CAPTION_BASELINES, baseline_captions, first_images
from tprpapers.scoring.captions.toolkit import (
    METEOR,
    PLAIN_METEOR,
    REFERENCES,
    compare_captions,
    score_rows,
)
from tprpapers.scoring.captions.writing import caption_rows, matches
from tprpapers.scoring.meteor import java_meteor, meteor_missing
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.models import count_parameters, load_model
from tprprobe.models.answers import evaluate
from tprprobe.statistics import interval_text, read_interval
from tprprobe.training.recipes import read_recipe

MODELS = ("tpgn", "cnn-lstm")
# what the models are trained on → the splits that they are tested on, and of how many examples
DECIDING = "test"  # split, which the claims are about
SETTINGS = {"scenes": {"test": 1000, "compositional": 500}, "coco-words": {"test": 1000}}


def make_page(runs: Path) -> str:
    """The page; intermediate results are kept in a folder."""
    return fill(
        Path(__file__).parent,
        "captions.md.j2",
        scores=summarize_scores(runs / "captions"),
        time=verdict_table([judge_time(runs / "captions")]),
        timed=training_times,
        weights=[count_parameters({"preset": name}) for name in training_times.PRESETS],
        unbinding=summarize_unbinding(runs / "captions"),
    )


def summarize_scores(runs: Path) -> str:
    """Scores side by side, with intervals over images."""
    settings = [
        {"name": name, "splits": [_measured(name, split, n, runs) for split, n in splits.items()]}
        for name, splits in SETTINGS.items()
    ]
    return fill(Path(__file__).parent, "caption_scores.md.j2", settings=settings, models=MODELS)


def _measured(setting: str, split: str, n: int, runs: Path) -> dict[str, Any]:
    """The scores of a split, or the reason why it has none."""
    try:
        return {"name": split, "error": None} | _compared(setting, split, n, runs)
    except InputError as error:
        return {"name": split, "error": error}


def _compared(setting: str, split: str, n: int, runs: Path) -> dict[str, Any]:
    """The table of a split, its number of images, the share of captions that match word for word,
    and the verdicts.
    """
    rows = {
        name: keep_table(runs / f"{name}.{split}.parquet", lambda name=name: _write(name, split, n))
        for name in [f"{model}-{setting}" for model in MODELS]
    }
    free = keep_table(
        runs / f"baselines-{setting}.{split}.parquet",
        lambda: _take(f"{MODELS[0]}-{setting}", split, n),
    )
    rows |= {str(name): model for name, model in free.groupby("baseline", sort=False)}
    java = _keep_meteor(runs / f"meteor-{setting}.{split}.parquet", rows)
    scores = {
        name: replace(score_rows(model), meteor=java.get(name)) for name, model in rows.items()
    }
    tpgn_scores, second = (scores[f"{model}-{setting}"] for model in MODELS)
    tables = {name: model.table() for name, model in scores.items()}
    tables["difference"] = compare_captions(tpgn_scores, second).rename(
        columns={"difference": "value"}
    )
    shown_rows = [_row(metric, tables) for metric in tables["difference"]["metric"]]
    shown_rows += [_programs(tables)] if java else []
    exact = ", ".join(f"{name} {matches(rows[name]).mean():.1%}" for name in list(rows)[:2])
    return {
        "images": len(tpgn_scores.terms),
        "exact": exact,
        "scores": table(shown_rows),
        "verdicts": verdict_table(_judge(setting, rows)) if split == DECIDING else "",
    }


def _judge(setting: str, rows: Mapping[str, pd.DataFrame]) -> list[Verdict]:
    """The verdicts over every seed that captioned this data's test images."""
    names = [f"{name}-{setting}" for name in MODELS]
    seeds = [read_seeds(name, rows[name]) for name in names]
    tpgns, lstms = ([score_rows(name) for name in evaluations] for evaluations in seeds)
    return judge_scores(tpgns, lstms)


def _row(metric: str, tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    cells: dict[str, Any] = {
        name: scores.set_index("metric").loc[metric] for name, scores in tables.items()
    }
    return {"score": metric} | {
        name: interval_text(read_interval(row)) for name, row in cells.items()
    }


def _programs(tables: Mapping[str, pd.DataFrame]) -> dict[str, str]:
    """The row of what Java's METEOR has above the one in Python."""
    values = {name: scores.set_index("metric")["value"] for name, scores in tables.items()}
    return {"score": f"{METEOR} − {PLAIN_METEOR}"} | {
        name: f"{scores[METEOR] - scores[PLAIN_METEOR]:.3f}" for name, scores in values.items()
    }


def _keep_meteor(file: Path, rows: Mapping[str, pd.DataFrame]) -> dict[str, float]:
    """Java's METEOR of captions by who wrote them; empty where it is neither kept nor installed."""
    if not file.is_file() and meteor_missing() is not None:
        return {}

    def measure() -> pd.DataFrame:
        measured = [(name, _java_meteor(captions)) for name, captions in rows.items()]
        return pd.DataFrame(measured, columns=["captions", METEOR])

    measured = keep_table(file, measure)
    return dict(zip(measured["captions"], measured[METEOR], strict=True))


def _java_meteor(rows: pd.DataFrame) -> float:
    references = [[tokenize(text) for text in several] for several in rows[REFERENCES]]
    return java_meteor([tokenize(text) for text in rows["prediction"]], references)[0]


def _write(name: str, split: str, n: int) -> pd.DataFrame:
    """The captions that a shipped model writes."""
    model: Any = load_model(name)
    return evaluate(model, load_data(_mix(name).data, split=split, n=n))


def _take(like: str, split: str, n: int) -> pd.DataFrame:
    """The captions of the baselines, taken from the data that a shipped model was trained on."""
    mix = _mix(like)
    images = list(load_data(mix.data, split=split, n=n))
    train_images = first_images(load_data(mix.data, split=mix.split, n=mix.n, seed=mix.seed))
    tables = [
        caption_rows(images, baseline_captions(name, train_images, images)).assign(baseline=name)
        for name in CAPTION_BASELINES
    ]
    return pd.concat(tables, ignore_index=True)


def _mix(name: str) -> Any:
    return read_recipe(hub.locate("models", name) / hub.RECIPE).stages[0].mix[0]
