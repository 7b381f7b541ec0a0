"""Swaps by a recipe: all exchanges in a model's encoder and in its untrained twin's; resumable."""

import os
from functools import partial

import pandas as pd

from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.files.kinds import KINDS
from tprprobe.files.runs import KeptRun, Tables, keep_table, kept
from tprprobe.interventions.donors import measure_donors, read_donors
from tprprobe.interventions.exchanges import ALL, list_ways, measure_swaps
from tprprobe.interventions.folders import MEASURED, measure_parts, open_run
from tprprobe.interventions.number_pairs import find_swaps
from tprprobe.interventions.participants import AGENTS, find_agent_swaps
from tprprobe.interventions.shares import summarise_swaps
from tprprobe.interventions.sweep_recipes import Recipe
from tprprobe.models.checkpoint import untrained_twin
from tprprobe.models.protocol import Model, require_vocabulary

SWAPS, TABLE = "swaps.parquet", KINDS["swaps"].file
AT_ONCE = 200  # swaps of a part


def run_swaps(
    model: Model,
    data: Dataset,
    recipe: Recipe,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The table of ``summarise_swaps`` of a model and its untrained twin (all layers and heads at once).

    ``out`` is a new folder: swaps.csv, swaps.parquet (every swap) and, until it is done, the parts of
    the run, which goes on with ``resume``.

    Raises:
        InputError: no such kind, no pairs, a folder of another run.
    """
    swaps = find_pairs(model, data, recipe)
    others = [each.source for each in data[recipe.n :]] if recipe.donors else []
    with kept(out) as folder:
        return keep_table(
            open_run(folder, model, data, recipe, resume),
            (SWAPS, TABLE),
            partial(_measure, model, swaps, others, recipe),
            partial(summarise_swaps, seed=recipe.seed),
        )


def find_pairs(model: Model, data: Dataset, recipe: Recipe) -> pd.DataFrame:
    """The swaps of a recipe: of agents and patients, or of numbers.

    Raises:
        InputError: agents in data other than the generated English, or no pairs.
    """
    some = list(data[: recipe.n])
    if recipe.swaps != [AGENTS]:
        found = find_swaps([each.source for each in some], recipe.swaps, recipe.seed)
    elif data.has_grammar:
        found = find_agent_swaps(some, require_vocabulary(model), recipe.seed)
    else:
        raise InputError(f"swaps = ['agent'] in {data.name}: only the generated English has these")
    if found.empty:
        kinds = ", ".join(recipe.swaps)
        raise InputError(f"none of {len(some)} examples of {data.name} has a pair of: {kinds}")
    return found


def _measure(
    model: Model, swaps: pd.DataFrame, others: list[str], recipe: Recipe, run: KeptRun
) -> pd.DataFrame:
    """The rows of all parts, some swaps each, of the model and its untrained twin."""
    twin = untrained_twin(model, recipe.seed)
    ways = list_ways(model)
    whole = [way for way in ways if way.layer == way.head == ALL]
    asked = [(model, whole if recipe.whole else ways), (twin, whole)]
    given = [(each, read_donors(each, others)) for each in (model, twin) if others]

    def measure(some: pd.DataFrame) -> Tables:
        measured = [
            measure_swaps(each, some, some_ways).assign(model=each.name)
            for each, some_ways in asked
        ] + [
            measure_donors(each, some, donors, recipe.seed).assign(model=each.name)
            for each, donors in given
        ]
        return {MEASURED: pd.concat(measured, ignore_index=True)}

    blocks = [swaps.iloc[start : start + AT_ONCE] for start in range(0, len(swaps), AT_ONCE)]
    parts = [run.part(str(n), partial(measure, block)) for n, block in enumerate(blocks)]
    return measure_parts(parts, "swapping")
