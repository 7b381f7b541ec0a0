"""huang's sentence state: words unbound from it by other steps' vectors."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tprpapers.claims import Verdict
from tprpapers.huang.sentence_plans import substitution_table, swaps_table
from tprpapers.huang.unbinding.retrievals import ROWS, compare_steps
from tprpapers.kinds import SUBSTITUTIONS, UNBINDINGS
from tprpapers.verdicts import judge_cases, with_verdicts
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.tables import Table
from tprprobe.files.jsonfiles import read_json
from tprprobe.interventions.kinds import INTERVENTIONS


def read_swaps(folder: Path) -> tuple[list[Verdict], Table]:
    """The verdict on the plan and the table of a folder of ``swaps = ["unbinding"]``."""
    shares, rows = UNBINDINGS.load(folder), pd.read_parquet(folder / ROWS)
    verdicts = judge_cases(
        {"huang-plan": compare_steps(rows)}, "document", int(rows["caption"].nunique())
    )
    manifest = read_json(folder / INTERVENTIONS.file)
    note = f"{manifest['model']} on {manifest['data'][0]}, {manifest['data'][1]}: its own captions."
    return verdicts, swaps_table(shares, note, ())


def tabulate_swaps(unbindings: list[Path]) -> Table:
    """The swaps of the first folder of ``tprprobe intervene``, with the verdict on the plan."""
    verdicts, table = read_swaps(unbindings[0])
    return with_verdicts(table, verdicts)


def load_unbindings(sources: Iterable[str | os.PathLike[str]]) -> list[Path]:
    """The folders, checked: of swaps of unbinding vectors.

    Raises:
        InputError: a folder has none.
    """
    folders = [Path(source) for source in sources]
    for folder in folders:
        UNBINDINGS.load(folder)
    return folders


def load_substitutions(sources: Iterable[str | os.PathLike[str]]) -> pd.DataFrame:
    """The tables of sweeps of captions, one folder after another, with the name of each.

    Raises:
        InputError: a folder has none.
    """
    return load_tables(sources, SUBSTITUTIONS)


UNBOUND = Input(
    "swaps of unbinding vectors: give --ckpt with folders of `intervene --out`",
    load_unbindings,
    UNBINDINGS.find_finished,
)
SUBSTITUTED = Input(
    "sweeps of captions: give --ckpt with folders of `intervene --out` of a captioning model",
    load_substitutions,
    SUBSTITUTIONS.find_finished,
)

SWAP = Maker(tabulate_swaps, inputs={"unbindings": UNBOUND})
SUBSTITUTION = Maker(substitution_table, inputs={"substitutions": SUBSTITUTED})
