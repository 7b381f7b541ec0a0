"""The page on decomposition: TPDN's table made anew, and the authors' encodings."""

from collections.abc import Callable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.intervals import student_mean
from studies.pages.encodings_section import BIDIRECTIONAL, differ, summarize_encodings
from studies.pages.markdown import verdict_table
from studies.pages.printed_cells import draw_cells
from studies.pages.verdicts import claims_of
from studies.templates import fill, table
from studies.tpdn.cells import ADAM, CELL, CELLS, MODEL, Agreement, compare, compare_trainings
from studies.tpdn.substitutions import SCHEMES
from studies.tpdn.trainings import RECIPE, SHAPES, list_models
from tprpapers.claims import Evidence, exact, judge
from tprpapers.worlds.sequences import TASKS
from tprprobe.figures.style import Drawing
from tprprobe.statistics import Interval, interval_text, wilson
from tprprobe.training.recipes import read_recipe

UNI = {"encoder": "uni", "decoder": "uni"}
ABLE = 0.95  # exact match of models that have learned their task
LEAST_SEEDS = 3  # that make an interval
PICTURE = "images/tpdn-cells.svg"
Cells = Callable[..., dict[int, float]]  # a cell's substitution by seed


def make_page(runs: Path) -> str:
    """The page; models are those of ``studies/tpdn/cells.csv``, the authors' are in ``runs/tpdn``."""
    encodings = summarize_encodings(runs / "tpdn")
    cells = pd.read_csv(CELLS)
    agreement, recipe = compare(cells), read_recipe(RECIPE)
    evidence = _of_authors(encodings["flags"]) | _of_cells(cells)
    claims = [judge(claim, evidence.get(claim.id)) for claim in claims_of("decomposition")]
    accuracy = cells.groupby(MODEL)["accuracy"].mean()
    return fill(
        Path(__file__).parent,
        "decomposition.md.j2",
        verdicts=verdict_table(claims),
        encodings=encodings,
        best=_share(encodings["flags"][BIDIRECTIONAL]),
        cells=len(agreement.cells),
        all_cells=len(SCHEMES) * len(list(list_models(0))),
        models=cells.groupby(MODEL).ngroups,
        seeds=cells["seed"].nunique(),
        fitted=int(cells["n_fit"].iloc[0]),
        tested=int(cells["n"].iloc[0]),
        steps=recipe.steps,
        batch=recipe.batch_size,
        least=accuracy.min(),
        most=accuracy.max(),
        agreement=agreement,
        able=compare(cells, ABLE),
        least_able=ABLE,
        optimizers=_compare_optimizers(cells),
        within=_count_within(cells),
        weak=int((accuracy < ABLE).sum()),
        undecided=sum(verdict.outcome == "undecided" for verdict in claims),
        claims_told=len(claims),
        tasks=[{"name": task, "table": _task(agreement, cells, task)} for task in TASKS],
        far_kinds=_kinds(agreement.far),
        picture=PICTURE,
    )


def draw_figures() -> Mapping[str, Drawing]:
    """The page's figure by its file in the folder of the pages."""
    return {PICTURE: draw_cells(pd.read_csv(CELLS), ABLE)}


def _compare_optimizers(cells: pd.DataFrame) -> dict[str, Any]:
    """How much more substitution the table's optimizer gives than the authors', over models able under both."""
    adam = pd.read_csv(ADAM)
    differences = compare_trainings(cells[cells["seed"].isin(adam["seed"])], adam, ABLE)
    able = (adam.groupby(MODEL)["accuracy"].mean() >= ABLE).sum()
    return {
        "models": len(differences),
        "able": int(able),
        "more": interval_text(_mean(differences), "+.3f"),
    }


def _count_within(cells: pd.DataFrame) -> int:
    """Of how many cells the interval over seeds has the published number."""
    estimates = [
        (_mean(cell_rows["substitution"]), cell_rows["published"])
        for _, cell_rows in cells.groupby(CELL)
    ]
    return sum(int(printed.between(mean.low, mean.high).all()) for mean, printed in estimates)


def _share(flags: np.ndarray) -> float:
    return wilson(int(flags.sum()), len(flags)).value


def _task(agreement: Agreement, cells: pd.DataFrame, task: str) -> str:
    """The substitutions of a task, a row a model and a column a scheme, with the published ones behind."""
    accuracy = cells.groupby(MODEL)["accuracy"].mean().to_dict()
    rows = []
    for (encoder, decoder), model_cells in agreement.cells[agreement.cells["task"] == task].groupby(
        ["encoder", "decoder"], sort=False
    ):
        row = {"encoder/decoder": f"{encoder}/{decoder}"}
        row["accuracy"] = f"{accuracy[(encoder, decoder, task)]:.3f}"
        values = model_cells.set_index("roles")
        for roles in SCHEMES:
            substitution, printed = values.loc[roles, ["substitution", "published"]]
            row[f"`{roles}`"] = f"{substitution:.2f} ({printed:.2f})"
        rows.append(row)
    order = [f"{encoder}/{decoder}" for encoder in SHAPES for decoder in SHAPES]
    rows.sort(key=lambda row: order.index(row["encoder/decoder"]))
    return table(rows) if rows else "No model of this task is trained yet."


