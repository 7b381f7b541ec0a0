"""Checkpoints that answer questions: exact match by module and split, and the card."""

import json
import platform
import tomllib
from collections import Counter
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.gold.formulas import QUESTION
from tprprobe.models import load_model
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.scoring.answers import evaluate, exact_match
from tprprobe.training.logs import FILE as LOG
from tprprobe.training.logs import read_log
from tprprobe.training.loop import MODEL
from tprprobe.training.recipes import Recipe, parse_recipe

SPLITS = {"small-test": 1000, "train-easy": 1000, "interpolate": 1000, "extrapolate": 500}
FOCUS = "mathematics:arithmetic__mixed"  # what the checkpoints are made for
RECOMPUTED = 200  # questions whose exact match a test computes again


def ship(run: Path, out: Path, recipe: Recipe) -> Path:
    """The checkpoint folder of a finished run: weights, recipe to print, card, curve, expected.json."""
    model: Any = load_model(run / MODEL)
    model.name = out.name
    trained = parse_recipe(_settings(run / MODEL))
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
    return tomllib.loads((folder / hub.RECIPE).read_text())


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
    """What a question asks for, without its wording where that is a template."""
    match = QUESTION.fullmatch(question)
    return match[2] if match else question


def _card(
    model: Any,
    recipe: Recipe,
    log: list[dict[str, Any]],
    rows: pd.DataFrame,
    unseen: dict[str, Any],
) -> str:
    seconds = float(log[-1]["seconds"])
    examples = recipe.steps * recipe.batch_size
    parameters = sum(parameter.numel() for parameter in model.parameters())
    curve = [row for row in log if row["metric"] == "exact_match" and row["split"] == "small-test"]
    low, high = unseen["exact_match_interval"]
    lines = [
        "---",
        "license: apache-2.0",
        "library_name: tprprobe",
        "tags: [tensor-product-representation, mathematics, interpretability]",
        "tprprobe:",
        "  data: mathematics:arithmetic__mixed",
        "  split: small-test",
        "---",
        f"# {recipe.name}",
        "",
        f"A small {model.architecture} ({parameters:,} parameters, float32) for the arithmetic modules of "
        "the Mathematics Dataset (Saxton et al. 2019, Apache-2.0; questions made by its generator), in "
        "numbers of one to three digits. It is made to be looked into, not to be good at mathematics: "
        "beyond the split `small` it answers little, and the table below says how little.",
        "",
        "## Training",
        "",
        f"`tprprobe train recipe.toml`: {recipe.steps:,} steps of {recipe.batch_size} questions "
        f"({examples:,} questions, with repetition), {recipe.precision}, one CPU thread of an "
        f"{platform.machine()} machine that also did other work, {seconds / 60:.0f} minutes. "
        "Seed, optimizer, learning rates and the mix of each stage are in `recipe.toml`; the whole curve is "
        "in `log.csv`.",
        "",
        "| step | questions seen | exact match, small-test of arithmetic__mixed (n 1,000) |",
        "|---|---|---|",
        *(
            f"| {row['step']} | {int(row['examples']):,} | {float(row['value']):.3f} |"
            for row in curve
        ),
        "",
        "## Exact match",
        "",
        "Fresh questions, held out: no question of `small-test` is in a training split. Intervals are "
        "Wilson's, 95 %, over questions. Beside it the share of the commonest answer, which a model "
        "that knows no arithmetic reaches.",
        "",
        "| split | module | n | exact match | 95 % interval | commonest answer |",
        "|---|---|---|---|---|---|",
        *(
            f"| {row['split']} | {row['module']} | {row['n']} | {row['exact_match']:.3f} | "
            f"[{row['low']:.3f}, {row['high']:.3f}] | {row['commonest_answer']:.3f} |"
            for row in rows.to_dict("records")
        ),
        "",
        "Held out means that the question's text was never trained on. Its expression may have been, in other "
        "words (`Calculate 2/3.`, `What is 2/3?`). On those questions of `small-test` of arithmetic__mixed "
        f"whose expression occurs in no training question, exact match is {unseen['exact_match']:.3f} "
        f"[{low:.3f}, {high:.3f}] (n {unseen['n']}).",
        "",
    ]
    return "\n".join(lines)
