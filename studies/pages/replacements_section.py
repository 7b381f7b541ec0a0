"""The section of the page on captions about the sentence's state: the roles that fit it, and vectors
that are exchanged or replaced while a TPGN runs.
"""

from pathlib import Path
from typing import Any

import pandas as pd

from studies.pages.markdown import verdict_table
from studies.pages.unbinding_section import MODELS, SEED, place, read_stores
from studies.templates import fill
from tprpapers.huang import sentence_plans as tables
from tprpapers.huang.figures import note_words
from tprpapers.huang.state_tables import load_substitutions, read_swaps
from tprpapers.huang.unbinding import read_words
from tprpapers.huang.unbinding.sentence_states import fit_states
from tprprobe import interventions
from tprprobe.console import stderr
from tprprobe.errors import InputError
from tprprobe.models import load_model

RECIPES = Path(__file__).parents[1] / "captions"
SWAP, SUBSTITUTION = "swap", "substitution"


def summarize_replacements(runs: Path) -> str:
    """The tables of every shipped TPGN, with the verdict on the plan; a missing model is named."""
    models = [_told(name, runs) for name in MODELS]
    return fill(Path(__file__).parent, "replacements.md.j2", models=models)


def _told(name: str, runs: Path) -> dict[str, Any]:
    try:
        swapped, replaced = (run_recipe(name, recipe, runs) for recipe in (SWAP, SUBSTITUTION))
        words = read_words(read_stores(name, runs)[0], seed=SEED)
        states = fit_states(words, seed=SEED)
    except InputError as error:
        return {"name": name, "error": error}
    verdicts, swaps = read_swaps(swapped)
    replacements: pd.DataFrame = load_substitutions([replaced])
    return {
        "name": name,
        "error": None,
        "verdicts": verdict_table(verdicts),
        "swaps": swaps.markdown(),
        "states": tables.states_table(states, note_words(words)).markdown(),
        "duals": tables.duals_table(states).markdown(),
        "replacements": tables.substitution_table(replacements.assign(name=name)).markdown(),
    }


def run_recipe(name: str, recipe: str, runs: Path) -> Path:
    """The folder of ``tprprobe intervene`` of a shipped model, run if it is missing."""
    folder = place(name, recipe, runs)
    stderr.print(f"{folder.name} …")
    model: Any = load_model(name)
    interventions.run_recipe(RECIPES / f"{recipe}.toml", model, folder, resume=folder.exists())
    return folder
