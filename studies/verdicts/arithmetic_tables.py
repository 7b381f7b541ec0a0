"""The tables behind the claims on roles of arithmetic, computed once and kept as files."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch

from studies.verdicts.coupling import couple_roles
from tprpapers.schlag.binding_problem import demonstrate, measure_degrees
from tprpapers.schlag.hadamard.variance import capture_variance
from tprpapers.schlag.relation_scores import score_relations
from tprpapers.swaps.fractions import binding_probe
from tprpapers.worlds.mathematics.naming import Naming
from tprprobe.algebra import bind
from tprprobe.analyses.clustering import cluster, find_heads
from tprprobe.analyses.naming import name_all
from tprprobe.analyses.reconstruction import reconstruct
from tprprobe.console import stderr, track
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.models import load_model
from tprprobe.models.listing import list_models
from tprprobe.store import Store, open_store
from tprprobe.store.layout import MANIFEST

MODEL, BASELINE = "tpt-c-arithmetic", "transformer-arithmetic"
DATA, SPLIT, SEED = "mathematics:arithmetic__mixed", "small-test", 2
N, MAPS, PAIRS, K = 2000, 300, 600, 20
PROJECTIONS = 20  # random ones of LN(z), in every layer
COMMITTED = Path(__file__).parents[2] / "studies" / "binding-problem" / "results" / "probe.csv"


@dataclass(frozen=True, eq=False)
class Analyses:
    """Every table, as the function of its name returns it."""

    n: int  # questions
    maps: int  # of them with attention maps
    naming: Naming
    relations: pd.DataFrame
    coupling: pd.DataFrame
    reconstruction: pd.DataFrame  # of both models
    captured: pd.DataFrame
    pairs: (
        pd.DataFrame
    )  # the binding probe: of the three of `studies/binding-problem` and of both models
    demonstration: pd.DataFrame
    degrees: pd.DataFrame
    swaps: pd.DataFrame  # of the two bindings of two fillers to two roles, the share that is equal
    weights: dict[str, int]

    @property
    def last(self) -> int:
        """The number of the last encoder layer."""
        return int(self.naming.summary["layer"].max())


def analyse(runs: Path, n: int = N) -> Analyses:
    """The analyses of the shipped arithmetic checkpoints on n fresh questions.

    What is in the folder ``runs`` already is not made again.
    """
    stores = {name: _extract(name, runs / name, n) for name in (MODEL, BASELINE)}
    store, baseline = stores[MODEL], stores[BASELINE]
    names = runs / "names"
    naming = name_all(
        store,
        k=K,
        baseline=baseline,
        out=names,
        resume=names.exists(),
        projections=PROJECTIONS,
        progress=lambda jobs: track(jobs, "naming", len(jobs)),
    )

    def load_or_make(name: str, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
        return keep_table(runs / f"{name}.parquet", make)

    presets: Any = list_models()["presets"]
    return Analyses(
        n=n,
        maps=min(MAPS, n),
        naming=naming,
        relations=load_or_make("relations", lambda: score_relations(store)),
        coupling=load_or_make(
            "coupling",
            lambda: couple_roles(
                store, [cluster(store, *place, k=K) for place in find_heads(store, _ROLES)]
            ),
        ),
        reconstruction=load_or_make(
            "reconstruction",
            lambda: pd.concat(map(reconstruct, (store, baseline)), ignore_index=True),
        ),
        captured=load_or_make("captured", lambda: capture_variance(store)),
        pairs=load_or_make("pairs", _ask),
        demonstration=demonstrate(),
        degrees=measure_degrees(),
        swaps=compare_swaps(),
        weights={row["name"]: row["parameters"] for row in presets},
    )


_ROLES = "encoder.-1.self.role"


def _extract(name: str, path: Path, n: int) -> Store:
    if (path / MANIFEST).is_file():
        return open_store(path)
    data = load_data(DATA, split=SPLIT, n=n, seed=SEED)
    return extract(load_model(name), data, ["encoder.*"], path, MAPS, resume=path.exists())


def keep_table(file: Path, make: Callable[[], pd.DataFrame]) -> pd.DataFrame:
    """The table in the file, computed if the file is missing."""
    if not file.is_file():
        stderr.print(f"{file.stem} …")
        file.parent.mkdir(parents=True, exist_ok=True)
        make().to_parquet(file)
    return pd.read_parquet(file)


def _ask() -> pd.DataFrame:
    tables = [binding_probe(load_model(name), PAIRS) for name in (MODEL, BASELINE)]
    return pd.concat([pd.read_csv(COMMITTED), *tables], ignore_index=True)


def compare_swaps(draws: int = 1000, width: int = 6, seed: int = 0) -> pd.DataFrame:
    """The share of random integer vectors with a ⋆ r_n + b ⋆ r_d = a ⋆ r_d + b ⋆ r_n (schlag app.
    A).
    """
    rng = np.random.default_rng(seed)
    vectors = torch.from_numpy(rng.integers(-5, 6, (4, draws, width)).astype(float))
    a, b, numerator, denominator = vectors
    is_distinct = ((a - b) * (numerator - denominator)).any(
        -1
    )  # else the Hadamard products are equal
    rows = []
    for kind in ("outer", "hadamard"):
        sums = bind(a, numerator, kind) + bind(b, denominator, kind)
        swapped_sums = bind(a, denominator, kind) + bind(b, numerator, kind)
        equal = (sums == swapped_sums).flatten(1).all(1)[is_distinct]
        rows.append({"binding": kind, "draws": len(equal), "equal": equal.double().mean().item()})
    return pd.DataFrame(rows)
