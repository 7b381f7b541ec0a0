"""What the grammar says of summaries written while agent and patient are exchanged."""

from collections.abc import Sequence
from pathlib import Path

import pandas as pd

from studies.templates import table
from tprpapers.swaps.agent_patient import judge_swaps
from tprpapers.swaps.exchanges import ALL, list_ways
from tprpapers.swaps.swap_recipes import read_recipe
from tprpapers.swaps.swap_runs import find_pairs
from tprprobe.interventions import find_data
from tprprobe.models import load_model
from tprprobe.models.protocol import require_model
from tprprobe.statistics import interval_text, wilson

RECIPE = Path(__file__).parents[2] / "benchmarks" / "interventions" / "agents.toml"
JUDGED = 200  # swaps, of which every exchange is written out in full
VERDICTS = {
    "grammatical": "grammatical",
    "true": "true of the report",
    "true_exchanged": "true of it with the names exchanged",
}


def summarize_judged(folder: Path, models: Sequence[str]) -> str:
    """One row per model and exchange of all its layers at once: shares of summaries, with intervals."""
    rows = []
    for model in models:
        ways = _judge(model, folder).groupby(["vectors", "at"], sort=False)
        for (vectors, at), each in ways:
            shares = {
                words: interval_text(wilson(int(each[name].sum()), len(each)))
                for name, words in VERDICTS.items()
            }
            what = f"{vectors}s, {at}".replace("hiddens", "hidden states")
            what = "nothing" if vectors == "none" else what
            rows.append({"model": model, "exchanged": what, "n": str(len(each))} | shares)
    return table(rows)


def _judge(name: str, folder: Path) -> pd.DataFrame:
    """The judgments of a model's summaries, made where they are not yet."""
    file = folder / f"judged-{name}.parquet"
    if not file.is_file():
        recipe = read_recipe(RECIPE)
        model = require_model(load_model(name), "which is to write summaries")
        swaps = find_pairs(model, find_data(model, recipe), recipe).head(JUDGED)
        ways = [each for each in list_ways(model, ()) if each.layer == ALL]
        judge_swaps(model, swaps, ways).to_parquet(file)
    return pd.read_parquet(file)
