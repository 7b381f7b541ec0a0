"""Tables of a TPGN's captions after its vectors were exchanged or replaced."""

from collections.abc import Sequence

import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.huang.unbinding.retrievals import ALL_STEPS
from tprpapers.huang.unbinding_tables import judged
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval


def substitution_table(substitutions: pd.DataFrame) -> Table:
    """What captions become where vectors are replaced while they are written, by edit and clusters."""
    rows = [
        {
            "folder": row["name"],
            "site": row["site"],
            "edit": row["edit"] + (f", {row['k']} centers" if row["k"] else ""),
            "strength": f"{row['strength']:g}",
            "images": f"{row['n']:,}",
            **{
                name: interval_text(read_interval(row, column))
                for name, column in (
                    ("tokens that agree", "agreement"),
                    ("captions unchanged", "same"),
                    ("CIDEr-D", "cider"),
                    ("change", "change"),
                )
            },
        }
        for row in substitutions.to_dict("records")
    ]
    caption = (
        "Greedy captions, [95 % interval] over images. Tokens that agree: of the tokens of the caption "
        "without an edit, those that the edited model predicts, teacher-forced, the end included.\nChange: of "
        "CIDEr-D, paired. Centers (snap) are of captions of other images, on standardized dimensions."
    )
    title, block = "Captions with replaced vectors", ("folder", "site")
    spare = ("strength", "images", "captions unchanged")
    cells = pd.DataFrame(rows)
    cells = cells if cells["folder"].nunique() > 1 else cells.drop(columns="folder")
    return Table(cells, title, caption, block=block, spare=spare)


def swaps_table(shares: pd.DataFrame, note: str, verdicts: Sequence[Verdict]) -> Table:
    """The words that are read where vectors of two steps are exchanged, by what is and, where that decides, how far."""
    exchange_names = {"nothing": "nothing", "unbinding": "u_t", "tpr": "Ŝ_t", "both": "u_t and Ŝ_t"}
    rows = [
        {
            "exchanged": exchange_names[row["exchanged"]],
            "steps to the other": row["steps"],
            "captions": f"{row['captions']:,}",
            **{
                name: interval_text(read_interval(row, column))
                for name, column in (
                    ("own word", "own"),
                    ("other's word", "other"),
                    ("neither", "neither"),
                )
            },
        }
        for row in shares.to_dict("records")
        if row["steps"] == ALL_STEPS or row["exchanged"] in ("unbinding", "tpr")
    ]
    rules = tuple(
        i for i in range(1, len(rows)) if rows[i]["exchanged"] != rows[i - 1]["exchanged"]
    )
    caption = (
        f"{note}\nTwo steps with different words are drawn from every caption and exchange these vectors. "
        "+2: the other word comes two steps later; −2: it was written two steps before.\nIf Ŝ_t held the "
        "words to come and u_t were their roles, u_t alone would bring the other's word."
    )
    title, block = "Words unbound by another step's vector", ("exchanged",)
    return judged(title, rows, caption, verdicts, ruled=rules, block=block)
