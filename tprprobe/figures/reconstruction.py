"""Affine reconstruction of z from one head's value vector, with controls."""

import io
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.kinds import RECONSTRUCTION
from tprprobe.analyses.reconstruction.fits import SPLITS, list_held_out, list_results
from tprprobe.analyses.reconstruction.layers import PROJECTIONS
from tprprobe.errors import InputError, unknown
from tprprobe.evaluation.results import FILE
from tprprobe.figures.dots import render
from tprprobe.figures.labels import CONTROLS
from tprprobe.figures.line_styles import BASELINE
from tprprobe.figures.scenes import Grid, Lines, Scene
from tprprobe.figures.tables import Table
from tprprobe.files.writing import write_folder
from tprprobe.statistics import measured, write_interval
from tprprobe.store import Store
from tprprobe.store.contents import origin_json

SMALL = 100  # documents or positions of the smallest training sets
PREDICTORS = {"heads": "one head (mean)", "random": "random projections", "pca": "PCA"}
ROWS = PREDICTORS | {"all heads": "all heads", "mean": "mean of z"}
IN_SAMPLE = [f"in-sample error, n = {SMALL} {unit}" for unit in ("documents", "positions")]
SPARE = ("error, held out", *IN_SAMPLE)  # columns; R² says more than errors do
TITLE = "Affine reconstruction of the state z from the value vector of one head"
INTERVALS = (
    f": from the spread over {SPLITS} splits of the documents, the first of which gives the number."
)
CAPTION = (
    "Held out: on a quarter of the documents, to which no map was fitted. Errors are squared, per dimension of z.\n"
    f"“R² over random”: beyond random projections of the layer's input as wide as a head (mean of {PROJECTIONS}).\n"
    f"In-sample: on the {SMALL} that the map was fitted to, one draw of them."
)
RANK = "Effective rank of z ((Σ λ)² / Σ λ² of the eigenvalues λ of its covariance): {}."
VERDICT = "By the intervals, one head (mean) explains of z, compared with random projections"
UNCOMPARED = ("random", "all heads", "mean")  # are not as wide as random projections, or these


def reconstruction_table(results: pd.DataFrame, layer: int = -1) -> Table:
    """The reconstruction of z in one layer of every model of ``tprprobe reconstruct``."""
    rows, ruled = [], []
    groups = _name_twins(results).groupby(["model", "control"], sort=False)
    for (model, control), of_model in groups:
        ruled.append(len(rows))
        name = f"{model}, {control}" if control else str(model)
        of_layer = _choose_layer(of_model, layer)
        rows += _rows(of_layer, name, int(of_layer["layer"].iloc[0]))
    of_models = results[~results["untrained"]].groupby("model", sort=False)
    rank_of = {model: _choose_layer(rows, layer)["effective_rank"] for model, rows in of_models}
    ranks = ", ".join(f"{rank.iloc[0]:.1f} ({model})" for model, rank in rank_of.items())
    notes = [CAPTION, *_explain(results, "[95 % interval]"), RANK.format(ranks)]
    look = {"ruled": tuple(ruled[1:]), "block": ("model", "layer"), "spare": SPARE}
    return Table(pd.DataFrame(rows), TITLE, "\n".join(notes), **look).drop_empty()


def _name_twins(results: pd.DataFrame) -> pd.DataFrame:
    """The results with the column ``control``, which those of version 0.6 and before lack."""
    control = results["untrained"].map({True: "untrained", False: ""})
    return results if "control" in results else results.assign(control=control)


def _explain(results: pd.DataFrame, intervals: str) -> list[str]:
    """What the maps of every model were fitted to and scored on, and what intervals are; of results of earlier versions, which
    have no count of documents and other intervals, only the first.
    """
    rows = largest_fit(_name_twins(results).query("control == ''"), "held_out")
    lines = []
    for row in rows.drop_duplicates("model").to_dict("records"):
        name = f"data {path.rpartition('/')[2]}; " if (path := row.get("data")) else ""
        lines.append(f"{row['model']}: {name}fitted to {row['n']:,} documents.")
        if not pd.isna(n_held_out := row.get("documents", np.nan)):
            held_out = f", {n_held_out:,.0f} held out ({row['positions']:,} positions)."
            lines[-1] = lines[-1].removesuffix(".") + held_out
    is_counted = "documents" in results and results["documents"].notna().all()
    return [*lines, intervals + INTERVALS] if is_counted else lines


