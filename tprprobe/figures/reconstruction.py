"""Affine reconstruction of z from one head's value vector, with controls."""

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import NullLocator

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.analyses.reconstruction.fits import list_results
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE
from tprprobe.figures.style import INK, MUTED, Drawing, drawing, figure_files, legend, tidy
from tprprobe.figures.tables import Table
from tprprobe.files.runs import encode
from tprprobe.files.writing import write_folder
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.provenance import origin_json

SMALL = 100  # questions or positions of the smallest training sets
# Color, marker and dashes of what is drawn.
STYLES = {
    "heads": ("one head (mean)", "#0072B2", "o", "-"),
    "random": ("random projections", "#D55E00", "s", "--"),
    "pca": ("best linear code (PCA)", "#009E73", "^", ":"),
    "mean": ("mean of z", MUTED, "", "-."),
}
ROWS = {
    "heads": "one head (mean)",
    "random": "random projections of that width",
    "pca": "PCA of that width",
    "all heads": "all heads together",
    "mean": "mean of z (effective rank {:.1f})",
}
TITLE = "Affine reconstruction of z from the value vector of one head: error per dimension"
HELD_OUT = "Held out: a quarter of the questions; [95 % interval] over questions."
CAPTION = f"{HELD_OUT} n = {SMALL}: in-sample."


def reconstruction_table(results: pd.DataFrame, layer: int = -1) -> Table:
    """The reconstruction of z in one layer of every model of ``tprprobe reconstruct``."""
    rows, ruled = [], []
    groups: Any = results.groupby(["model", "untrained"], sort=False)
    for (model, untrained), found in groups:
        number = int(sorted(found["layer"].unique())[layer])
        ruled.append(len(rows))
        name = f"{model}, untrained" if untrained else str(model)
        rows += _rows(found[found["layer"] == number], name, number)
    return Table(pd.DataFrame(rows), TITLE, CAPTION, ruled=tuple(ruled[1:]))


def save_reconstruction(
    results: pd.DataFrame, out: str | os.PathLike[str], stores: Sequence[Store]
) -> Path:
    """The new folder with the results of some stores, their table and their figure."""
    files: Any = {RECONSTRUCTION.file: results.to_csv(index=False)}
    files[FILE] = encode(list_results(results))
    files["reconstruction.json"] = origin_json({"stores": [each.fingerprint for each in stores]})
    files["reconstruction.md"] = reconstruction_table(results).markdown()
    return write_folder(out, files | figure_files(reconstruction_curves(results)))


def _rows(found: Any, model: str, layer: int) -> Iterator[dict[str, str]]:
    whole = _whole(found, "held_out")
    small = found[(found["n"] == SMALL) & (found["split"] == "in_sample")]
    for predictor, name in ROWS.items():
        row = whole[whole["predictor"] == predictor].iloc[0]
        readings = small[small["predictor"] == predictor].set_index("unit")["mse"]
        yield {
            "model": model,
            "layer": str(layer),
            "from": name.format(row["effective_rank"]),
            "held out": interval_text(read_interval(row, "mse"), ".4f"),
            "R²": interval_text(read_interval(row, "r2")),
            "R² over random": interval_text(read_interval(row, "gain"), "+.3f"),
            "n = 100 positions": _number(readings, "position"),
            "n = 100 questions": _number(readings, "question"),
        }


def _number(readings: Any, unit: str) -> str:
    return f"{readings[unit]:.4f}" if unit in readings else "–"


def _whole(found: Any, split: str) -> Any:
    """The rows of the largest training set, without penalty."""
    of = found[(found["unit"] == "question") & (found["penalty"] == "none")]
    return of[(of["split"] == split) & (of["n"] == of["n"].max())]


def reconstruction_curves(
    results: pd.DataFrame, layer: int = -1, others: Mapping[str, float] = MappingProxyType({})
) -> Drawing:
    """Error against the number of positions fitted (left) and by layer (right), a row per model.

    ``others`` are errors at the smallest number, by name.
    """
    trained: Any = results[~results["untrained"]]
    if trained.empty:
        raise InputError("there are no results of a trained model to draw")
    models = list(trained["model"].unique())
    figure = drawing(7, 2.7 * len(models) + 0.5)
    panels = figure.subplots(len(models), 2, squeeze=False, width_ratios=(3, 2))
    for model, (left, right) in zip(models, panels, strict=True):
        of_model: Any = results[results["model"] == model]
        number = int(sorted(of_model["layer"].unique())[layer])
        _draw_sweep(left, of_model[~of_model["untrained"] & (of_model["layer"] == number)], others)
        tidy(left, f"{model}, layer {number}", grid="y")
        _draw_layers(right, of_model)
        tidy(right, "by layer, held out", grid="y")
    known = (each.get_legend_handles_labels() for each in panels[0])
    both = ([*left, *right] for left, right in zip(*known, strict=True))
    legend(figure, *both, loc="outside lower center", ncols=3, handlelength=3.5)
    return figure


def _draw_sweep(axes: Axes, found: Any, others: Mapping[str, float]) -> None:
    """Error against n positions: held out filled, in-sample hollow, beside errors of others."""
    of = found[(found["unit"] == "position") & (found["penalty"] == "none")]
    for predictor in ("heads", "random", "pca"):
        name, color, marker, dashes = STYLES[predictor]
        for split, fill in (("held_out", color), ("in_sample", "white")):
            rows = of[(of["predictor"] == predictor) & (of["split"] == split)].sort_values("n")
            label = f"{name}, {split.replace('_', ' ')}"
            look: Any = {"color": color, "marker": marker, "markersize": 4.5, "linewidth": 1.2}
            axes.plot(rows["n"], rows["mse"], dashes, markerfacecolor=fill, label=label, **look)
    for marker, (name, error) in zip("x+", others.items(), strict=False):
        label = f"{name}: {error}"
        axes.plot(SMALL, error, marker, color=INK, linestyle="none", markersize=6, label=label)
    axes.set(xscale="log", xlabel="positions fitted", ylabel="squared error per dimension")
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.set_ylim(bottom=0)


def _draw_layers(axes: Axes, of_model: Any) -> None:
    """R² by layer with 95 % intervals; of the untrained twin, only the heads."""
    for untrained, predictors in ((False, ("heads", "random", "pca")), (True, ("heads",))):
        found = of_model[of_model["untrained"] == untrained]
        for predictor in predictors if len(found) else ():
            _, color, marker, _ = STYLES[predictor]
            rows = _whole(found, "held_out")
            rows = rows[rows["predictor"] == predictor].sort_values("layer")
            errors = [rows["r2"] - rows["r2_low"], rows["r2_high"] - rows["r2"]]
            axes.errorbar(
                rows["layer"], rows["r2"], errors, color="#CC79A7" if untrained else color,
                marker="d" if untrained else marker, markersize=4.5, linestyle="none", capsize=2,
                label="one head (mean), untrained" if untrained else None,
            )  # fmt: skip
    axes.set(xlabel="layer", ylabel="R²", ylim=(0, 1.02))
    axes.set_xticks(sorted(of_model["layer"].unique()))
    axes.margins(x=0.2)
