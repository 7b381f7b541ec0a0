"""Decompositions of all sites and schemes in one resumable run, kept as tables in a folder."""

import os
from collections.abc import Callable, Iterable, Sequence
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.decompositions import decompose, plan_decomposition
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.scheme_tables import Report, no_report
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.runs import KeptRun, Part, join_parts, kept
from tprprobe.files.tables import check_columns, columns
from tprprobe.store import Store

FORMAT, MANIFEST, TABLE = "tprprobe-decomposition", DECOMPOSITIONS.file, "scores.csv"
COLUMNS = columns(text="site roles family control", number="r2")
Progress = Callable[[Sequence[Part]], Iterable[Part]]


def decompose_all(
    store: Store,
    sites: str | Sequence[str],
    roles: Sequence[str] = ("left",),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    report: Report = no_report,
    **options: Any,
) -> pd.DataFrame:
    """The scores of :func:`decompose`, whose ``options`` are taken, of every site that matches and
    every scheme; ``out`` is a new folder for them, and the run goes on there with ``resume``;
    ``progress`` gets the parts of the run, ``report`` the stages of each.

    Raises:
        InputError: as of :func:`decompose`, or a folder of something else.
    """
    names, schemes = store.select(sites), [read_scheme(each).name for each in dict.fromkeys(roles)]
    for site in names:
        plan_decomposition(store, site, schemes, **options).read(store, site)
    settings = {"format": FORMAT, "stores": [store.fingerprint], "sites": names, "roles": schemes}
    settings |= {"options": options, "tprprobe": version("tprprobe")}
    with kept(out) as folder:
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            parts = [
                run.part(f"{i}-{j}", _scores(store, site, scheme, options | {"report": report}))
                for i, site in enumerate(names)
                for j, scheme in enumerate(schemes)
            ]
            for part in progress(parts):
                part.finish()
            run.finish({TABLE: join_parts(parts, "scores")}, {})
        return load_scores(folder)


def load_scores(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The scores of a finished run, read from its folder.

    Raises:
        InputError: the folder holds none, or its table is damaged.
    """
    kind = DECOMPOSITIONS
    if not kind.is_finished_in(folder):
        raise InputError(f"{folder} holds no {kind.file}: make one with `tprprobe {kind.command}`")
    path, again = Path(folder) / TABLE, "decompose again"
    with as_input_error(f"{path} is damaged", again):
        table = pd.read_csv(path, dtype={"rank": str, "rank_withheld": str})
    table = check_columns(table, COLUMNS, path, again)
    texts = table.select_dtypes("str").columns
    return table.assign(**{name: table[name].fillna("") for name in texts})


def _scores(
    store: Store, site: str, scheme: str, options: dict[str, Any]
) -> Callable[[], dict[str, pd.DataFrame]]:
    return lambda: {"scores": decompose(store, site, scheme, **options).scores}
