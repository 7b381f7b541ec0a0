"""The figure: edits with pairs never seen, by subject and method, and what methods claim of nulls and twins."""

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from benchmarks.binding.runner import list_methods


def draw_figure(edits: pd.DataFrame, claims: pd.DataFrame, path: Path) -> Path:
    """Two maps, a row a method and a column a subject: shares from 0 to 1; a dash is "cannot answer"."""
    parts = [
        (edits, "interchange_withheld", "Edits with withheld pairs: all symbols right", "viridis"),
        (
            claims,
            "claims_shuffled",
            "Claims binding (beats shuffled roles) in nulls and twins",
            "Reds",
        ),
    ]
    tables = [
        of.pivot_table(m, "method", "subject", sort=False, dropna=False) for of, m, _, _ in parts
    ]
    widths = [table.shape[1] for table in tables]
    with plt.rc_context({"font.size": 8}):
        figure, axes = plt.subplots(
            1, 2, figsize=(11, 4.6), width_ratios=widths, layout="constrained"
        )
        for ax, table, (_, _, title, colors) in zip(axes, tables, parts, strict=True):
            values = table.to_numpy(float)
            ax.imshow(values, cmap=colors, vmin=0, vmax=1, aspect="auto")
            for (row, column), value in np.ndenumerate(values):
                dark = (value < 0.6) == (colors == "viridis") and np.isfinite(value)
                text = f"{value:.2f}".replace("0.", ".", 1) if np.isfinite(value) else "–"
                ax.text(
                    column, row, text, ha="center", va="center", color="white" if dark else "black"
                )
            ax.set_title(title, loc="left", fontsize=9)
            ax.set_xticks(range(len(table.columns)), table.columns, rotation=40, ha="right")
            ax.set_yticks(range(len(table)), [list_methods()[str(m)].TITLE for m in table.index])
            ax.spines[:].set_visible(False)
            ax.tick_params(length=0)
        axes[1].set_yticklabels([])
        figure.savefig(path, dpi=150, metadata={"Software": None})
        plt.close(figure)
    return path
