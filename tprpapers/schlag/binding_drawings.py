"""The binding problem: the exact demonstration as a table, and the paired accuracy of trained
models.
"""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.figures.line_styles import BASELINE
from tprprobe.figures.scenes import Lines
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, measured, read_interval

BARS = ("first", "middle", "last")
EXACT_TITLE = "a → b, c → d against a → d, c → b: what two attention layers make of them"
EXACT_CAPTION = (
    "Random networks of integers in float64, so equal is bit for bit. formula: the share whose "
    "difference is Σ O'[(V'O[V(z_b − z_d) ⊙ (w_a r_a − w_c r_c)]) ⊙ r_e] exactly (as printed: with "
    "r_e = 1). Schlag et al. (2019, Sec. 6.2): the standard model's states are equal, Eq. 10; TP-attention's "
    "are not, Eq. 11.\nDegree: of the input in the states after each layer, attention weights held fixed "
)
PROBE_TITLE = "Which digit divides a in (a/b)/(c/d) and (a/d)/(c/b)? Paired accuracy, middle bar"
PROBE_CAPTION = (
    "Both questions of a pair right, [95 % interval] over pairs of digits; 0 for a state that is the same "
    "for both, 0.25 for guesses. depth 0: before any attention.\nThe paper prints no number for it "
    "(Sec. 6.2 argues on paper), so there is none beside ours."
)


def demonstration_table(demonstration: pd.DataFrame, degrees: pd.DataFrame) -> Table:
    """The exact demonstration, with the polynomial degrees in its caption."""
    cells = pd.DataFrame(
        {
            "attention": demonstration["attention"],
            "case": demonstration["case"],
            "networks": [str(n) for n in demonstration["draws"]],
            "equal": [f"{share:.0%}" for share in demonstration["equal"]],
            "formula": [
                "–" if share != share else f"{share:.0%}" for share in demonstration["formula"]
            ],
            "largest difference": [f"{x:,.10g}" for x in demonstration["largest_difference"]],
        }
    )
    first_tp = int((demonstration["attention"] == "tp").argmax())
    raised = [
        f"{kind} {', '.join(map(str, rows['degree']))}"
        for kind, rows in degrees.groupby("attention", sort=False)
    ]
    caption = f"{EXACT_CAPTION}(layer 0 is the input): {'; '.join(raised)}."
    return Table(cells, EXACT_TITLE, caption, ruled=(first_tp,), block=("attention",))


def binding_table(probed: pd.DataFrame, bar: str = "middle") -> Table:
    """Paired accuracy at one fraction bar by model and depth, beside what the models answer."""
    rows = []
    groups: Any = probed.groupby(["model", "untrained"], sort=False)
    for (model, untrained), probed_model in groups:
        at_bar = probed_model[probed_model["bar"] == bar].sort_values("depth")
        row = {
            "model": f"{model}, untrained" if untrained else str(model),
            "exact match": interval_text(read_interval(at_bar.iloc[0], "exact_match")),
        }
        for _, depth_row in at_bar.iterrows():
            row[f"depth {depth_row['depth']}"] = interval_text(
                read_interval(depth_row, "paired_accuracy")
            )
        rows.append(row)
    cells = pd.DataFrame(rows).fillna("–")
    return Table(cells, PROBE_TITLE, PROBE_CAPTION, spare=("depth 0", "exact match"))


def binding_lines(probed: pd.DataFrame) -> Lines:
    """Paired accuracy against depth, a panel per fraction bar, a line per model beside its baseline model's."""
    bars = pd.Categorical(probed["bar"], BARS, ordered=True)
    probed = probed.assign(bar=bars).sort_values(["bar", "depth"], kind="stable")
    is_untrained, panels = probed["untrained"].astype(bool), probed["bar"].astype(str) + " bar"
    names = probed["model"] + is_untrained.map({True: ", untrained", False: ""})
    places = {"panel": panels, "line": names, "group": probed["model"], "x": probed["depth"]}
    rows = measured(probed, "paired_accuracy", sure=True, **places)
    rows["stands_for"] = np.where(is_untrained, BASELINE, "")
    levels = pd.DataFrame({"panel": panels.unique(), "line": "guesses", "value": 0.25})
    return Lines(
        rows, label="paired accuracy", x="attention layers read", percent=False, levels=levels, limits=(-0.03, 1.05),
        note="Bands: 95 % intervals over pairs of digits.",
    )  # fmt: skip
