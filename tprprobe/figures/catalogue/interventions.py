"""Figures of interventions, from the folders of ``tprprobe intervene``."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tprprobe.errors import InputError
from tprprobe.figures import ablation, snap, swap
from tprprobe.figures.style import Drawing

SWEEP, SWAPS = "sweep.csv", "swaps.csv"

Source = str | os.PathLike[str]


def load_sweeps(sources: Iterable[Source]) -> pd.DataFrame:
    """The rows of sweeps, one folder after another, with the name of each.

    Raises:
        InputError: a folder has none.
    """
    return _load(sources, SWEEP)


def load_swaps(sources: Iterable[Source]) -> pd.DataFrame:
    """The tables of swaps, one folder after another.

    Raises:
        InputError: a folder has none.
    """
    return _load(sources, SWAPS)


def _load(sources: Iterable[Source], file: str) -> pd.DataFrame:
    folders = [Path(source) for source in sources]
    if missing := [each for each in folders if not (each / file).is_file()]:
        raise InputError(
            f"{missing[0]} holds no {file}: make one with `tprprobe intervene RECIPE --out {missing[0]}`"
        )
    parts = [pd.read_csv(each / file).assign(name=each.resolve().name) for each in folders]
    return pd.concat(parts, ignore_index=True)


def draw_swap(swaps: pd.DataFrame) -> Drawing:
    return swap.swap_shares(swaps)


def draw_snap(sweeps: pd.DataFrame) -> Drawing:
    if not (sweeps["edit"] == "snap").any():
        raise InputError('snap: no such edit in these sweeps; give edits = ["snap"] and clusters')
    return snap.snap_curve(sweeps)


def draw_ablation(sweeps: pd.DataFrame) -> Drawing:
    if not (sweeps["head"] >= 0).any():
        raise InputError('ablation-map: no single heads in these sweeps; give heads = "each"')
    return ablation.ablation_map(sweeps)
