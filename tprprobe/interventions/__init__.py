"""Interventions: edits of vectors at sites, and what they do to answers (`tprprobe.site.hooks.intervene`)."""

from tprprobe.data.frames.pairsets import pair_of_text
from tprprobe.interventions.behaviour import measure_pairs
from tprprobe.interventions.edits import (
    Chain,
    exchange,
    mean,
    one,
    one_hot,
    patch,
    resample,
    set_to,
    shift,
    snap,
    swap,
    zero,
)
from tprprobe.interventions.number_pairs import find_swaps
from tprprobe.interventions.surgeries import surgery
from tprprobe.interventions.sweep_recipes import Recipe, read_recipe
from tprprobe.interventions.sweeps import find_data, run_recipe, sweep

__all__ = [
    "Chain",
    "Recipe",
    "exchange",
    "find_data",
    "find_swaps",
    "mean",
    "measure_pairs",
    "one",
    "one_hot",
    "pair_of_text",
    "patch",
    "read_recipe",
    "resample",
    "run_recipe",
    "set_to",
    "shift",
    "snap",
    "surgery",
    "swap",
    "sweep",
    "zero",
]
