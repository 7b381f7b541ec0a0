"""The page of the benchmark of binding, from the tables beside it: first where our method is not the best."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from benchmarks.binding.runner import VERSION, list_methods, list_subjects
from benchmarks.binding.scores import MEASURES
from benchmarks.binding.tables import (
    COSTS,
    RESULTS,
    SHOWN_MEASURES,
    over_seeds,
    read_table,
    summarize,
)
from studies.real.predictions import compare_to_threshold
from studies.templates import fill, table
from tprprobe.figures.style import INK, Drawing, drawing, tidy
from tprprobe.files.settings import read_toml
from tprprobe.statistics import interval_text, read_interval

BENCHMARK = RESULTS.parent
RULES = ("claims_chance", "claims_shuffled", "claims")
REAL = ("r2_withheld", "accuracy_withheld", "interchange", "interchange_withheld", "others_kept", "claims_learned")  # fmt: skip
RIVALS = ("r2", "r2_withheld", "interchange", "interchange_withheld", "others_kept", "named_right")
REBUILD = ("pca", "sparse_dictionary")  # vectors from themselves, not from a structure
OUR_METHOD, ESTIMATOR, BEHIND = "nested", "estimator", 0.02
IMAGE = "images/binding-benchmark.svg"


def make_page(_runs: Path) -> str:
    """The page, from the benchmark's three tables."""
    cells = read_table(RESULTS / "cells.csv")
    cells_by_set, with_truth = divide(cells), cells[cells["family"] != "real"]
    with_binding, nulls, twins = (cells_by_set[name] for name in ("known", "nulls", "twins"))
    return fill(
        Path(__file__).parent,
        "binding_benchmark.md.j2",
        listed=table(_subjects(cells)),
        behind=table(find_behind(with_truth)),
        known=table(summarize(with_binding, SHOWN_MEASURES)),
        costs=table(summarize(with_binding, COSTS)),
        nulls=table(summarize(nulls, RULES)),
        twins=table(summarize(twins, (*RULES, "claims_learned"))),
        detected=table(summarize(with_binding, RULES)),
        by_null=by_subject(nulls, RULES[1:]),
        edits=by_subject(with_binding, ("interchange", "interchange_withheld")),
        named=by_subject(cells[cells["named"].notna()], ("named_right",)),
        real=table(_real(cells_by_set["real"])),
        predictions=table(decide(cells)),
        chosen=table(_chosen()),
        calibration=table(_calibrated()),
        cannot=table(_reasons()),
        counts=with_truth[["seed", "subject", "method"]].nunique().to_dict(),
        ceiling=interval_text(over_seeds(with_binding, "ceiling"), ".2f"),
        rate={name: _means(rows) for name, rows in cells_by_set.items()},
        example=(BENCHMARK / "methods/mean_difference.py").read_text("utf-8"),
        version=VERSION,
    )


def _subjects(cells: pd.DataFrame) -> Iterator[dict[str, str]]:
    for subject in list_subjects().values():
        if subject.name in {*cells["subject"]}:
            head = {"subject": subject.name, "family": subject.family}
            yield {**head, "roles that are asked": subject.scheme, "size": subject.size}


def _real(cells: pd.DataFrame) -> pd.DataFrame:
    """Measures that need no truth, of models that have none."""
    groups = cells.groupby("subject", sort=False)
    tables = {str(name): summarize(group, REAL) for name, group in groups}
    return pd.concat(tables, names=["model"]).droplevel(1).reset_index()


def _chosen() -> pd.DataFrame:
    settings = read_table(RESULTS / "chosen.csv")
    settings = settings[settings["chosen"] & settings["setting"].notna()]
    return settings[["method", "setting"]].assign(score=settings["score"].map("{:.3f}".format))


def _calibrated() -> Iterator[dict[str, str]]:
    for row in read_table(RESULTS / "calibration.csv").to_dict("records"):
        share = interval_text(read_interval(row, "share"), ".2f")
        yield {"draws of": row["draws of"], "what": row["what"], "n": str(row["n"]), "share": share}


def _reasons() -> Iterator[dict[str, str]]:
    for method in list_methods().values():
        for measure, why in method.CANNOT.items():
            yield {"method": method.TITLE, "cannot have": MEASURES[measure], "because": why}


