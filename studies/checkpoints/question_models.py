"""Checkpoints that answer questions: exact match by module and split, and the card."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from studies.checkpoints.card import write_card
from studies.templates import table
from tprpapers.worlds.mathematics.formulas import QUESTION
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.files.settings import parse, read_toml
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate, exact_match
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.training.logs import FILE as LOG
from tprprobe.training.logs import read_log
from tprprobe.training.loop import MODEL
from tprprobe.training.recipes import Recipe

SPLITS = {"small-test": 1000, "train-easy": 1000, "interpolate": 1000, "extrapolate": 500}
FOCUS = "mathematics:arithmetic__mixed"  # what the checkpoints are made for
RECOMPUTED = 200  # questions whose exact match a test computes again


def ship(run: Path, out: Path, recipe: Recipe) -> Path:
    """The checkpoint folder of a finished run: weights, recipe to print, card, curve, expected.json."""
    model: Any = load_model(run / MODEL)
    model.name = out.name
    trained = parse(Recipe, _settings(run / MODEL), run)
    modules = sorted({mix.data.split(":")[1] for stage in recipe.stages for mix in stage.mix})
    rows = pd.concat([_measure(model, module, split) for split in SPLITS for module in modules])
    unseen = _unseen(model, trained)
    card = _card(model, recipe, read_log(run), rows, unseen)
    first = evaluate(model, load_data(FOCUS, split="small-test", n=RECOMPUTED))
    expected = {
        "recompute": {
            "data": FOCUS,
            "split": "small-test",
            "n": RECOMPUTED,
            "correct": int(first["correct"].to_numpy().sum()),
        },
        "exact_match": rows.to_dict("records"),
    }
    extra = {
        hub.EXPECTED: json.dumps(expected, indent=1) + "\n",
        LOG: (run / LOG).read_text(),
    }
    settings = recipe.model_dump(exclude_none=True)
    return save_pretrained(model, out, card, settings, extra=extra)


def _settings(folder: Path) -> dict[str, Any]:
    return read_toml(folder / hub.RECIPE)


def _measure(model: Any, module: str, split: str) -> pd.DataFrame:
    """One row: exact match on fresh questions, beside the share of the commonest answer."""
    try:
        rows = evaluate(model, load_data(f"mathematics:{module}", split=split, n=SPLITS[split]))
    except InputError:  # most modules have no extrapolation set
        return pd.DataFrame()
    found = exact_match(rows)
    low, high = found["exact_match_interval"]
    commonest = Counter(rows["answer"]).most_common(1)[0][1] / len(rows)
    return pd.DataFrame(
        [
            {
                "split": split,
                "module": module,
                "n": found["n"],
                "exact_match": found["exact_match"],
                "low": round(low, 4),
                "high": round(high, 4),
                "commonest_answer": commonest,
            }
        ]
    )


def _unseen(model: Any, recipe: Recipe) -> dict[str, Any]:
    """Exact match on small-test questions whose expression is in no training question at all."""
    seen: set[str] = set()
    for mix in {
        mix.data + str(mix.split): mix for stage in recipe.stages for mix in stage.mix
    }.values():
        for example in load_data(mix.data, split=mix.split, n=mix.n, seed=mix.seed):
            seen.add(_expression(example.source))
    data = load_data(FOCUS, split="small-test", n=SPLITS["small-test"])
    rows = evaluate(model, data)
    rows["new"] = [_expression(question) not in seen for question in rows["question"]]
    return exact_match(rows.query("new"))


def _expression(question: str) -> str:
    """The expression that a question asks for, without the words of its template."""
    match = QUESTION.fullmatch(question)
    return match[2] if match else question


def _card(
    model: Any,
    recipe: Recipe,
    log: list[dict[str, Any]],
    rows: pd.DataFrame,
    unseen: dict[str, Any],
) -> str:
    low, high = unseen["exact_match_interval"]
    return write_card(
        "questions",
        model,
        recipe,
        log,
        data=FOCUS,
        split="small-test",
        curve=_curve(log),
        scores=_scores(rows),
        unseen={"value": f"{unseen['exact_match']:.3f} [{low:.3f}, {high:.3f}]", "n": unseen["n"]},
    )


def _curve(log: list[dict[str, Any]]) -> str:
    rows = [row for row in log if row["metric"] == "exact_match" and row["split"] == "small-test"]
    return table(
        [
            {
                "step": str(row["step"]),
                "questions seen": f"{int(row['examples']):,}",
                "exact match, small-test of arithmetic__mixed (n 1,000)": f"{float(row['value']):.3f}",
            }
            for row in rows
        ]
    )


def _scores(rows: pd.DataFrame) -> str:
    return table(
        [
            {
                "split": row["split"],
                "module": row["module"],
                "n": str(row["n"]),
                "exact match": f"{row['exact_match']:.3f}",
                "95 % interval": f"[{row['low']:.3f}, {row['high']:.3f}]",
                "commonest answer": f"{row['commonest_answer']:.3f}",
            }
            for row in rows.to_dict("records")
        ]
    )