def _choose_layer(results: pd.DataFrame, layer: int) -> pd.DataFrame:
    """The rows of a layer, by its number; a negative one counts from the last."""
    numbers = sorted(map(int, results["layer"].unique()))
    if (number := numbers[layer] if -len(numbers) <= layer < 0 else layer) not in numbers:
        raise unknown("layer of these results", layer, [*map(str, numbers)])
    return results[results["layer"] == number]


def summarize_reconstruction(results: pd.DataFrame) -> str:
    """R² from one head's value beside that from random numbers of its width: a line a layer, model by model."""
    groups = results[~results["untrained"]].groupby("model", sort=False)
    twins = results[results["untrained"]]
    return "\n".join(
        _compare_to_random(of_model, twins[twins["model"] == model], str(model))
        for model, of_model in groups
    )


def _compare_to_random(results: pd.DataFrame, twin: pd.DataFrame, model: str) -> str:
    verdicts: dict[str, list[str]] = {}
    of_twin = largest_fit(twin, "held_out").set_index(["layer", "predictor"])["r2"]
    lines = [
        f"{model}: R² of the state z from the value of one head (mean over heads), held out (beyond random projections of its width)"
    ]
    for number, rows in largest_fit(results, "held_out").groupby("layer"):
        head, random, code = (rows[rows["predictor"] == name].iloc[0] for name in PREDICTORS)
        low, high = head[["gain_low", "gain_high"]].astype(float).round(3)  # as they are shown
        word = "more" if low > 0 else "less" if high < 0 else "not certainly more or less"
        verdicts.setdefault(word, []).append(str(number))
        lines.append(
            f"  layer {number}: {write_interval(head, 'r2')}, random {random['r2']:.3f} ({write_interval(head, 'gain', '+.3f')}), "
            f"PCA {code['r2']:.3f}"
        )
        if number in of_twin:
            values = [of_twin[number, name] for name in PREDICTORS]
            lines[-1] += (
                "; of the states of the baseline model {:.3f}, random {:.3f}, PCA {:.3f}".format(
                    *values
                )
            )
    answers = [f"{word} in layer {', '.join(numbers)}" for word, numbers in verdicts.items()]
    return "\n".join([*lines, f"  {VERDICT}: {'; '.join(answers)}."])


def save_reconstruction(
    results: pd.DataFrame, out: str | os.PathLike[str], stores: Sequence[Store], seed: int = 0
) -> Path:
    """The new folder with the results of some stores, the samples that were held out, their table and their figure."""
    origin = origin_json({"stores": [store.fingerprint for store in stores]})
    held_out = pd.concat([list_held_out(store, seed) for store in stores])
    files: dict[str, bytes | str] = {
        FILE: list_results(results).to_parquet(index=False),
        RECONSTRUCTION.file: origin,
        "held_out.csv": held_out.to_csv(index=False),
    }
    files["reconstruction.md"] = reconstruction_table(results).markdown()
    return write_folder(out, files | figure_files(reconstruction_scene(results)))


def figure_files(scene: Scene) -> dict[str, bytes | str]:
    """The files of a figure in a folder of results."""
    figure, streams = render(scene), {kind: io.BytesIO() for kind in ("pdf", "png")}
    for kind, stream in streams.items():
        figure.savefig(stream, format=kind)
    return {f"figure.{kind}": stream.getvalue() for kind, stream in streams.items()}


