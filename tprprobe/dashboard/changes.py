"""What a change of a text does to what a model says, in sentences and tables."""

from collections.abc import Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.dashboard.asking import write_share
from tprprobe.interventions.prompt_edits import ARITHMETIC, BACK, ROLE
from tprprobe.interventions.prompts import EDITED, UNEDITED, WORDS_EXCHANGED, Prompt
from tprprobe.store.token_texts import sign

MAX_TOKENS = 600
MEANINGS = {
    UNEDITED: "nothing is edited",
    EDITED: "the two exchange their vectors, or a head is set to 0",
    BACK: "control: the same vectors are put back",
    ROLE: "control: both keep their places, with the vectors that they have at the other place",
    WORDS_EXCHANGED: "the upper bound: the text with the two exchanged",
}
SAYS = {ARITHMETIC: "Arithmetic gives", WORDS_EXCHANGED: "The text with the two exchanged gives"}


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
        text += f". ‘{after}’ otherwise: {controls}"
    if "predicted" not in row:
        return f"{text}."
    verdict = "as predicted" if row["as predicted"] else "not as predicted"
    note = ", the same as before" if row["predicted"] == before else ""
    return f"{text}. {SAYS[row['by']]} ‘{row['predicted']}’{note}: {verdict}."


def tabulate(rows: Sequence[Mapping[str, Any]]) -> pd.DataFrame:
    """Experiments as a table, the newest first."""
    return pd.DataFrame([{"experiment": n, **row} for n, row in enumerate(rows, 1)][::-1])


def explain(table: pd.DataFrame) -> str:
    """What the ways in the columns of a table are."""
    return " · ".join(f"{way}: {meaning}" for way, meaning in MEANINGS.items() if way in table)
