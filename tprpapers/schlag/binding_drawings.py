"""The binding problem: the exact demonstration as a table, and the paired accuracy of trained
models.
"""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from tprprobe.figures.colors import palette, shade_color
from tprprobe.figures.line_styles import MARKERS, PALE
from tprprobe.figures.style import FAINT, INK, MUTED, Drawing, drawing, tidy
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

BARS = ("first", "middle", "last")
EXACT_TITLE = "a → b, c → d against a → d, c → b: what two attention layers make of them"
EXACT_CAPTION = (
    "Random networks of integers in float64, so equal is bit for bit. formula: the share whose "
    "difference is Σ O'[(V'O[V(z_b − z_d) ⊙ (w_a r_a − w_c r_c)]) ⊙ r_e]\nexactly (as printed: with "
    "r_e = 1). Paper (schlag Sec. 6.2): the standard model's states are equal, Eq. 10; TP-attention's "
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
    return Table(cells, EXACT_TITLE, caption, ruled=(first_tp,))


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
    return Table(pd.DataFrame(rows).fillna("–"), PROBE_TITLE, PROBE_CAPTION)


def binding_accuracy(probed: pd.DataFrame) -> Drawing:
    """Paired accuracy against depth, a panel per fraction bar, a line per model (its twin dashed)."""
    figure = drawing(7, 2.9)
    panels = figure.subplots(1, len(BARS), sharey=True)
    models = list(probed["model"].unique())
    for bar, axes in zip(BARS, panels, strict=True):
        for i, (model, color) in enumerate(zip(models, palette(len(models)), strict=True)):
            bar_rows: Any = probed[(probed["model"] == model) & (probed["bar"] == bar)]
            for untrained, model_rows in bar_rows.groupby("untrained"):
                name = f"{model}, untrained" if untrained else str(model)
                shift = (i - (len(models) - 1) / 2) * 0.08
                _draw_line(axes, model_rows, name, (color, MARKERS[i % len(MARKERS)], shift))
        axes.axhline(0.25, color=MUTED, linewidth=0.8, linestyle=":")
        axes.set(xlabel="attention layers read", ylim=(-0.03, 1.05))
        axes.set_xticks(sorted(probed["depth"].unique()))
        axes.grid(axis="y", color=FAINT, linewidth=0.5)
        tidy(axes, f"{bar} bar")
    panels[0].set_ylabel("paired accuracy")
    panels[0].annotate(
        "guesses", (1, 0.25), xycoords=("axes fraction", "data"), xytext=(0, -3),
        textcoords="offset points", ha="right", fontsize=6, color=INK, va="top",
    )  # fmt: skip
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(
        handles, labels, loc="outside lower center", ncols=3, fontsize=7, frameon=False,
        handlelength=3.5,
    )  # fmt: skip
    return figure


def _draw_line(axes: Axes, depth_rows: Any, name: str, style: tuple) -> None:
    rows, (color, marker, shift) = depth_rows.sort_values("depth"), style
    values = rows["paired_accuracy"]
    errors = [values - rows["paired_accuracy_low"], rows["paired_accuracy_high"] - values]
    untrained = bool(rows["untrained"].iloc[0])
    axes.errorbar(
        rows["depth"] + shift, values, errors, color=shade_color(color, PALE) if untrained else color,
        marker="v" if untrained else marker, markersize=4.5, linestyle="--" if untrained else "-",
        linewidth=1.1, capsize=2, label=name,
    )  # fmt: skip