def _kinds(far: pd.DataFrame) -> dict[str, int]:
    """How many of the far cells are of tree decoders with other roles, of models that cannot do their task, and of
    bidirectional decoders that can."""
    tree = (far["decoder"] == "tree") & (far["roles"] != "tree")
    able, above = far["accuracy"] >= ABLE, far["difference"] > 0
    bi = ~tree & able & (far["decoder"] == "bi")
    return {
        "cells": len(far),
        "tree": int(tree.sum()),
        "tree_above": int((tree & above).sum()),
        "tree_able": int((tree & able).sum()),
        "weak": int((~tree & ~able).sum()),
        "bi": int(bi.sum()),
        "bi_above": int((bi & above).sum()),
        "rest": int((~tree & able & ~bi).sum()),
    }


# ---- claims -----------------------------------------------------------------------------------------


def _of_authors(flags: Mapping[str, np.ndarray]) -> dict[str, Evidence]:
    """The evidence of the authors' own encodings, over their test sequences."""
    n = len(flags[BIDIRECTIONAL])
    bidirectional = wilson(int(flags[BIDIRECTIONAL].sum()), n)
    return {
        "mccoy-bidirectional-roles": Evidence({"": bidirectional}, "question", n),
        "mccoy-left-favoured": Evidence({"": differ(flags, "left", "right")}, "question", n),
    }


def _of_cells(cells: pd.DataFrame) -> dict[str, Evidence]:
    """The evidence of the table's models, over their seeds; none where a model is not trained yet."""
    substitution = cells.set_index([*MODEL, "roles", "seed"])["substitution"].sort_index()

    def cell(roles: str, task: str, encoder: str = "uni", decoder: str = "uni") -> pd.Series:
        key = (encoder, decoder, task, roles)
        return substitution.loc[key] if key in substitution.index else pd.Series(dtype=float)

    def best(task: str, among: Sequence[str]) -> pd.Series:
        return pd.concat([cell(roles, task) for roles in among], axis=1).max(axis=1)

    bags = {task: cell("bag", task) for task in TASKS if task != "sort"}
    cases_of_claim = {
        "mccoy-reversal": {"": cell("right", "reverse") - cell("left", "reverse")},
        "mccoy-interleaving": {
            "": cell(BIDIRECTIONAL, "interleave") - best("interleave", ("left", "right"))
        },
        "mccoy-sorting-bag": {"": cell("bag", "sort") - best("sort", SCHEMES)},
        "mccoy-bag-fails": bags,
        "mccoy-tree-roles": {"": cell("tree", "copy", "tree", "tree")},
        "mccoy-decoder-dictates": {"": _dictates(substitution)},
    }
    return {
        name: _over_seeds(cases)
        for name, cases in cases_of_claim.items()
        if all(len(seeds) for seeds in cases.values())
    }


def _dictates(substitution: pd.Series) -> pd.Series:
    """By seed, how much more two decoders differ than two encoders; empty until every model is there."""
    wide = substitution.unstack(["encoder", "decoder"])
    if wide.shape[1] < len(SHAPES) ** 2 or wide.index.get_level_values("task").nunique() < len(
        TASKS
    ):
        return pd.Series(dtype=float)

    def mean(pairs: Sequence[tuple[Any, Any]]) -> pd.Series:
        return pd.concat([(wide[a] - wide[b]).abs() for a, b in pairs]).groupby("seed").mean()

    decoders = [((e, a), (e, b)) for e in SHAPES for a, b in combinations(SHAPES, 2)]
    encoders = [((a, d), (b, d)) for d in SHAPES for a, b in combinations(SHAPES, 2)]
    return (mean(decoders) - mean(encoders)).dropna()


def _over_seeds(cases: Mapping[str, pd.Series]) -> Evidence:
    seeds = min(len(values) for values in cases.values())
    return Evidence({name: _mean(values) for name, values in cases.items()}, "model seed", seeds)


def _mean(by_seed: pd.Series) -> Interval:
    """The mean over seeds or models, with Student's interval; without one for fewer than LEAST_SEEDS."""
    return student_mean(by_seed) if len(by_seed) >= LEAST_SEEDS else exact(float(by_seed.mean()))
