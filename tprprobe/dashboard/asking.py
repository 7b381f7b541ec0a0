"""What a model says of what it is asked, in sentences."""

import pandas as pd

from tprprobe.interventions.prompts import (
    ANSWER,
    NEAREST_SAMPLE,
    NEXT_WORD,
    UNEDITED,
    ModelOutput,
    Prompt,
    exact_answer,
    find_reference,
    name_measure,
)
from tprprobe.store import Store

SMALLEST = 1e-38  # probability that a float32 tells from none


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
