"""What a model says of what it is asked, in sentences."""

from tprprobe.interventions.asked_texts import (
    ANSWER,
    NEAR,
    NEXT,
    PLAIN,
    Asked,
    Said,
    exact_answer,
    find_reference,
    measure_of,
)
from tprprobe.interventions.asked_texts import ask_image as ask_image
from tprprobe.interventions.asked_texts import ask_text as ask_text
from tprprobe.interventions.asked_texts import is_model_of as is_model_of
from tprprobe.interventions.asked_texts import listen as listen
from tprprobe.interventions.asked_texts import load_asked as load_asked
from tprprobe.interventions.asked_texts import reads_images as reads_images
from tprprobe.store import Store
from tprprobe.store.token_texts import visible as visible

SMALLEST = 1e-38  # probability that a float32 tells from none


def write_share(p: float, measure: str = "probability") -> str:
    """A probability, or another number, in three digits."""
    if p >= 0.001 or measure != "probability":
        return f"{p:.3f}"
    return f"{p:.1e}" if p >= SMALLEST else f"below {SMALLEST:.0e}"


def summarize_said(prompt: Asked, output: Said, store: Store) -> str:
    """What the model says without an edit, how probable that is, and whether it is right where that is known."""
    column, measure = measure_of(output)
    row = output.table.iloc[output.first[PLAIN]]
    verb = {ANSWER: "answers:", NEXT: "expects next:", NEAR: "is nearest to the sample"}[column]
    verb = f"writes of {prompt.text}:" if prompt.is_image else verb
    name = prompt.model.name
    subject = f"{name}’s state of this text" if column == NEAR else name
    text = f"{subject} {verb} ‘{row[column]}’ ({measure} {write_share(row[PLAIN], measure)})"
    if exact := exact_answer(prompt):
        verdict = "right" if exact == row[column] else "wrong"
        return f"{text}; the exact answer is {exact}: {verdict}."
    has_reference = column == ANSWER and not prompt.is_image
    if has_reference and (reference := find_reference(store, prompt.text)):
        is_equal = reference == row[column]
        text += f"; the reference is {'the same' if is_equal else f'‘{reference}’'}"
    note = f" Only its first {len(prompt.tokens)} tokens are read." if prompt.was_cut else ""
    return f"{text}.{note}"
