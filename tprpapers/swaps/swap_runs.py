"""Swaps by a recipe: all exchanges in a model's encoder and in its untrained twin's; resumable."""

import os
from collections.abc import Callable
from functools import partial

import pandas as pd

from tprpapers.kinds import SWAPS
from tprpapers.swaps.digit_vectors import read_digits
from tprpapers.swaps.donor_roles import measure_donors
from tprpapers.swaps.effect_intervals import summarize_swaps
from tprpapers.swaps.exchanges import ALL, list_encoder_exchanges, measure_swaps
from tprpapers.swaps.number_pairs import find_swaps
from tprpapers.swaps.swap_recipes import UNBINDING, SwapRecipe, read_recipe
from tprpapers.swaps.unbindings import run_unbindings
from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.files.runs import KeptRun, keep_table, kept
from tprprobe.interventions.folders import measure_parts, open_run
from tprprobe.interventions.sweeps import find_data
from tprprobe.models.checkpoint import untrained_twin
from tprprobe.models.protocol import Model, Readable, require_model

EXCHANGES, TABLE = "swaps.parquet", SWAPS.file
AT_ONCE = 200  # swaps of a part


def run_swaps(
    model: Model,
    data: Dataset,
    recipe: SwapRecipe,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The table of ``summarize_swaps`` of a model and its untrained twin (all layers and heads at once);
    of unbinding vectors that of :func:`run_unbindings`.

    ``out`` is a new folder: swaps.csv, swaps.parquet (every swap) and, until it is done, the parts of
    the run, which goes on with ``resume``.

    Raises:
        InputError: no such kind, no pairs, a folder of another run.
    """
    if recipe.swaps == [UNBINDING]:
        return run_unbindings(model, data, recipe, out, resume)
    swaps = find_pairs(data, recipe)
    reference_questions = data[recipe.n :]
    with kept(out) as folder:
        return keep_table(
            open_run(folder, model, data, recipe, resume),
            (EXCHANGES, TABLE),
            partial(_measure, model, swaps, reference_questions, recipe),
            partial(summarize_swaps, seed=recipe.seed),
        )


def run_swap_recipe(
    path: str | os.PathLike[str],
    model: Readable,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The table of a recipe file with ``swaps``."""
    recipe = read_recipe(path)
    model = require_model(model, "whose numbers nobody knows how to exchange")
    return run_swaps(model, find_data(model, recipe), recipe, out, resume)


def find_pairs(data: Dataset, recipe: SwapRecipe) -> pd.DataFrame:
    """The pairs of numbers whose vectors a recipe exchanges.

    Raises:
        InputError: no pairs.
    """
    questions = [example.source for example in data[: recipe.n]]
    swaps = find_swaps(questions, recipe.swaps, recipe.seed)
    if swaps.empty:
        kinds = ", ".join(recipe.swaps)
        raise InputError(f"none of {len(questions)} examples of {data.name} has a pair of: {kinds}")
    return swaps


def _measure(
    model: Model,
    swaps: pd.DataFrame,
    reference_questions: Dataset,
    recipe: SwapRecipe,
    run: KeptRun,
) -> pd.DataFrame:
    """The rows of all parts, some swaps each, of the model and its untrained twin."""
    twin = untrained_twin(model, recipe.seed)
    measures = [
        *_measures(model, reference_questions, recipe),
        *_measures(twin, reference_questions, recipe, all_layers_only=True),
    ]

    def measure(block: pd.DataFrame) -> pd.DataFrame:
        return pd.concat([measure_block(block) for measure_block in measures], ignore_index=True)

    blocks = [swaps.iloc[start : start + AT_ONCE] for start in range(0, len(swaps), AT_ONCE)]
    return measure_parts(run, [partial(measure, block) for block in blocks], "swapping")


def _measures(
    model: Model, data: Dataset, recipe: SwapRecipe, all_layers_only: bool = False
) -> list[Callable[[pd.DataFrame], pd.DataFrame]]:
    """What a recipe measures of a model's swaps; donors are of other questions."""
    exchanges = list_encoder_exchanges(model)
    if all_layers_only or recipe.whole:
        exchanges = [exchange for exchange in exchanges if exchange.layer == exchange.head == ALL]
    measures: list[Callable[[pd.DataFrame], pd.DataFrame]] = [
        partial(measure_swaps, model, exchanges=exchanges)
    ]
    if recipe.donors:
        donors = read_digits(model, [example.source for example in data], ["role"])
        measures.append(partial(measure_donors, model, donors=donors, seed=recipe.seed))
    return [partial(_named, measure, model.name) for measure in measures]


def _named(
    measure: Callable[[pd.DataFrame], pd.DataFrame], name: str, swaps: pd.DataFrame
) -> pd.DataFrame:
    return measure(swaps).assign(model=name)
