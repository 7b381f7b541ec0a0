"""Claims on decomposition: TPDN's table made again, and the authors' encodings."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from studies.intervals import student_mean
from studies.tpdn.authors import TESTED, TRAIN, check_checkout, load_authors, read_encodings
from studies.tpdn.cells import CELLS, MODEL
from studies.tpdn.substitutions import FAMILY, SCHEMES, Decoder, pair_up
from studies.tpdn.trainings import SHAPES
from studies.verdicts.table import claims_of
from tprpapers.claims import Evidence, Verdict, exact, judge
from tprpapers.worlds.sequences import TASKS
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.statistics import Interval, bootstrap_mean, wilson

BIDIRECTIONAL = "left*right"  # places from both ends
LEAST_SEEDS = 3  # that make an interval


def decide(runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdicts on decomposition, by ``studies/tpdn/cells.csv`` and the authors' checkout in ``runs/tpdn``."""
    evidence = _of_authors(preserve_encodings(runs / "tpdn")) | of_cells(pd.read_csv(CELLS))
    for claim in claims_of("decomposition"):
        yield "", judge(claim, evidence.get(claim.id))


def preserve_encodings(folder: Path) -> dict[str, np.ndarray]:
    """By scheme, which test sequences the authors' decoder reads back from fits to their encodings.

    Raises:
        InputError: the folder is no checkout of the authors' code.
    """
    check_checkout(folder)
    decoder = Decoder(load_authors(folder), "copy")
    (sequences, vectors), (tested, _) = (read_encodings(folder / part) for part in (TRAIN, TESTED))
    return {
        roles: decoder(
            TPDecomposition(family=FAMILY, random_state=0)
            .fit(pair_up(roles, sequences), vectors)
            .encode(pair_up(roles, tested)),
            tested,
        )
        for roles in SCHEMES
    }


def _of_authors(flags: Mapping[str, np.ndarray]) -> dict[str, Evidence]:
    """The evidence of the authors' own encodings, over their test sequences."""
    n = len(flags[BIDIRECTIONAL])
    bidirectional = wilson(int(flags[BIDIRECTIONAL].sum()), n)
    difference = flags["left"].astype(float) - flags["right"].astype(float)
    favored = bootstrap_mean(difference, np.arange(n))
    return {
        "mccoy-bidirectional-roles": Evidence({"": bidirectional}, "question", n),
        "mccoy-left-favoured": Evidence({"": favored}, "question", n),
    }


def of_cells(cells: pd.DataFrame) -> dict[str, Evidence]:
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
