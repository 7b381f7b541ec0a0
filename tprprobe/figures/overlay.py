"""Gold structure drawn over the characters of arithmetic questions: numerators, denominators."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures.strips import Frame
from tprprobe.gold import join
from tprprobe.store import Store

LOOKS = {"numerator": ("#0072B2", "solid"), "denominator": ("#B34700", "dashed")}
MISLED = "capitals: a '/' right before the number, or none, would tell the opposite"
LETTERS = f"gold structure: n numerator, d denominator, s sign\n{MISLED}"
LEGEND = f"gold structure: n numerator (solid frame), d denominator (dashed), s sign\n{MISLED}"


def gold_tokens(store: Store, samples: Sequence[int] | None = None) -> pd.DataFrame | None:
    """The source tokens of samples (all) with gold columns; None where they are no arithmetic."""
    tokens = store.tokens
    chosen = tokens["side"] == "source"
    if samples is not None:
        chosen &= tokens["sample"].isin(samples)
    try:
        return join(tokens.loc[chosen].reset_index(drop=True))
    except InputError:
        return None


def mark_polarity(question: pd.DataFrame) -> tuple[list[Frame], list[str]]:
    """Frames around the numbers of one question's tokens, and a letter under each character."""
    question = question.reset_index(drop=True)
    known = question[question["polarity"].notna()]
    frames = [
        Frame(rows[0], rows[-1] + 1, *LOOKS[str(known.at[rows[0], "polarity"])])
        for _, digits in known.groupby("number")
        for rows in [digits.index.tolist()]
    ]
    letters = question["polarity"].astype(object).map(lambda name: name[0], na_action="ignore")
    misled = question["discordant"].fillna(False).to_numpy(bool)
    letters = letters.where(~misled, letters.str.upper())
    return frames, letters.where(question["kind"] != "sign", "s").fillna("").tolist()
