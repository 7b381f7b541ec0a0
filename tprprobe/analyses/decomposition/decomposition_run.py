"""Decompositions and searches of roles at all sites in one resumable run, kept as a table in a folder."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.decompositions import decompose, plan_decomposition
from tprprobe.analyses.decomposition.role_findings import RoleSearch, read_searched, search_roles
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.scheme_scores import Report, no_report
from tprprobe.analyses.kinds import DECOMPOSITIONS, ROLES
from tprprobe.evaluation.results import FILE, melt
from tprprobe.files.kinds import Kind
from tprprobe.files.runs import KeptRun, Part, kept
from tprprobe.files.tables import Columns, columns, read_table
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store

SCORES, SCHEMES = "scores.csv", "schemes.csv"  # the tables of the two runs
SCORE_COLUMNS = columns(text="site roles family control rank rank_withheld", number="r2")
SCHEME_COLUMNS = columns(text="site found roles control merged", number="bits longer stability r2")
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
    """
    names, schemes = store.select(sites), [read_scheme(each).name for each in dict.fromkeys(roles)]
    for site in names:
        plan_decomposition(store, site, schemes, **options).read(store, site)

    def score(site: str, scheme: str) -> pd.DataFrame:
        return decompose(store, site, scheme, report=report, **options).scores

    measures = {
        f"{i}-{j}": partial(score, site, scheme)
        for i, site in enumerate(names)
        for j, scheme in enumerate(schemes)
    }
    about = {"stores": [store.fingerprint], "sites": names, "roles": schemes, "options": options}
    with kept(out) as folder:
        open_run(folder, DECOMPOSITIONS, about, resume).make_table(
            SCORES, measures, progress, list_results
        )
        return load_scores(folder)


def list_results(scores: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """The file of the long table of scores: what a family of fits explains of a site by a scheme of roles."""
    names = {"site": "site", "roles": "task", "family": "estimator", "control": "control"}
    table = scores.rename(columns={"groups": "n_groups"}).assign(layer=scores["site"].map(layer_of))
    return {FILE: melt(table, names | {"layer": "layer"})}


def search_all(
    store: Store,
    sites: str | Sequence[str],
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    **options: Any,
) -> list[RoleSearch]:
    """The search of :func:`search_roles`, whose ``options`` are taken, at every site that matches; ``out``
    is a new folder for the tables, and the run goes on there with ``resume``.
    """
    names = store.select(sites)
    for site in names:
        read_searched(store, site, **{k: v for k, v in options.items() if k != "seed"})

    def search(site: str) -> pd.DataFrame:
        found = search_roles(store, site, **options)
        return found.schemes.assign(site=site, found=found.found)

    measures = {f"{i}": partial(search, site) for i, site in enumerate(names)}
    about = {"stores": [store.fingerprint], "sites": names, "options": options}
    with kept(out) as folder:
        open_run(folder, ROLES, about, resume).make_table(SCHEMES, measures, progress)
        return load_roles(folder)


def open_run(folder: Path, kind: Kind, about: Mapping[str, Any], resume: bool) -> KeptRun:
    settings = {"format": f"tprprobe-{Path(kind.file).stem}", **about}
    return KeptRun.open(folder, settings | {"tprprobe": version("tprprobe")}, resume, kind.file)


def load_scores(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The scores of a finished run, read from its folder."""
    return load_table(folder, SCORES, SCORE_COLUMNS, "decompose again")


def load_roles(folder: str | os.PathLike[str]) -> list[RoleSearch]:
    """What a finished run found, site by site, read from its folder."""
    sites = load_table(folder, SCHEMES, SCHEME_COLUMNS, "search again").groupby("site", sort=False)
    rows = {str(site): of.drop(columns="site").reset_index(drop=True) for site, of in sites}
    return [RoleSearch(site, str(of.pop("found").iloc[0]), of) for site, of in rows.items()]


def load_table(
    folder: str | os.PathLike[str], table: str, known: Columns, remedy: str
) -> pd.DataFrame:
    """The table of a finished run, whose texts may be empty."""
    found = read_table(Path(folder) / table, known, remedy)
    return found.assign(**found.select_dtypes("str").fillna(""))
