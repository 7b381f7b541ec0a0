"""huang's sentence state: roles that fit it, and words unbound from it by other steps' vectors."""

from dataclasses import replace
from pathlib import Path

import pandas as pd

from tprprobe.analyses.unbinding.retrievals import ROWS, compare_steps
from tprprobe.analyses.unbinding.sentence_states import fit_states
from tprprobe.claims import Verdict
from tprprobe.figures.catalogue.huang import note_words, read
from tprprobe.figures.catalogue.verdicts import judge_cases
from tprprobe.figures.sentence_plans import states_table, swaps_table
from tprprobe.figures.tables import Table
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import KINDS
from tprprobe.store import Store


def tabulate_states(store: Store, tagger: str = "", seed: int = 0) -> Table:
    words = read(store, tagger, seed)
    return states_table(fit_states(words, seed=seed), note_words(words))


def read_swaps(folder: Path) -> tuple[list[Verdict], Table]:
    """The verdict on the plan and the table of a folder of ``swaps = ["unbinding"]``."""
    found, rows = KINDS["unbindings"].load(folder), pd.read_parquet(folder / ROWS)
    verdicts = judge_cases(
        {"huang-plan": compare_steps(rows)}, "document", int(rows["caption"].nunique())
    )
    about = read_json(folder / KINDS["interventions"].file)
    note = f"{about['model']} on {about['data'][0]}, {about['data'][1]}: its own captions."
    return verdicts, swaps_table(found, note, ())


def tabulate_swaps(unbindings: list[Path]) -> Table:
    """The swaps of the first folder of ``tprprobe intervene``, with the verdict on the plan."""
    verdicts, table = read_swaps(unbindings[0])
    return replace(table, verdicts=tuple(verdicts))
