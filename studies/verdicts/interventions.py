"""The claim that roles are used: donors' roles of the other polarity against those of the same."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd

from tprpapers.claims import Evidence, Verdict, find_claim, judge
from tprpapers.swaps.effect_intervals import compare_places
from tprpapers.swaps.swap_recipes import read_recipe
from tprpapers.swaps.swap_runs import EXCHANGES
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.gold import annotate
from tprprobe.interventions import run_recipe
from tprprobe.models import load_model
from tprprobe.models.answers import exact_matches
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.statistics import Interval, read_interval, wilson

MODEL, CLAIM = "tpt-c-arithmetic", "schlag-used"
RECIPE = Path(__file__).parents[2] / "benchmarks" / "interventions" / "donors.toml"
OTHER_POLARITY, SAME_POLARITY = "same digit, other polarity", "same digit, same polarity"


def decide(runs: Path) -> Iterator[tuple[str, Verdict]]:
    """The verdict by the swaps of the recipe, which are not run again where ``runs`` has them."""
    out = runs / "interventions" / f"donors-{MODEL}"
    run_recipe(RECIPE, read_checkpoint(MODEL), out, resume=out.exists())
    compared = compare_places(pd.read_parquet(out / EXCHANGES), OTHER_POLARITY, SAME_POLARITY)
    rows = compared.query("kind == 'polarity' and vectors == 'role' and layer == -1")
    row = rows[rows["model"] == MODEL].iloc[0].to_dict()
    gates = {"discordant_exact_match": measure_discordant()}
    evidence = Evidence({"": read_interval(row, "difference")}, "question", int(row["n"]), gates)
    yield "", judge(find_claim(CLAIM), evidence)


def measure_discordant() -> Interval:
    """Exact match of the questions that have a discordant number."""
    recipe = read_recipe(RECIPE)
    model: Any = load_model(MODEL)
    data = load_data(str(recipe.data), split=recipe.split, n=recipe.n, seed=recipe.seed)
    gold = annotate([question.source for question in data])
    discordant = gold.groupby("question")["discordant"].any().to_numpy(bool)
    right = exact_matches(model, encode_pairs(data, model.vocabulary))[0][discordant]
    return wilson(int(right.sum()), len(right))
