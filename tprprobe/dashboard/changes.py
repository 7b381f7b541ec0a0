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
from tprprobe.store.token_texts import sign

SMALLEST = 1e-38  # probability that a float32 tells from none
MAX_TOKENS = 600
MEANINGS = {
    UNEDITED: "nothing is edited",
    EDITED: "the two exchange their vectors, or a head is set to 0",
    BACK: "control: the same vectors are put back",
    ROLE: "control: both keep their places, with the vectors that they have at the other place",
    WORDS_EXCHANGED: "the text with the two exchanged",
}
SAYS = {ARITHMETIC: "Arithmetic gives", WORDS_EXCHANGED: "The text with the two exchanged gives"}


def write_share(p: float, measure: str = "probability") -> str:
    """A probability, or another number, in three digits."""
    if p >= 0.001 or measure != "probability":
        return f"{p:.3f}"
    return f"{p:.1e}" if p >= SMALLEST else f"below {SMALLEST:.0e}"


def name_columns(table: pd.DataFrame) -> pd.DataFrame:
    """What may be said, with what its numbers are in their headings: ``probability, as it is``."""
    measure = "cosine" if table.columns[0] == NEAREST_SAMPLE else "probability"
    values = table.columns[1:].drop("sample", errors="ignore")
    return table.rename(columns={name: f"{measure}, {name}" for name in values})


def summarize_said(prompt: Prompt, output: ModelOutput, store: Store) -> str:
    """What the model says without an edit, how probable that is, and whether it is right where that is known."""
    column, measure = name_measure(output)
    row = output.table.iloc[output.first_rows[UNEDITED]]
    verb = {
        ANSWER: "answers:",
        NEXT_WORD: "expects next:",
        NEAREST_SAMPLE: "is nearest to the sample",
    }[column]
    verb = f"writes of {prompt.text}:" if prompt.is_image else verb
    name = prompt.model.name
    subject = f"{name}’s state of this text" if column == NEAREST_SAMPLE else name
    text = f"{subject} {verb} ‘{row[column]}’ ({measure} {write_share(row[UNEDITED], measure)})"
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
    column = next(name for name in row if name.endswith(" before")).removesuffix(" before")
    measure = "cosine" if "cosine" in row else "probability"
    before, after, edit = row[f"{column} before"], row[f"{column} after"], row["edit"]
    names = (measure, "now", "of it before", "of it now", BACK, ROLE, WORDS_EXCHANGED)
    p = {name: write_share(row[name], measure) for name in names if name in row}
    text = f"{edit[0].upper()}{edit[1:]}: the {column} "
    text += f"stays ‘{before}’" if after == before else f"‘{before}’"
    text += f" ({measure} {p[measure]}, now {p['now']})"
    if after != before:
        text += f" becomes ‘{after}’ ({p['of it before']}, now {p['of it now']})"
    if controls := ", ".join(
        f"{way} {p[way]}" for way in (BACK, ROLE, WORDS_EXCHANGED) if way in p
    ):
        text += f". For comparison, the {measure} of ‘{after}’: {controls}"
    if "predicted" not in row or ("cosine" in row and before == after == row["predicted"]):
        return f"{text}."
    note = ", as before" if row["predicted"] == before else ""
    verdict = ", too" if row["as predicted"] else f"{note}, not ‘{after}’"
    return f"{text}. {SAYS[row['by']]} ‘{row['predicted']}’{verdict}."


def tabulate(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    return pd.DataFrame([{"experiment": n, **row} for n, row in enumerate(rows, 1)][::-1])


def explain(table: pd.DataFrame) -> str:
    """What the ways in the columns of a table are."""
    return " · ".join(f"{way}: {meaning}" for way, meaning in MEANINGS.items() if way in table)
