"""Checkpoints that caption images: their scores beside those of baselines and of one another."""

import json
import platform
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from studies.checkpoints.finished import FinishedRun
from studies.checkpoints.pages import markdown
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.worlds.scenes import is_scenes
from tprprobe.files import hub
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.scoring.answers import evaluate
from tprprobe.scoring.baselines import CAPTION_BASELINES, baseline_captions, first_images
from tprprobe.scoring.captions.toolkit import CaptionScores, compare_captions
from tprprobe.scoring.captions.writing import BEAM, caption_rows, matches, score_rows
from tprprobe.statistics import interval_text, read_interval
from tprprobe.training.logs import FILE as LOG
from tprprobe.training.logs import read_log

TESTED = {"test": 1000, "compositional": 500}  # examples; the latter of scenes only
RECOMPUTED = 100
KINDS = {
    "tpgn": "Tensor Product Generation Network (huang, 2018)",
    "cnn-lstm": "CNN-LSTM captioner (Vinyals et al., 2015), huang's baseline",
}


class Captioner(FinishedRun):
    """A finished run on captions."""

    @property
    def splits(self) -> list[str]:
        """What it is tested on."""
        return list(TESTED) if is_scenes(self.data) else ["test"]

    def held_out(self, split: str) -> Dataset:
        """The first examples of a split it was not trained on."""
        return load_data(self.data, split=split, n=TESTED[split])

    def scores(self, split: str) -> CaptionScores:
        """The scores of what it writes by a beam."""
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
    log: Sequence[Mapping[str, Any]],
    columns: Mapping[str, pd.DataFrame],
    differences: Mapping[str, pd.DataFrame],
) -> str:
    parts = [
        _front(run),
        f"# {run.recipe.name}\n\n{_what(run)}",
        f"## Training\n\n{_training(run, log)}",
        f"## Scores\n\n{_scores(run, columns)}",
    ]
    if differences:
        parts.append(f"## Beside the others\n\n{_others(run, differences)}")
    return "\n\n".join(parts) + "\n"


def _front(run: Captioner) -> str:
    lines = ["---", "license: apache-2.0", "library_name: tprprobe", "pipeline_tag: image-to-text"]
    lines += ["tags: [tensor-product-representation, image-captioning, interpretability]"]
    return "\n".join([*lines, "tprprobe:", f'  data: "{run.data}"', "  split: test", "---"])


def _what(run: Captioner) -> str:
    model, config = run.model, run.model.config
    size = sum(parameter.numel() for parameter in model.parameters())
    what = (
        f"A {KINDS[model.architecture]}, from scratch: {size:,} parameters in half precision, "
        f"d {config.d_model}, words of {config.d_embedding} dimensions, {len(model.vocabulary):,} words. "
    )
    if is_scenes(run.data):
        return what + (
            "It captions the generated scenes of this package (`docs/scenes.md`; no image is involved and "
            "nothing was downloaded)."
        )
    return what + (
        "It has seen no image: the features of a COCO image are made of some of its captions (a bag of "
        "words, projected), and it writes those that were held out (`docs/scenes.md`). Captions: COCO 2014, "
        "validation part (CC BY 4.0), which are not shipped; give a folder `coco` with a `.jsonl` of train, "
        "dev and test."
    )


def _training(run: Captioner, log: Sequence[Mapping[str, Any]]) -> str:
    recipe, last = run.recipe, log[-1]
    seconds = float(last["seconds"])
    losses = [row for row in log if row["metric"] == "held_out_loss"]
    curve = markdown(
        ("step", "loss on dev (nats a word)"),
        [(f"{int(row['step']):,}", f"{float(row['value']):.3f}") for row in losses],
    )
    return (
        f"`tprprobe train recipe.toml`: {recipe.steps:,} steps of {recipe.batch_size} captions, seed "
        f"{recipe.seed}, {recipe.optimizer.name}; one CPU thread of an {platform.machine()} machine that "
        f"also did other work (no GPU), {seconds / 60:.0f} minutes. Models of the same data have the same "
        f"captions, order, steps, vocabulary and about the same size.\n\n{curve}"
    )


def _scores(run: Captioner, columns: Mapping[str, pd.DataFrame]) -> str:
    tables = {name: table.set_index("metric") for name, table in columns.items()}
    metrics = tables["test"].index
    rows = [(name, *(_cell(table, name, "value") for table in tables.values())) for name in metrics]
    rows.append(("images", *(f"{int(table['n'].max()):,}" for table in tables.values())))
    exact = matches(run.rows["test"]).mean()
    held = (
        ""
        if is_scenes(run.data)
        else " There are one or two references, those held out: values do not compare with those of five."
    )
    return (
        f"Beam of {BEAM}, the COCO toolkit's scores in Python with 95 % intervals over images (bootstrap)."
        f"{held} Columns behind the splits are baselines on `test`, made of 5,000 training images. "
        f"{exact:.1%} of the captions on `test` are, word for word, one of their references.\n\n"
        + markdown(("", *tables), rows)
    )


def _cell(table: Any, metric: str, name: str) -> str:
    return interval_text(read_interval(table.loc[metric], name))


def _others(run: Captioner, differences: Mapping[str, pd.DataFrame]) -> str:
    rows = [
        (
            f"{run.recipe.name} − {other}",
            metric,
            _cell(table.set_index("metric"), metric, "difference"),
        )
        for other, table in differences.items()
        for metric in table["metric"]
    ]
    return (
        "Paired by image on `test`. One training run each: another seed may order the models otherwise.\n\n"
        + markdown(("difference", "score", "95 % interval"), rows)
    )
