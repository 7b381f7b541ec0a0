"""What a model expects next after two words' states are edited, layer by layer, beside controls."""

import numpy as np
import pandas as pd
from matplotlib.axes import Axes

from tprprobe.figures.style import HUES, INK, MUTED, Drawing, drawing, legend, tidy

LEVELS = {"none": "unedited", "other text": "the other text itself"}
CONTROLS = {  # color, dash
    "identity": (MUTED, ":"),
    "mean": (HUES[1], "--"),
    "random direction": (HUES[3], "--"),
    "wrong role": (HUES[2], "-."),
    "wrong position": (HUES[4], "-."),
}
ANSWERS = {
    "p_other": (HUES[5], "the other text's answer"),
    "p_answer": (INK, "the text's own answer"),
}


def behavior_by_layer(behaviors: pd.DataFrame) -> Drawing:
    """A row per edit and kind of site: the two answers against each other, and their probabilities, by layer.

    ``behaviors`` has the rows of :func:`tprprobe.interventions.behavior.measure_pairs`. Bands are 95 %
    intervals over items; filled dots differ from the strongest control (Holm, 5 %).
    """
    real = behaviors[behaviors["control"].eq("") & ~behaviors["edit"].isin((*LEVELS, "any"))]
    kinds = real["site"].map(kind_of)
    panels = list(dict.fromkeys(zip(real["edit"], kinds, strict=True)))
    figure = drawing(7, 0.9 + 2.1 * len(panels))
    axes = figure.subplots(len(panels), 2, squeeze=False)
    for (edit, kind), (left, right) in zip(panels, axes, strict=True):
        here = behaviors[behaviors["site"].map(kind_of).eq(kind)]
        _draw_difference(left, here, behaviors, edit)
        _draw_answers(right, here[here["edit"].eq(edit) & here["control"].eq("")], behaviors)
        tidy(left, f"{edit}, {kind}", grid="y")
        tidy(right, "probabilities of both answers", grid="y")
        left.set_ylabel("log-odds of the other answer")
        for panel in (left, right):
            panel.set_xlabel("layer")
            panel.set_xticks(*_ticks(here))
    for column, where in enumerate(("outside lower left", "outside lower right")):
        handles = axes[0, column].get_legend_handles_labels()
        legend(figure, *handles, loc=where, fontsize=6.5, ncols=2)
    figure.put_below(_notes(behaviors))
    return figure


def kind_of(site: str) -> str:
    """What a site holds: its last part; what the first layer reads stands at the left of the hidden states."""
    last = site.rpartition(".")[2]
    return "hidden" if last == "embedding" else last


def _draw_difference(axes: Axes, here: pd.DataFrame, behavior: pd.DataFrame, edit: str) -> None:
    for name, said in LEVELS.items():
        value = behavior.loc[behavior["edit"].eq(name), "difference"].iloc[0]
        dash = "-" if name == "none" else (0, (1, 1))
        axes.axhline(value, color=MUTED, linewidth=0.8, linestyle=dash, label=said)
    for control, (color, dash) in CONTROLS.items():
        rows = here[here["control"].eq(control) & here["edit"].isin((edit, "any"))]
        if len(rows):
            axes.plot(
                rows["layer"], rows["difference"], dash, color=color, linewidth=1, label=control
            )
    rows = here[here["edit"].eq(edit) & here["control"].eq("")]
    axes.plot(rows["layer"], rows["difference"], color=INK, linewidth=1.6, label="the edit itself")
    axes.fill_between(rows["layer"], rows["difference_low"], rows["difference_high"], color=INK, alpha=0.15,
                      linewidth=0)  # fmt: skip
    beyond = rows[(rows["p"] < 0.05) & (rows["beyond"] > 0)]
    axes.plot(beyond["layer"], beyond["difference"], "o", color=INK, markersize=3.5)


def _draw_answers(axes: Axes, rows: pd.DataFrame, behavior: pd.DataFrame) -> None:
    for name, (color, said) in ANSWERS.items():
        words = rows[name.replace("p_", "")].dropna().unique()
        said = f"{said}: {words[0]}" if len(words) else said
        axes.plot(rows["layer"], rows[name], color=color, linewidth=1.6, label=said)
        axes.fill_between(rows["layer"], rows[f"{name}_low"], rows[f"{name}_high"], color=color, alpha=0.15,
                          linewidth=0)  # fmt: skip
        floor = behavior.loc[behavior["edit"].eq("none"), name].iloc[0]
        axes.axhline(floor, color=color, linewidth=0.8, linestyle=":")
    axes.set_ylim(0, None)
    axes.yaxis.set_major_formatter(lambda share, _: f"{share:.0%}")


def _ticks(here: pd.DataFrame) -> tuple[list[int], list[str]]:
    layers = sorted(here["layer"].unique().tolist())
    step = max(1, -(-len(layers) // 10))
    some = [n for n in layers if n < 0 or (n % step == 0 and (n or step == 1 or layers[0] == 0))]
    return some, ["emb" if layer < 0 else str(layer) for layer in some]


def _notes(behavior: pd.DataFrame) -> list[str]:
    counts = behavior["n"].to_numpy()
    n = (
        f"{counts.max()} {'item' if counts.max() == 1 else 'items'}"
        if counts.min() == counts.max()
        else f"{counts.min()} to {counts.max()} items"
    )
    missing = int(np.nanmax(behavior["missing"]))
    lines = [
        f"n = {n}; trials that cannot be made: at most {missing} at a point. Dotted: unedited."
    ]
    if counts.max() > 1:
        lines += [
            "Bands: 95 % intervals over items. Dots: beyond the strongest control (paired sign test, Holm)."
        ]
    return lines


def behavior_table(behavior: pd.DataFrame) -> str:
    """The rows for a terminal: texts without an edit, then every edit, and beside it its strongest control."""
    shown = behavior[behavior["control"].eq("") & behavior["edit"].ne("any")]
    names = ["site", "edit", "n", "missing", "agrees", "difference", "kl", "p_answer", "p_other"]
    names += [
        name for name in ("against", "beyond", "beyond_low", "beyond_high", "p") if name in shown
    ]
    return shown[names].round(3).to_string(index=False, na_rep="")