def divide(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Cells of subjects with binding, all and by family, of those without it, and of twins and real models."""
    truth = {name: subject.binding for name, subject in list_subjects().items()}
    name, family = cells["subject"], cells["family"]
    has_binding = name.map(truth).eq(True) & (family != "twin")
    cells_by_set = {"known": has_binding, "nulls": name.map(truth).eq(False)}
    cells_by_set |= {"twins": family == "twin", "real": family == "real"}
    cells_by_set |= {
        "planted": family == "planted",
        "compiled": has_binding & (family == "compiled"),
    }
    cells_by_set |= {"tpt": name == "TP-Transformer v⊙r", "g2p": name == "g2p"}
    cells_by_set |= {"lookup": name == "compiled lookup"}
    cells_by_set |= {"orthogonal": name.isin(["compiled copy", "compiled reverse"])}
    return {name: cells[where] for name, where in cells_by_set.items()}


def _means(cells: pd.DataFrame) -> dict[Any, dict[Any, str]]:
    """By method, the means of measures as texts, for sentences."""
    return cells.groupby("method")[[*MEASURES]].mean().map("{:.2f}".format).to_dict("index")


def by_subject(cells: pd.DataFrame, measures: Sequence[str]) -> str:
    """Subjects × methods: the means of measures over seeds, one after another."""
    rows: dict[str, dict[str, str]] = {}
    for (subject, method), group in cells.groupby(["subject", "method"], sort=False):
        texts = [f"{v:.2f}" if np.isfinite(v := group[m].mean()) else "n/a" for m in measures]
        row = rows.setdefault(str(subject), {"subject": str(subject)})
        row[list_methods()[str(method)].TITLE] = " · ".join(texts)
    return table([*rows.values()])


def find_behind(cells: pd.DataFrame) -> Iterator[dict[str, str]]:
    """Where another method is ahead of ours by more than BEHIND, the best of them."""
    for measure in RIVALS:
        left_out = [ESTIMATOR, *(REBUILD if measure[:2] == "r2" else ())]
        rivals = cells[~cells["method"].isin(left_out)]
        means = rivals.groupby(["subject", "method"], sort=False)[measure].mean().unstack("method")
        for subject, scores in means.dropna(subset=OUR_METHOD).iterrows():
            if (best := scores.max()) - scores[OUR_METHOD] > BEHIND:
                leaders = [list_methods()[str(m)].TITLE for m in scores.index[scores == best]]
                ahead = f"{', '.join(leaders)}: {best:.2f}"
                yield {"measure": MEASURES[measure], "subject": str(subject), "ours": f"{scores[OUR_METHOD]:.2f}", "ahead": ahead}  # fmt: skip


def decide(cells: pd.DataFrame) -> Iterator[dict[str, str]]:
    """The predictions and their outcomes."""
    for prediction in read_toml(BENCHMARK / "predictions.toml")["prediction"]:
        is_subject = cells["subject"].isin(prediction["subjects"]) | cells["family"].isin(
            prediction["subjects"]
        )
        rows = cells[is_subject].set_index(["subject", "seed"])
        values = rows.loc[rows["method"] == prediction["method"], prediction["measure"]]
        if "minus" in prediction:
            values = values - rows.loc[rows["method"] == prediction["minus"], prediction["measure"]]
        interval = over_seeds(values.rename("value").reset_index(), "value")
        outcome = compare_to_threshold(interval, prediction["threshold"], prediction["direction"])
        yield {
            "prediction": prediction["says"],
            "measured": interval_text(interval),
            "outcome": outcome,
        }


def draw_figures() -> dict[str, Drawing]:
    """Two maps, a row a method and a column a subject: edits with pairs never seen, and claims in nulls and twins."""
    cells_by_set = divide(read_table(RESULTS / "cells.csv"))
    false = pd.concat([cells_by_set["nulls"], cells_by_set["twins"]])
    maps = [
        (cells_by_set["known"], "interchange_withheld", "viridis", "Withheld pairs: share of edits that are right"),
        (false, "claims_shuffled", "Reds", "Claims in nulls and twins: share"),
    ]  # fmt: skip
    tables = [rows.pivot_table(m, "method", "subject", sort=False, dropna=False) for rows, m, *_ in maps]  # fmt: skip
    figure = drawing(9, 3.6)
    axes = figure.subplots(1, 2, width_ratios=[table.shape[1] for table in tables])
    for ax, scores, (*_, colors, title) in zip(axes, tables, maps, strict=True):
        values = scores.to_numpy(float)
        ax.imshow(values, cmap=colors, vmin=0, vmax=1, aspect="auto")
        for (row, column), value in np.ndenumerate(values):
            dark = (value < 0.6) == (colors == "viridis") and np.isfinite(value)
            text = f"{value:.2f}".replace("0.", ".", 1) if np.isfinite(value) else "–"
            style = {"color": "white" if dark else INK, "fontsize": 6.5}
            ax.text(column, row, text, ha="center", va="center", **style)
        tidy(ax, title)
        ax.title.set_fontsize(8)
        ax.set_xticks(range(scores.shape[1]), scores.columns, rotation=40, ha="right")
        ax.set_yticks(range(len(scores)), [list_methods()[str(m)].TITLE for m in scores.index])
        ax.spines[:].set_visible(False)
        ax.tick_params(length=0, labelsize=7)
    axes[1].set_yticklabels([])
    figure.put_below(["A claim is a score above that with shuffled roles; a dash: the method cannot answer."])  # fmt: skip
    return {IMAGE: figure}
