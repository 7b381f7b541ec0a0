"""Gold structure drawn over the characters of arithmetic questions: numerators, denominators."""

from collections.abc import Iterable

import pandas as pd

from tprprobe.figures.strips import StripFrame

LOOKS = {"numerator": ("#0072B2", "solid"), "denominator": ("#B34700", "dashed")}
LETTERS = {"n": "n numerator", "d": "d denominator", "s": "s sign"}
MISLED = "capitals: a '/' right before the number, or none, would tell the opposite"


def marks_legend(letters: Iterable[str], framed: bool = False) -> str:
    """The legend of the letters that are drawn, and of their frames; empty without letters."""
    drawn = {each for each in letters if each}
    names = [name for letter, name in LETTERS.items() if {letter, letter.upper()} & drawn]
    if framed:
        styles = {LETTERS[kind[0]]: f" ({style} frame)" for kind, (_, style) in LOOKS.items()}
        names = [name + styles.get(name, "") for name in names]
    lines = [f"gold structure: {', '.join(names)}"] if names else []
    return "\n".join(lines + ([MISLED] if any(each.isupper() for each in drawn) else []))


def mark_polarity(question: pd.DataFrame) -> tuple[list[StripFrame], list[str]]:
    """Frames around the numbers of one question's tokens, and a letter under each character."""
    question = question.reset_index(drop=True)
    known = question[question["polarity"].notna()]
    frames = [
        StripFrame(rows[0], rows[-1] + 1, *LOOKS[str(known.at[rows[0], "polarity"])])
        for _, digits in known.groupby("number")
        for rows in [digits.index.tolist()]
    ]
    letters = question["polarity"].astype(object).map(lambda name: name[0], na_action="ignore")
    misled = question["discordant"].fillna(False).to_numpy(bool)
    letters = letters.where(~misled, letters.str.upper())
    return frames, letters.where(question["kind"] != "sign", "s").fillna("").tolist()
