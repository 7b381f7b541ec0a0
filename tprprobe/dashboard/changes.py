"""What a model says of a text, and what a change of it does to that, in sentences and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.interventions.prompt_edits import ARITHMETIC, BACK, ROLE
from tprprobe.interventions.prompts import (
    ANSWER,
    EDITED,
    NEAREST_SAMPLE,
    NEXT_WORD,
    UNEDITED,
    WORDS_EXCHANGED,
    ModelOutput,
    Prompt,
    exact_answer,
    find_reference,
    name_measure,
)
from tprprobe.store import Store
from tprprobe.store.token_texts import sign, visible

MAX_TOKENS = 600
MEANINGS = {
    EDITED: "the two exchange their vectors, or a head is set to 0",
    BACK: "control: the same vectors are put back",
    ROLE: "control: both keep their places, with the vectors that they have at the other place",
    WORDS_EXCHANGED: "the text with the two exchanged",
}
CONTROLS = (BACK, ROLE, WORDS_EXCHANGED)
SAYS = {ARITHMETIC: "Arithmetic gives", WORDS_EXCHANGED: "The text with the two exchanged gives"}


def write_share(p: float) -> str:
    """A probability or cosine in three digits."""
    return "below 0.001" if 0 < p < 0.001 else f"{p:.3f}"


def name_columns(table: pd.DataFrame) -> pd.DataFrame:
    """What may be said, with what its numbers are in their headings: ``probability, as it is``."""
    measure = name_measure(table)[1]
    values = table.columns[1:].drop("sample", errors="ignore")
    return table.rename(columns={name: f"{measure}, {name}" for name in values})


def summarize_said(prompt: Prompt, output: ModelOutput, store: Store) -> str:
    """What the model says without an edit, how probable that is, and whether it is right where that is known."""
    column, measure = name_measure(output.table)
    row = output.table.iloc[output.first_rows[UNEDITED]]
    other = " other" * (row[column] != visible(prompt.text, 90))  # of a store of one text, itself
    verb = {
        ANSWER: "answers:",
        NEXT_WORD: "expects next:",
        NEAREST_SAMPLE: f"has as its nearest{other} sample",
    }[column]
    verb = f"writes of {prompt.text}:" if prompt.is_image else verb
    name = prompt.model.name
    subject = f"{name}’s state of this text" if column == NEAREST_SAMPLE else name
    text = f"{subject} {verb} ‘{row[column]}’ ({measure} {write_share(row[UNEDITED])})"
    if exact := exact_answer(prompt):
        verdict = "right" if exact == row[column] else "wrong"
        return f"{text}; the exact answer is {exact}: {verdict}."
    has_reference = column == ANSWER and not prompt.is_image
    if has_reference and (reference := find_reference(store, prompt.text)):
        is_equal = reference == row[column]
        text += f"; the reference is {'the same' if is_equal else f'‘{reference}’'}"
    note = f" Only its first {len(prompt.tokens)} tokens are read." if prompt.was_cut else ""
    return f"{text}.{note}"


def pack_tokens(prompt: Prompt) -> list[dict[str, Any]]:
    """The tokens that a model was asked, each to be picked."""
    heading = "The caption" if prompt.is_image else "What the model reads"
    items = [
        {"name": str(i), "text": text, "title": f"‘{text}’ · token {i}"}
        for i, text in enumerate(map(sign, prompt.tokens[:MAX_TOKENS]))
    ]
    return [{"heading": heading, "items": items}]


def summarize_change(row: Mapping[str, Any]) -> str:
    """What an edit did to what is said, beside its controls, and whether that is what was predicted."""
    (column,) = (name.removeprefix("old ") for name in row if name.startswith("old "))
    measure = "cosine" if column == NEAREST_SAMPLE else "probability"
    old, new, edit = row[f"old {column}"], row[f"new {column}"], row["edit"]
    p = {
        name.removeprefix(f"{measure} of "): write_share(value)
        for name, value in row.items()
        if name.startswith(measure)
    }
    text = f"{edit[0].upper()}{edit[1:]}: the {column} "
    text += f"stays ‘{old}’" if new == old else f"‘{old}’"
    text += f" ({measure} {p[f'old, {UNEDITED}']}, now {p[f'old, {EDITED}']})"
    if new != old:
        text += f" becomes ‘{new}’ ({p[f'new, {UNEDITED}']}, now {p[f'new, {EDITED}']})"
    if other := row.get(f"other {column}"):
        text += describe_other(other, p[f"other, {UNEDITED}"], p[f"other, {EDITED}"])
    controls = [f"{way} {p[f'new, {way}']}" for way in CONTROLS if f"new, {way}" in p]
    if controls:
        text += f". For comparison, the {measure} of ‘{new}’: {', '.join(controls)}"
    if "predicted" not in row or (measure == "cosine" and old == new == row["predicted"]):
        return f"{text}."
    note = ", as before" if row["predicted"] == old else ""
    verdict = ", too" if row["as predicted"] else f"{note}, not ‘{new}’"
    return f"{text}. {SAYS[row['by']]} ‘{row['predicted']}’{verdict}."


def describe_other(word: str, before: str, after: str) -> str:
    """What changes most of all that is not first; empty if no change is written."""
    return f". Of the others, ‘{word}’ changes most: {before}, now {after}" * (before != after)


def tabulate(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame([{"experiment": n, **row} for n, row in enumerate(rows, 1)][::-1])


def explain(table: pd.DataFrame) -> str:
    """What the ways in the columns of a table are."""
    return " · ".join(f"{way}: {meaning}" for way, meaning in MEANINGS.items() if way in table)
