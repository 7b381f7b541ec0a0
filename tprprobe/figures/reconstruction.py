"""Affine reconstruction of z from one head's value vector, with controls."""

import os
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

import pandas as pd

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.analyses.reconstruction.fits import list_results
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE
from tprprobe.figures.dots import render
from tprprobe.figures.scenes import LEVEL, Grid, Lines
from tprprobe.figures.style import figure_files
from tprprobe.figures.tables import Table
from tprprobe.files.runs import encode
from tprprobe.files.writing import write_folder
from tprprobe.statistics import interval_text, measured, read_interval
from tprprobe.store import Store
from tprprobe.store.contents import origin_json

SMALL = 100  # questions or positions of the smallest training sets
PREDICTORS = {
    "heads": "one head (mean)",
    "random": "random projections",
    "pca": "best linear code (PCA)",
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
    groups = results.groupby(["model", "untrained"], sort=False)
    for (model, untrained), of_model in groups:
        number = int(sorted(of_model["layer"].unique())[layer])
        ruled.append(len(rows))
        name = f"{model}, untrained" if untrained else str(model)
        rows += _rows(of_model[of_model["layer"] == number], name, number)
    return Table(pd.DataFrame(rows), TITLE, CAPTION, ruled=tuple(ruled[1:]))


def summarize_reconstruction(results: pd.DataFrame) -> str:
    """Whether one head's value tells more of a model's last state than random numbers of its width do; a sentence a model."""
    groups = results[~results["untrained"]].groupby("model", sort=False)
    return "\n".join(_compare_to_random(of_model, str(model)) for model, of_model in groups)


def _compare_to_random(results: pd.DataFrame, model: str) -> str:
    rows = largest_fit(results[results["layer"] == results["layer"].max()], "held_out")
    head, random, code = (rows[rows["predictor"] == name].iloc[0] for name in PREDICTORS)
    gain = read_interval(head, "gain")
    amount = "more" if gain.low > 0 else "less" if gain.high < 0 else "as much"
    comparison = f"{amount} about the state z {'as' if amount == 'as much' else 'than'}"
    return (
        f"{model}, layer {head['layer']}: the value of one head (mean over heads) tells {comparison} random projections of its width: "
        f"R² {interval_text(read_interval(head, 'r2'))}, random {random['r2']:.3f}, best linear code {code['r2']:.3f}."
    )


def save_reconstruction(
    results: pd.DataFrame, out: str | os.PathLike[str], stores: Sequence[Store]
) -> Path:
    """The new folder with the results of some stores, their table and their figure."""
    origin = origin_json({"stores": [store.fingerprint for store in stores]})
    files: dict[str, bytes | str] = {
        FILE: encode(list_results(results)),
        RECONSTRUCTION.file: origin,
    }
    files["reconstruction.md"] = reconstruction_table(results).markdown()
    return write_folder(out, files | figure_files(render(reconstruction_scene(results))))


def _rows(results: pd.DataFrame, model: str, layer: int) -> Iterator[dict[str, str]]:
    held_out = largest_fit(results, "held_out")
    small = results[(results["n"] == SMALL) & (results["split"] == "in_sample")]
    for predictor, name in ROWS.items():
        row = held_out[held_out["predictor"] == predictor].iloc[0]
        errors = small[small["predictor"] == predictor].set_index("unit")["mse"].to_dict()
        yield {
            "model": model,
            "layer": str(layer),
            "from": name.format(row["effective_rank"]),
            "held out": interval_text(read_interval(row, "mse"), ".4f"),
            "R²": interval_text(read_interval(row, "r2")),
            "R² over random": interval_text(read_interval(row, "gain"), "+.3f"),
            "n = 100 positions": _number(errors, "position"),
            "n = 100 questions": _number(errors, "question"),
        }


def _number(errors: Mapping[Hashable, float], unit: str) -> str:
    return f"{errors[unit]:.4f}" if unit in errors else "–"


def largest_fit(results: pd.DataFrame, split: str) -> pd.DataFrame:
    """The rows of the largest training set, without penalty."""
    rows = results[(results["unit"] == "question") & (results["penalty"] == "none")]
    return rows[(rows["split"] == split) & (rows["n"] == rows["n"].max())]


def reconstruction_scene(
    results: pd.DataFrame, layer: int = -1, printed: Mapping[str, float] = MappingProxyType({})
) -> Grid:
    """Error against the number of positions fitted (left) and R² by layer (right), a row per model.

    ``printed`` are errors at the smallest number, by name.
    """
    trained = results[~results["untrained"]]
    if trained.empty:
        raise InputError("there are no results of a trained model to draw")
    pictures = []
    for model, of_model in trained.groupby("model", sort=False):
        number = int(sorted(of_model["layer"].unique())[layer])
        pictures.append(_error_lines(of_model[of_model["layer"] == number], str(model), printed))
        if of_model["layer"].nunique() > 1:
            pictures.append(_layer_lines(results[results["model"] == model], str(model)))
    return Grid(pictures, 2)


def _error_lines(results: pd.DataFrame, model: str, printed: Mapping[str, float]) -> Lines:
    """Error against n positions: held out filled, in-sample hollow, beside printed errors."""
    rows = results[(results["unit"] == "position") & (results["penalty"] == "none")]
    rows = rows[rows["predictor"].isin(PREDICTORS)].sort_values("n")
    is_held_out, groups = rows["split"].eq("held_out"), rows["predictor"].map(PREDICTORS)
    names = groups + is_held_out.map({True: "", False: ", in-sample"})
    rows = rows.assign(panel=model, line=names, group=groups, x=rows["n"], value=rows["mse"])
    levels = [(model, f"{name}: {error}", error) for name, error in printed.items()]
    return Lines(
        rows.assign(low=rows["mse"], high=rows["mse"], sure=is_held_out), label="squared error per dimension", x="positions fitted",
        percent=False, levels=pd.DataFrame(levels, columns=LEVEL), log=True, limits=(0, None),
        title=f"{model}, layer {rows['layer'].iloc[0]}",
    )  # fmt: skip


def _layer_lines(results: pd.DataFrame, model: str) -> Lines:
    """R² by layer with 95 % intervals; of the baseline model, only the heads."""
    tables = [
        results[~results["untrained"]],
        results[results["untrained"] & results["predictor"].eq("heads")],
    ]
    rows = pd.concat([largest_fit(table, "held_out") for table in tables])
    rows = rows[rows["predictor"].isin(PREDICTORS)].sort_values("layer")
    groups = rows["predictor"].map(PREDICTORS)
    names = groups + rows["untrained"].map({True: ", untrained", False: ""})
    rows = measured(rows, "r2", panel=model, line=names, group=groups, x=rows["layer"], sure=True)
    return Lines(rows, label="R²", percent=False, limits=(0, 1.02), title="by layer, held out")
