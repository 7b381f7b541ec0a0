"""What a model says of what it is asked, in sentences."""

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
from tprprobe.interventions.prompts import is_model_of as is_model_of
from tprprobe.interventions.prompts import load_readable as load_readable
from tprprobe.interventions.prompts import query_image as query_image
from tprprobe.interventions.prompts import query_text as query_text
from tprprobe.interventions.prompts import read_output as read_output
from tprprobe.interventions.prompts import reads_images as reads_images
from tprprobe.store import Store
from tprprobe.store.token_texts import visible as visible

LEAST = 1e-38  # probability that a float32 tells from none


def write_share(p: float, measure: str = "probability") -> str:
    """A probability, or another number, in three digits."""
    if p >= 0.001 or measure != "probability":
        return f"{p:.3f}"
    return f"{p:.1e}" if p >= LEAST else f"below {LEAST:.0e}"


def summarize_said(asked: Prompt, said: ModelOutput, store: Store) -> str:
    """What the model says without an edit, how probable that is, and whether it is right where that is known."""
    what, measure = name_measure(said)
    row = said.table.iloc[said.first_rows[UNEDITED]]
    does = {
        ANSWER: "answers:",
        NEXT_WORD: "expects next:",
        NEAREST_SAMPLE: "is nearest to the sample",
    }[what]
    does = f"writes of {asked.text}:" if asked.is_image else does
    who = f"{asked.model.name}’s state of this text" if what == NEAREST_SAMPLE else asked.model.name
    told = f"{who} {does} ‘{row[what]}’ ({measure} {write_share(row[UNEDITED], measure)})"
    if exact := exact_answer(asked):
        return f"{told}; the exact answer is {exact}: {'right' if exact == row[what] else 'wrong'}."
    if what == ANSWER and not asked.is_image and (reference := find_reference(store, asked.text)):
        told += f"; the reference is {'the same' if reference == row[what] else f'‘{reference}’'}"
    cut = f" Only its first {len(asked.tokens)} tokens are read." if asked.was_cut else ""
    return f"{told}.{cut}"
