"""Figures of decompositions, from the folders of ``tprprobe decompose`` and ``tprprobe roles``."""

import os
from collections.abc import Iterable
from pathlib import Path

import pandas as pd

from tprprobe.analyses.decomposition import RoleSearch
from tprprobe.analyses.kinds import DECOMPOSITIONS, ROLES
from tprprobe.errors import InputError
from tprprobe.figures import role_fits
from tprprobe.figures.style import Drawing
from tprprobe.figures.tables import Table

Source = str | os.PathLike[str]


def load_decompositions(sources: Iterable[Source]) -> pd.DataFrame:
    """The scores of decompositions, one folder after another, with the name of each.

    Raises:
        InputError: a folder has none.
    """
    kind = DECOMPOSITIONS
    parts = [kind.load(each).assign(name=Path(each).resolve().name) for each in sources]
    return pd.concat(parts, ignore_index=True)


def load_searches(sources: Iterable[Source]) -> list[tuple[str, RoleSearch]]:
    """What searches found, site by site, with the name of the folder.

    Raises:
        InputError: a folder has none.
    """
    kind = ROLES
    return [(Path(each).resolve().name, found) for each in sources for found in kind.load(each)]


def tabulate_schemes(decompositions: pd.DataFrame) -> Table:
    return role_fits.scheme_table(decompositions)


def draw_steps(decompositions: pd.DataFrame) -> Drawing:
    return role_fits.step_bars(decompositions)


def draw_withheld(decompositions: pd.DataFrame) -> Drawing:
    if not decompositions["n_withheld"].fillna(0).gt(0).any():
        raise InputError(
            "withheld: no held-out sequence of these decompositions has a withheld pair; "
            "make them with --withheld 0.1 of more sequences"
        )
    return role_fits.withheld_dots(decompositions)


def draw_search(roles: list[tuple[str, RoleSearch]]) -> Drawing:
    return role_fits.search_curves(roles)
