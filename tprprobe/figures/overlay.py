"""Gold structure drawn over the characters of arithmetic questions: numerators, denominators."""

import pandas as pd

from tprprobe.figures.strips import StripFrame

LOOKS = {"numerator": ("#0072B2", "solid"), "denominator": ("#B34700", "dashed")}
MISLED = "capitals: a '/' right before the number, or none, would tell the opposite"
LETTERS = f"gold structure: n numerator, d denominator, s sign\n{MISLED}"
LEGEND = f"gold structure: n numerator (solid frame), d denominator (dashed), s sign\n{MISLED}"


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
