"""Folders of results as the commands leave them, with numbers that are known."""

import csv
import json

import pandas as pd

from tprpapers.jiang.summary_folders import make_sheet
from tprpapers.scoring import score_summaries
from tprpapers.scoring.captions.writing import summarize_captions
from tprpapers.scoring.predictions import summarize_scores
from tprprobe.models.answers import save_lines

MODULES = {"arithmetic__mixed": 0.75, "arithmetic__mul": 0.5}


def write_evaluation(folder, model="tiny", split="interpolate", **extra):
    """What `tprprobe eval --out` writes."""
    folder.mkdir(parents=True, exist_ok=True)
    modules = {
        name: {"exact_match": value, "exact_match_interval": [value - 0.1, value + 0.1], "n": 80}
        for name, value in MODULES.items()
    }
    summary = {"model": model, "split": split, "modules": modules, **extra}
    (folder / f"{model}.{split}.json").write_text(json.dumps(summary))


def write_log(folder):
    """What `tprprobe train` writes."""
    folder.mkdir(parents=True)
    rows = [(step, 1.5, step * 64, "loss", "", "", 2 / step) for step in (10, 20)]
    rows.append((20, 1.5, 1280, "exact_match", "mathematics:arithmetic__mixed", "small-test", 0.5))
    with (folder / "log.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["step", "seconds", "examples", "metric", "data", "split", "value"])
        writer.writerows(rows)


def write_binding(folder):
    """What `tprprobe binding --ckpt … --out` writes."""
    folder.mkdir(parents=True)
    bars = pd.DataFrame({"bar": ["first", "middle", "last"]}).merge(
        pd.DataFrame({"depth": [0, 1]}), how="cross"
    )
    names = ("accuracy", "paired_accuracy", "exact_match")
    shares = {
        f"{name}{end}": x for name in names for end, x in (("", 0.5), ("_low", 0.4), ("_high", 0.6))
    }
    bars.assign(model="tiny", untrained=False, **shares).to_csv(folder / "probe.csv", index=False)


def write_summaries(folder):
    """What `tprprobe eval --out` writes of documents, and a sheet made of it and filled in."""
    for model in ("tpt-d", "t5"):
        (folder / model).mkdir(parents=True)
        rows = pd.DataFrame(
            {"source": ["A b. C d."] * 4, "target": "a b", "prediction": [model, "a", "b", "a b"]}
        )
        metadata = {"model": model, "data": "corpus", "split": "test"}
        rows = rows.join(score_summaries(rows))
        save_lines(rows, metadata | summarize_scores(rows), folder / model, "made")
    sheet = make_sheet(folder / "tpt-d", folder / "t5", folder / "sheet.csv", n=1)
    filled = pd.read_csv(sheet).assign(grammar="A", saliency="B", overall="tie")
    filled.to_csv(sheet, index=False)


def write_scores(folder):
    """What `tprprobe eval --out` writes of captions."""
    folder.mkdir(parents=True)
    score = {"value": 0.5, "low": 0.4, "high": 0.6, "n": 40}
    scores = {"BLEU-1": score, "METEOR": score | {"low": None, "high": None}}
    metadata = {"model": "tpgn", "data": "scenes", "split": "test", "n": 40, "scores": scores}
    (folder / "tpgn.scenes.test.json").write_text(json.dumps(metadata))


def write_captions(folder):
    """What `tprprobe eval --out` writes of captions, of a TPGN and a CNN-LSTM; both are needed."""
    folder.mkdir(parents=True)
    references = [["a dog runs"], ["two cats sit"]]
    for name, second in {"tpgn": "two cats", "cnn-lstm": "two cows"}.items():
        rows = pd.DataFrame({"image": ["1", "2"], "references": references})
        rows = rows.assign(prediction=["a dog runs", second])
        metadata = {"model": name, "architecture": name, "data": "made", "split": "test"}
        save_lines(rows, metadata | summarize_captions(rows), folder, name)
