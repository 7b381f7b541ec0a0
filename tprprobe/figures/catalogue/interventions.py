"""Figures of interventions, from the folders of ``tprprobe intervene``."""

import os
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures import ablation, snap, swap
from tprprobe.figures.style import Drawing
from tprprobe.files.kinds import Kind
from tprprobe.interventions.kinds import BEHAVIORS, SWAPS, SWEEPS

Source = str | os.PathLike[str]


def load_tables(sources: Iterable[Source], kind: Kind) -> pd.DataFrame:
    """The tables of a kind, one folder after another, with the name of each.

    Raises:
        InputError: a folder has none.
    """
    parts = [kind.load(each).assign(name=Path(each).resolve().name) for each in sources]
    return pd.concat(parts, ignore_index=True)


def load_behavior(sources: Iterable[Source]) -> pd.DataFrame:
    """The table of edits of minimal pairs in a folder."""
    first, *others = sources
    if others:
        raise InputError(
            f"the figure `behavior` draws one folder, not {len(others) + 1}: give one --ckpt"
        )
    return load_tables([first], BEHAVIORS).fillna({"control": ""})


load_sweeps = partial(load_tables, kind=SWEEPS)
load_swaps = partial(load_tables, kind=SWAPS)


def draw_surgery(swaps: pd.DataFrame) -> Drawing:
    if not swaps["at"].str.startswith(swap.SURGERY).any():
        raise InputError(
            'these swaps have no surgery: put surgery = "left" (a scheme of roles) into the recipe'
        )
    return swap.swap_shares(swaps, surgery=True)


def draw_snap(sweeps: pd.DataFrame) -> Drawing:
    if not (sweeps["edit"] == "snap").any():
        raise InputError(
            'these sweeps have no edit snap: put edits = ["snap"] and clusters into the recipe'
        )
    return snap.snap_curve(sweeps)


def draw_ablation(sweeps: pd.DataFrame) -> Drawing:
    if not (sweeps["head"] >= 0).any():
        raise InputError('these sweeps have no single heads: put heads = "each" into the recipe')
    return ablation.ablation_map(sweeps)
