"""The tables in the card of a checkpoint that summarizes."""

from collections.abc import Mapping
from typing import Any

import pandas as pd

from studies.checkpoints.card import Log, cell, number, write_card
from studies.templates import table
from tprpapers.worlds.english.reportsets import is_english
from tprprobe.training.recipes import Recipe

SHOWN = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeL": "ROUGE-L",
    "meteor": "METEOR (no synonyms)",
    "exact_match": "exact match",
    "grammatical": "grammatical",
    "faithful": "true of the document",
    "words": "words",
    "repetition": "repeated trigrams",
    "novel1": "novel words",
    "novel2": "novel bigrams",
}
COMPARED = ("rouge1", "rouge2", "rougeL", "exact_match")


def describe_summaries(model: Any, recipe: Recipe, log: Log, measured: Mapping[str, Any]) -> str:
    """The card of a model, filled with its measured scores."""
    first, own = measured["baselines"]["lead-1"], measured["scores"]["test"]
    roles, last = measured["roles"], log[-1]
    tokens = int(last["tokens"])
    return write_card(
        "summaries",
        model,
        recipe,
        log,
        generated=is_english(recipe.stages[0].mix[0].data),
        examples=int(last["examples"]),
        tokens=tokens,
        speed=f"{tokens / float(last['seconds']):,.0f}",
        documents=measured["documents"],
        cut=measured["cut"],
        curve=_curve(log),
        undertrained=own.loc["rougeL", "value"] < first.loc["rougeL", "value"],
        scores=_scores(measured),
        differences=_others(recipe, measured["differences"]),
        peaks=_peaks(roles["discreteness"]) if roles else "",
        one_hot=_effect(roles["effect"]) if roles else "",
    )


def _curve(log: Log) -> str:
    rows = pd.DataFrame(log).astype({"step": int, "tokens": int, "value": float})
    wide = rows[rows["split"].fillna("") == "dev"].pivot_table(
        index=["step", "tokens"], columns="metric", values="value"
    )
    return table(
        [
            {
                "step": f"{row['step']:,.0f}",
                "tokens": f"{row['tokens']:,.0f}",
                "loss on dev (nats a sub-word, unsmoothed)": f"{row['held_out_loss']:.3f}",
                "exact match on dev": f"{row['exact_match']:.3f}",
            }
            for row in wide.reset_index().to_dict("records")
        ]
    )


def _scores(measured: Mapping[str, Any]) -> str:
    columns: dict[str, pd.DataFrame] = (
        {f"{split}, greedy": found for split, found in measured["scores"].items()}
        | {"test, beam 4": measured["beam"]}
        | measured["baselines"]
    )
    rows = [
        {"": label} | {column: cell(found, name) for column, found in columns.items()}
        for name, label in SHOWN.items()
        if name in measured["scores"]["test"].index
    ]
    documents = {column: f"{int(found['n'].max()):,}" for column, found in columns.items()}
    return table([*rows, {"": "documents"} | documents])


def _others(recipe: Recipe, differences: Mapping[str, pd.DataFrame]) -> str:
    columns = ["difference", "score", "95 % interval", "p"]
    rows = [
        (f"{recipe.name} − {other}", SHOWN[name], cell(found, name), _p(number(found, name, "p")))
        for other, found in differences.items()
        for name in COMPARED
    ]
    return table(rows, columns)


def _p(value: float) -> str:
    return f"{value:.3f}" if value >= 0.0005 else "< 0.001"


def _peaks(found: pd.DataFrame) -> str:
    return table(
        [
            {
                "sub-layers": row["sublayer"],
                "distributions": f"{row['n_distributions']:,}",
                "max > .98": f"{row['above_98']:.3f}",
                "max > .90": f"{row['above_90']:.3f}",
                "entropy (bits)": f"{row['entropy']:.2f}",
                "roles used by a head": f"{row['used_roles']:.1f} of {row['n_roles']:.0f}",
            }
            for row in found.to_dict("records")
        ]
    )


def _effect(found: pd.DataFrame) -> str:
    names = {"loss": "loss (nats a sub-word)"} | {name: SHOWN[name] for name in COMPARED}
    return table(
        [
            {
                "": label,
                "as trained": f"{number(found, name, 'soft'):.3f}",
                "one-hot": f"{number(found, name, 'one-hot'):.3f}",
                "difference": f"{number(found, name, 'value'):+.3f}"
                if name == "loss"
                else cell(found, name),
            }
            for name, label in names.items()
        ]
    )
