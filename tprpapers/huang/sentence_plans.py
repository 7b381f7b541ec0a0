"""Tables of a TPGN's sentence state: of exchanged and replaced vectors, and of the roles that fit Ŝ_t."""

from collections.abc import Sequence

import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.huang.unbinding.sentence_states import StateFit
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
    return Table(pd.DataFrame(rows), "Captions with replaced vectors", caption)


def swaps_table(shares: pd.DataFrame, note: str, verdicts: Sequence[Verdict]) -> Table:
    """The words that are read where vectors of two steps are exchanged, by what is and how far."""
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
    ]
    rules = tuple(
        i for i in range(1, len(rows)) if rows[i]["exchanged"] != rows[i - 1]["exchanged"]
    )
    caption = (
        f"{note}\nTwo steps with different words are drawn from every caption and exchange these vectors. "
        "+2: the other word comes two steps later; −2: it was written two steps before.\nIf Ŝ_t held the "
        "words to come and u_t were their roles, u_t alone would bring the other's word."
    )
    return judged("Words unbound by another step's vector", rows, caption, verdicts, rules)


def states_table(fit: StateFit, note: str) -> Table:
    """The share of Ŝ_t that roles hold, by their kind and number."""
    cells = {
        (row["roles"], row["directions"]): interval_text(read_interval(row, "share"))
        for row in fit.shares.to_dict("records")
    }
    rows = [
        {"roles": name}
        | {f"{m} of {fit.width}": cells[name, m] for m in dict.fromkeys(fit.shares["directions"])}
        for name in dict.fromkeys(fit.shares["roles"])
    ]
    differences = [i for i, row in enumerate(rows) if "−" in row["roles"]]
    caption = (
        f"{note}\nShare of ‖Ŝ_t‖² inside the span of so many roles, mean over {fit.words:,} words of "
        f"{fit.images:,} held-out images\nthat have a word before and one to come; fillers are free. "
        "Centers and other states are of the other images.\nOf u_t and of centers: the strongest directions "
        "of their d chunks of d numbers; one u spans its role only where\nroles are orthogonal, a whole dual "
        "basis always does. Roles of a TPR would hold far more than random directions,\nnearly what those of "
        "Ŝ_t itself hold."
    )
    return Table(
        pd.DataFrame(rows), "Roles that hold the sentence's state", caption, tuple(differences[:1])
    )


def duals_table(fit: StateFit) -> Table:
    """How far dual bases of cluster centers are from unbinding, by the number of clusters."""
    rows = [
        {
            "vectors": row["vectors"],
            "clusters": str(row["clusters"]),
            "error": interval_text(read_interval(row, "error")),
            "the best constant": f"{row['constant']:.3f}",
            "cosine": f"{row['cosine']:.2f}",
        }
        for row in fit.duals.to_dict("records")
    ]
    caption = (
        "Dual basis r of cluster centers in all d² dimensions. Error: root mean square of rᵀu − δ on "
        "held-out images.\nCosine: mean of a role with its center (1: orthogonal centers)."
    )
    return Table(pd.DataFrame(rows), "Dual bases of cluster centers", caption)