def _rows(results: pd.DataFrame, model: str, layer: int) -> Iterator[dict[str, str]]:
    held_out = largest_fit(results, "held_out")
    small = results[(results["n"] == SMALL) & (results["split"] == "in_sample")]
    for predictor, name in ROWS.items():
        row = held_out[held_out["predictor"] == predictor].iloc[0]
        errors = {
            str(row["unit"]): write_interval(row, "mse", "z.4f")
            for _, row in small[small["predictor"] == predictor].iterrows()
        }
        yield {
            "model": model,
            "layer": str(layer),
            "z from": name,
            "error, held out": write_interval(row, "mse", "z.4f"),
            "R², held out": write_interval(row, "r2"),
            "R² over random, held out": "–"
            if predictor in UNCOMPARED
            else write_interval(row, "gain", "+.3f"),
            IN_SAMPLE[1]: errors.get("position", "–"),
            IN_SAMPLE[0]: errors.get("question", "–"),
        }


def largest_fit(results: pd.DataFrame, split: str) -> pd.DataFrame:
    """The rows of the largest training set of every model, without penalty."""
    rows = results[(results["unit"] == "question") & (results["penalty"] == "none")]
    largest = rows.groupby(["model", "untrained"])["n"].transform("max")
    return rows[(rows["split"] == split) & (rows["n"] == largest)]


def reconstruction_scene(results: pd.DataFrame, layer: int = -1) -> Grid:
    """Error against the number of positions fitted (left) and R² by layer (right), a row per model."""
    trained = results[~results["untrained"]]
    if trained.empty:
        raise InputError("there are no results of a trained model to draw")
    pictures = []
    for model, of_model in trained.groupby("model", sort=False):
        pictures.append(_error_lines(_choose_layer(of_model, layer), str(model)))
        if of_model["layer"].nunique() > 1:
            pictures.append(_layer_lines(results[results["model"] == model], str(model)))
    pictures = _share_limits(pictures)
    twins = _name_twins(results[results["untrained"]]).drop_duplicates("model")
    baselines = twins["model"] + ": " + twins["control"].replace(CONTROLS) + "."
    notes = [*_explain(trained, "Bands, 95 % intervals"), *baselines]
    return Grid(pictures, 2, note="\n".join(notes))


def _share_limits(pictures: Sequence[Lines]) -> list[Lines]:
    """The pictures of several models with the same axes, of errors and of R²."""
    tops = [picture.rows[["value", "high"]].to_numpy(float) for picture in pictures if picture.log]
    lows = [picture.rows["low"].min() for picture in pictures if not picture.log]
    lowest = max(0.0, np.floor(10 * min(lows, default=0) - 0.5) / 10)
    error_limits, limits = (0, 1.05 * np.nanmax(np.vstack(tops))), (lowest, 1)
    return [replace(row, limits=error_limits if row.log else limits) for row in pictures]


def _error_lines(results: pd.DataFrame, model: str) -> Lines:
    """Error against n positions: held out filled, in-sample hollow."""
    rows = results[(results["unit"] == "position") & (results["penalty"] == "none")]
    rows = rows[rows["predictor"].isin(PREDICTORS)].sort_values(["split", "n"])
    is_held_out, groups = rows["split"].eq("held_out"), rows["predictor"].map(PREDICTORS)
    # the legend has one entry for all in-sample errors
    names = groups.mask(~is_held_out, "_" + groups)
    places = {"panel": model, "line": names, "group": groups, "x": rows["n"]}
    label = "squared error per dimension"
    return Lines(
        measured(rows, "mse", sure=is_held_out, measure=label, **places), label=label, x="positions fitted", percent=False,
        log=True, limits=(0, None), hollow="dotted, hollow: in-sample (others: held out)", title=f"{model}, layer {rows['layer'].iloc[0]}",
    )  # fmt: skip


def _layer_lines(results: pd.DataFrame, model: str) -> Lines:
    """R² by layer with 95 % intervals, of the model and its baseline model."""
    rows = largest_fit(results, "held_out")
    rows = rows[rows["predictor"].isin(PREDICTORS)].sort_values(["untrained", "layer"])
    groups = rows["predictor"].map(PREDICTORS)
    names = groups.mask(rows["untrained"], groups + ", baseline model")
    rows = measured(rows, "r2", panel=model, line=names, group=groups, x=rows["layer"], sure=True)
    rows["measure"] = "R²"
    rows["stands_for"] = np.where(rows["untrained"], BASELINE, "")
    title = f"{model}, R² by layer, held out"
    return Lines(rows, label="R²", percent=False, title=title)
