"""Gold structure drawn over the characters of arithmetic questions: numerators, denominators."""

from collections.abc import Iterable

import pandas as pd

from tprprobe.figures.strips import StripFrame

LOOKS = {"numerator": ("#0072B2", "solid"), "denominator": ("#B34700", "dashed")}
LETTERS = {"n": "n numerator", "d": "d denominator", "s": "s sign"}
DISCORDANT = " (capital: the symbol before misleads)"


def marks_legend(letters: Iterable[str]) -> str:
    """The legend of the letters that are drawn; empty without letters."""
    present = {letter for letter in letters if letter}
    names = [name for letter, name in LETTERS.items() if {letter, letter.upper()} & present]
    return ", ".join(names) + DISCORDANT * any(letter.isupper() for letter in present)


def mark_polarity(question: pd.DataFrame) -> tuple[list[StripFrame], list[str]]:
    """Frames around the numbers of one question's tokens, and a letter under each character."""
    question = question.reset_index(drop=True)
    polar = question[question["polarity"].notna()]
    if polar.empty:
        return [], []
    frames = [
        StripFrame(rows[0], rows[-1] + 1, *LOOKS[str(polar.at[rows[0], "polarity"])])
        for _, digits in polar.groupby("number")
        for rows in [digits.index.tolist()]
    ]
    letters = question["polarity"].astype(object).map(lambda name: name[0], na_action="ignore")
    is_discordant = question["discordant"].fillna(False).to_numpy(bool)
    letters = letters.where(~is_discordant, letters.str.upper())
    return frames, letters.where(question["kind"] != "sign", "s").fillna("").tolist()
