"""Hadamard against tensor product: what the diagonal keeps of v ⊗ r, and unbinding (schlag Sec. 7)."""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.figures.line_styles import BASELINE
from tprprobe.figures.scenes import Dots, Grid, Lines
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

BASES = {
    "principal": "best subspace (PCA)",
    "repeated pairs": "best pairs, vectors repeat",
    "orthonormal pairs": "paper's form at its best",
    "own": "the model's own diagonal",
    "random pairs": "random orthonormal pairs",
}
METHODS = {
    ("outer", "duals"): "tensor product, duals",
    ("outer", "learned"): "tensor product, learned",
    ("hadamard", "duals"): "Hadamard, duals",
    ("hadamard", "learned"): "Hadamard, learned",
}
NOTES = (
    "Marks: heads of {}. Directions, as many as a head is wide: PCA, which keeps most; tensors m ⊗ n, whose vectors may repeat; "
    "the same with orthonormal m and n, as in the paper; the diagonal, which the Hadamard product keeps.",
    "Unbinding: duals are computed from the roles alone; learned vectors have the least squared error for these fillers.",
)
TITLE = "Share of E|v ⊗ r|² kept by as many directions as a head is wide"
CAPTION = (
    "Held-out questions; mean over the heads of all these layers with [95 % interval] over questions, lowest and highest head. "
    "“of the best”: as a share of what PCA keeps.\nSchlag et al. (2019, Sec. 7) prints no number: it claims "
    "that learning converges to the optimum, which would be 1 in that column."
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


def hadamard_against_tensor(captured: pd.DataFrame, unbound: pd.DataFrame) -> Grid:
    """The share of v ⊗ r that directions keep, a mark per head (left); unbinding against
    constituents (right).
    """
    layers = ", ".join(f"{layer:g}" for layer in captured["layer"].dropna().unique())
    note = "\n".join([NOTES[0].format(f"layers {layers}"), *NOTES[1:]])
    return Grid([_basis_dots(captured), _unbinding_lines(unbound)], 2, note=note)


def _basis_dots(captured: pd.DataFrame) -> Dots:
    heads = captured[captured["head"].notna()]
    is_baseline = heads["untrained"].astype(bool)
    rows = heads.assign(
        name=pd.Categorical(heads["basis"].map(BASES), [*BASES.values()]),
        group=np.where(is_baseline, "a head of the baseline model", "a head"), hue="heads",
        stands_for=np.where(is_baseline, BASELINE, ""),
        value=heads["captured"], low=heads["captured"], high=heads["captured"],
    ).sort_values(["untrained", "name"])  # fmt: skip
    label = "share of E|v ⊗ r|², held out"
    return Dots(rows, label, (0, 1), title="Kept of v ⊗ r, every head")


def _unbinding_lines(unbound: pd.DataFrame) -> Lines:
    model = unbound[(unbound["vectors"] == "model") & ~unbound["untrained"]]
    means = model.groupby(["binding", "unbinding", "n"])["accuracy"].mean()
    title, width = "Fillers recovered by unbinding", int(unbound["d_head"].iloc[0])
    tables = [
        means[binding, unbinding].rename("value").reset_index().assign(line=name, hue=binding)
        for (binding, unbinding), name in METHODS.items()
    ]
    rows = pd.concat(tables, ignore_index=True)
    rows = rows.assign(panel=title, x=rows["n"], low=rows["value"], high=rows["value"], sure=True)
    x = f"bindings in the sum (a head is {width} wide)"
    look: Any = {"x": x, "log": True, "limits": (0, 1.03), "title": title}
    return Lines(rows, label="nearest candidate is right", **look)
