"""Checkpoints that caption images: their scores beside those of baselines and of one another."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from studies.checkpoints.card import Log, cell, write_card
from studies.checkpoints.training_run import FinishedRun
from studies.templates import table
from tprpapers.scoring.baselines import CAPTION_BASELINES, baseline_captions, first_images
from tprpapers.scoring.captions.toolkit import CaptionScores, compare_captions, score_rows
from tprpapers.scoring.captions.writing import BEAM, caption_rows, matches
from tprpapers.worlds.scenes import is_scenes
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.files import hub
from tprprobe.models.answers import evaluate
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.training.logs import FILE as LOG
from tprprobe.training.logs import read_log

TESTED = {"test": 1000, "compositional": 500}  # examples; the latter of scenes only
RECOMPUTED = 100


class Captioner(FinishedRun):
    """A finished run on captions."""

    @property
    def splits(self) -> list[str]:
        """The splits that the run is tested on."""
        return list(TESTED) if is_scenes(self.data) else ["test"]

    def held_out(self, split: str) -> Dataset:
        """The first examples of a split that it was not trained on."""
        return load_data(self.data, split=split, n=TESTED[split])

    def scores(self, split: str) -> CaptionScores:
        """The scores of the captions that it writes by a beam."""
        if split not in self.rows:
            self.rows[split] = evaluate(self.model, self.held_out(split))
        return score_rows(self.rows[split])

    def baselines(self) -> dict[str, CaptionScores]:
        """The scores of the baselines on `test`."""
        mix, images = self.recipe.stages[0].mix[0], list(self.held_out("test"))
        known = first_images(load_data(mix.data, split=mix.split, seed=mix.seed, n=mix.n))
        return {
            name: score_rows(caption_rows(images, baseline_captions(name, known, images)))
            for name in CAPTION_BASELINES
        }


def ship_captions(runs: Sequence[Captioner], out: Path) -> list[Path]:
    """The checkpoint folders of these runs: half-precision weights, recipe, card, curve, scores."""
    return [_ship(run, [each for each in runs if each is not run], out) for run in runs]


def _ship(run: Captioner, others: Sequence[Captioner], out: Path) -> Path:
    scores = {f"{split}": run.scores(split).table() for split in run.splits}
    columns = scores | {name: each.table() for name, each in run.baselines().items()}
    rivals = {o.recipe.name: o.scores("test") for o in others if o.data == run.data}
    differences = {
        name: compare_captions(run.scores("test"), each) for name, each in rivals.items()
    }
    log = read_log(run.run)
    return save_pretrained(
        run.model,
        out / run.recipe.name,
        _card(run, log, columns, differences),
        run.recipe.model_dump(exclude_none=True),
        torch.float16,
        {
            hub.EXPECTED: json.dumps(_expected(run, scores), indent=1) + "\n",
            LOG: pd.DataFrame(log).to_csv(index=False),
        },
    )


def _expected(run: Captioner, scores: Mapping[str, pd.DataFrame]) -> dict[str, Any]:
    first = run.rows["test"][:RECOMPUTED]
    table = score_rows(first).table().set_index("metric")
    return {
        "recompute": {
            "data": run.data,
            "split": "test",
            "n": RECOMPUTED,
            "correct": int(matches(first).sum()),
            "CIDEr-D": float(table["value"]["CIDEr-D"]),
        },
        "scores": {
            split: json.loads(found.set_index("metric").to_json(orient="index"))
            for split, found in scores.items()
        },
    }


def _card(
    run: Captioner,
    log: Log,
    columns: Mapping[str, pd.DataFrame],
    differences: Mapping[str, pd.DataFrame],
) -> str:
    return write_card(
        "captions",
        run.model,
        run.recipe,
        log,
        generated=is_scenes(run.data),
        curve=_curve(log),
        beam=BEAM,
        exact=matches(run.rows["test"]).mean(),
        scores=_scores(columns),
        differences=_others(run, differences),
    )


def _curve(log: Log) -> str:
    losses = [row for row in log if row["metric"] == "held_out_loss"]
    return table(
        [
            {
                "step": f"{int(row['step']):,}",
                "loss on dev (nats a word)": f"{float(row['value']):.3f}",
            }
            for row in losses
        ]
    )


def _scores(columns: Mapping[str, pd.DataFrame]) -> str:
    tables = {name: each.set_index("metric") for name, each in columns.items()}
    rows = [
        {"": metric} | {name: cell(each, metric) for name, each in tables.items()}
        for metric in tables["test"].index
    ]
    images = {name: f"{int(each['n'].max()):,}" for name, each in tables.items()}
    return table([*rows, {"": "images"} | images])


def _others(run: Captioner, differences: Mapping[str, pd.DataFrame]) -> str:
    rows = [
        {
            "difference": f"{run.recipe.name} − {other}",
            "score": metric,
            "95 % interval": cell(found.set_index("metric"), metric, "difference"),
        }
        for other, found in differences.items()
        for metric in found["metric"]
    ]
    return table(rows) if rows else ""
