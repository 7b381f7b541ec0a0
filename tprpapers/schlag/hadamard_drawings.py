"""Hadamard against tensor product: what the diagonal keeps of v ⊗ r, and unbinding (schlag Sec. 7)."""

from typing import Any

import pandas as pd
from matplotlib.axes import Axes

from tprprobe.figures.colors import shade_color
from tprprobe.figures.legends import legend
from tprprobe.figures.line_styles import PALE
from tprprobe.figures.look import current_look
from tprprobe.figures.style import FAINT, MUTED, Drawing, drawing, tidy
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

BASES = {
    "principal": "best subspace (PCA)",
    "repeated pairs": "best pairs, vectors repeat",
    "orthonormal pairs": "paper's form at its best",
    "own": "the model's own diagonal",
    "random pairs": "random orthonormal pairs",
}
TRAINED, UNTRAINED = ("#0072B2", "o"), (shade_color("#0072B2", PALE), "v")
METHODS = {
    ("outer", "duals"): ("tensor product, duals", "#0072B2", "o", "-"),
    ("outer", "learned"): ("tensor product, learned", "#56B4E9", "s", ":"),
    ("hadamard", "duals"): ("Hadamard, duals", "#D55E00", "^", "-"),
    ("hadamard", "learned"): ("Hadamard, learned", "#E69F00", "D", ":"),
}
NOTES = (
    "Marks: heads of {}. Directions, as many as a head is wide: PCA, which keeps most; tensors m ⊗ n, whose vectors may repeat; "
    "the same with orthonormal m and n, as in the paper; the diagonal, which the Hadamard product keeps.",
    "Unbinding: duals are computed from the roles alone; learned vectors have the least squared error for these fillers.",
)
TITLE = "Share of E|v ⊗ r|² kept by as many directions as a head is wide"
CAPTION = (
    "Held-out questions; mean over the heads of all these layers with [95 % interval] over questions, lowest and highest head. "
    "“of the best”: as a share of what PCA keeps.\nThe paper (schlag Sec. 7) prints no number: it claims "
    "that learning converges to the optimum, which would be 1 in that column.\nThe last layer alone may differ."
)


def capture_table(captured: pd.DataFrame) -> Table:
    """The share that each basis keeps: mean and range over heads, trained and untrained."""
    rows, rules = [], []
    groups: Any = captured.groupby(["stack", "untrained"], sort=False)
    for (stack, untrained), stack_rows in groups:
        rules.append(len(rows))
        heads = stack_rows[stack_rows["head"].notna()]
        for basis, name in BASES.items():
            shares = heads.loc[heads["basis"] == basis, "captured"]
            row = _mean(stack_rows[stack_rows["basis"] == basis])
            rows.append(
                {
                    "vectors": f"{stack}, {'untrained' if untrained else 'trained'}",
                    "directions": name,
                    "kept": interval_text(read_interval(row, "captured")),
                    "heads": f"{shares.min():.3f} to {shares.max():.3f}",
                    "of the best": interval_text(read_interval(row, "of_best")),
                }
            )
    return Table(pd.DataFrame(rows), TITLE, CAPTION, ruled=tuple(rules[1:]), block=("vectors",))


def _mean(rows: pd.DataFrame) -> pd.Series:
    """The row of the mean over heads; for a single head, its own row."""
    return rows[rows["head"].isna()].iloc[0] if len(rows) > 1 else rows.iloc[0]


def hadamard_against_tensor(captured: pd.DataFrame, unbound: pd.DataFrame) -> Drawing:
    """The share of v ⊗ r that directions keep, a mark per head (left); unbinding against
    constituents (right).
    """
    if current_look().is_narrow:
        figure = drawing(7, 5)
        basis_axes, unbinding_axes = figure.subplots(2, 1)
    else:
        figure = drawing(7, 3.1)
        basis_axes, unbinding_axes = figure.subplots(1, 2, width_ratios=(5, 4))
    _draw_bases(basis_axes, captured)
    tidy(basis_axes, "Kept of v ⊗ r, every head")
    _draw_unbinding(unbinding_axes, unbound)
    tidy(unbinding_axes, "Fillers recovered by unbinding")
    marks, kinds = basis_axes.get_legend_handles_labels()
    curves, methods = unbinding_axes.get_legend_handles_labels()
    legend(figure, [*marks, *curves], [*kinds, *methods])
    layers = [f"{layer:g}" for layer in captured["layer"].dropna().unique()]
    figure.put_below([NOTES[0].format(f"layers {', '.join(layers)}"), *NOTES[1:]])
    return figure


def _draw_bases(axes: Axes, captured: pd.DataFrame) -> None:
    heads: Any = captured[captured["head"].notna()]
    places = {basis: len(BASES) - 1 - i for i, basis in enumerate(BASES)}
    for untrained, group in heads.groupby("untrained"):
        color, marker = UNTRAINED if untrained else TRAINED
        y = group["basis"].map(places).astype(float) + (-0.16 if untrained else 0.16)
        axes.plot(
            group["captured"], y, marker, color=color, markersize=4, alpha=0.75, linestyle="none",
            markeredgewidth=0, label="untrained" if untrained else "trained",
        )  # fmt: skip
    axes.set_yticks(list(places.values()), [BASES[basis] for basis in places])
    axes.set(xlabel="share of E|v ⊗ r|², held out", xlim=(0, 1), ylim=(-0.6, len(BASES) - 0.4))
    axes.grid(axis="x", color=FAINT, linewidth=0.5)


def _draw_unbinding(axes: Axes, unbound: pd.DataFrame) -> None:
    model: Any = unbound[(unbound["vectors"] == "model") & ~unbound["untrained"]]
    for (binding, unbinding), (name, color, marker, dashes) in METHODS.items():
        method_rows = model[(model["binding"] == binding) & (model["unbinding"] == unbinding)]
        mean = method_rows.groupby("n")["accuracy"].mean()
        axes.plot(
            mean.index, mean, dashes, color=color, marker=marker, markersize=4, linewidth=1.2,
            label=name,
        )  # fmt: skip
    width = int(unbound["d_head"].iloc[0])
    axes.axvline(
        width, color=MUTED, linewidth=0.9, linestyle=":", label=f"width of a head: {width}"
    )
    axes.set(xlabel="bindings in the sum", ylabel="nearest candidate is right")
    axes.set_xscale("log", base=2)
    axes.xaxis.set_major_formatter("{x:g}")
    axes.set_ylim(0, 1.03)
    axes.grid(axis="y", color=FAINT, linewidth=0.5)
