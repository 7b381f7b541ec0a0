"""Checkpoints that summarize: their scores beside those of baselines and of one another, and the card."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from studies.checkpoints.summary_tables import describe_summaries
from studies.checkpoints.training_run import FinishedRun
from tprpapers.jiang.discreteness import measure_roles, pool_roles
from tprpapers.jiang.snapping import find_weights, measure_snapping, snapped
from tprpapers.scoring import BASELINES, baseline_rows, compare_scores, mean_scores, score_summaries
from tprpapers.worlds.english.reportsets import is_english
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.extraction.passes import read_block
from tprprobe.files import hub
from tprprobe.models.answers import evaluate
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.training.logs import FILE as LOG
from tprprobe.training.logs import read_log
from tprprobe.training.loop import cut_note

TESTED = {"test": 1000, "compositional": 500}  # documents; the latter of the generated English only
RECOMPUTED, SNAPPED = 40, 500  # documents that a test scores again; that are written twice
BEAM = {"beam": 4, "length_penalty": 2.0, "no_repeat": 3}  # of jiang's configuration
TEXTS = ["source", "target", "prediction"]


class Finished(FinishedRun):
    """A finished run on summaries; its rows are texts and scores."""

    def held_out(self, split: str, n: int) -> Dataset:
        """The first documents of a split it was not trained on."""
        return load_data(self.data, split=split, n=n)

    def scores(self, split: str) -> pd.DataFrame:
        """Every score of the summaries it writes greedily, a row per document; no texts."""
        if split not in self.rows:
            self.rows[split] = evaluate(self.model, self.held_out(split, TESTED[split]))
        return self.rows[split].drop(columns=TEXTS)


def ship_summaries(runs: Sequence[Finished], out: Path) -> list[Path]:
    """The checkpoint folders of these runs: half-precision weights, recipe, card, curve, scores."""
    return [_ship(run, [other for other in runs if other is not run], out) for run in runs]


def _ship(run: Finished, others: Sequence[Finished], out: Path) -> Path:
    vocabulary = run.model.vocabulary
    mix = run.recipe.stages[0].mix[0]
    measured = {
        "documents": mix.n or len(load_data(mix.data, split=mix.split)),
        "scores": {split: mean_scores(run.scores(split)) for split in _splits(run)},
        "baselines": _baselines(run),
        "differences": {o.recipe.name: _difference(run, o) for o in others if o.data == run.data},
        "beam": _beam(run),
        "cut": cut_note(encode_pairs(run.held_out("test", TESTED["test"]), vocabulary), vocabulary),
        "roles": _roles(run) if find_weights(run.model) else None,
    }
    first = run.rows["test"][:RECOMPUTED]
    expected = {
        "recompute": {
            "data": run.data,
            "split": "test",
            "n": RECOMPUTED,
            "correct": int(first["exact_match"].sum()),
            "rougeL": float(first["rougeL"].mean()),
        },
        "scores": {split: _plain(table) for split, table in measured["scores"].items()},
    }
    log = read_log(run.run)
    return save_pretrained(
        run.model,
        out / run.recipe.name,
        describe_summaries(run.model, run.recipe, log, measured),
        run.recipe.model_dump(exclude_none=True),
        torch.float16,
        {
            hub.EXPECTED: json.dumps(expected, indent=1) + "\n",
            LOG: pd.DataFrame(log).to_csv(index=False),
        },
    )


def _plain(table: pd.DataFrame) -> dict[str, Any]:
    return json.loads(table.to_json(orient="index"))


def _splits(run: Finished) -> list[str]:
    return list(TESTED) if is_english(run.data) else ["test"]


def _baselines(run: Finished) -> dict[str, pd.DataFrame]:
    """The scores of a document's first and of a random sentence."""
    rows = run.rows["test"][TEXTS]
    return {
        name: mean_scores(score_summaries(baseline_rows(rows, name), is_english(run.data)))
        for name in BASELINES
    }


def _difference(run: Finished, other: Finished) -> pd.DataFrame:
    return compare_scores(run.scores("test"), other.scores("test"))


def _beam(run: Finished) -> pd.DataFrame:
    rows = evaluate(run.model, run.held_out("test", SNAPPED), **BEAM)
    return mean_scores(rows.drop(columns=TEXTS))


def _roles(run: Finished) -> dict[str, pd.DataFrame]:
    """The discreteness of roles, and the effect of one-hot roles on loss and scores of the same
    documents.
    """
    data = run.held_out("test", SNAPPED)
    with snapped(run.model) as model:
        rows = evaluate(model, data).drop(columns=TEXTS)
    same = run.scores("test")[:SNAPPED]
    effect = compare_scores(rows, same)
    effect.insert(0, "soft", mean_scores(same)["value"])
    effect.insert(1, "one-hot", mean_scores(rows)["value"])
    cost = measure_snapping(run.model, [(each.source, each.target) for each in data])
    loss = cost[cost["score"] == "loss"]
    before, after = float(loss["as_trained"].iloc[0]), float(loss["one_hot"].iloc[0])
    effect.loc["loss", ["soft", "one-hot", "value"]] = [before, after, after - before]
    return {"discreteness": _discreteness(run.model, data), "effect": effect}


def _discreteness(model: Any, data: Dataset) -> pd.DataFrame:
    """One row per kind of sub-layer and one for all: peaks and entropy of teacher-forced passes.

    Columns: sublayer, n_distributions, above_98, above_90, entropy (bits), used_roles and
    n_roles (means over layers and heads).
    """
    pairs = encode_pairs(data, model.vocabulary)
    heads = measure_roles(read_block(model, pairs, find_weights(model), model.config.pad).rows)
    rows = pd.concat([pool_roles(heads, ["sublayer"]), pool_roles(heads).assign(sublayer="all")])
    used = heads.groupby("sublayer")[["used_roles", "n_roles"]].mean()
    used.loc["all"] = heads[["used_roles", "n_roles"]].mean()
    return rows.merge(used.reset_index(), on="sublayer")
