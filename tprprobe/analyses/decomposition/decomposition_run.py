"""Decompositions, comparisons of operations and searches of roles at all sites, in one resumable run with a folder."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.decompositions import decompose, plan_decomposition
from tprprobe.analyses.decomposition.operation_tables import compare_operations
from tprprobe.analyses.decomposition.role_findings import RoleSearch, read_searched, search_roles
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.scheme_scores import Report, no_report
from tprprobe.analyses.decomposition.score_tables import load_long, load_table, tabulate_operations
from tprprobe.analyses.kinds import DECOMPOSITIONS, OPERATIONS, ROLES
from tprprobe.evaluation.results import FILE, Results
from tprprobe.files.kinds import Kind
from tprprobe.files.runs import KeptRun, Part, kept
from tprprobe.files.tables import columns
from tprprobe.store import Store

SCHEMES = "schemes.csv"
SCHEME_COLUMNS = columns(text="site found roles control merged", number="bits longer stability r2")
Progress = Callable[[Sequence[Part]], Iterable[Part]]
Measure = Callable[..., pd.DataFrame]  # of a site, or of a site and a scheme


def decompose_all(
    store: Store,
    sites: str | Sequence[str],
    roles: Sequence[str] = ("left",),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    report: Report = no_report,
    **options: Any,
) -> Results:
    """The long table of :func:`decompose`, whose ``options`` are taken, of every site that matches and
    every scheme; ``out`` is a new folder for it, and the run goes on there with ``resume``;
    ``progress`` gets the parts of the run, ``report`` the stages of each.
    """
    schemes = [read_scheme(name).name for name in dict.fromkeys(roles)]
    for site in store.select(sites):
        plan_decomposition(store, site, schemes, **options).read(store, site)

    def measure(site: str, scheme: str) -> pd.DataFrame:
        return decompose(store, site, scheme, report=report, **options).results.table

    settings_of_run = {"sites": store.select(sites), "roles": schemes, "options": options}
    return _keep(
        DECOMPOSITIONS, FILE, store, settings_of_run, out, resume, progress, measure, load_long
    )


def compare_all(
    store: Store,
    sites: str | Sequence[str],
    roles: Sequence[str] = ("left",),
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    **options: Any,
) -> Results:
    """The long table of :func:`compare_operations`, whose ``options`` are taken, of every site that matches and every
    scheme; ``out``, ``resume`` and ``progress`` as in :func:`decompose_all`.
    """

    def measure(site: str, scheme: str) -> pd.DataFrame:
        table = compare_operations(store, site, scheme, **options)
        return tabulate_operations(table, site, read_scheme(scheme).name)

    schemes = list(dict.fromkeys(roles))
    settings_of_run = {"sites": store.select(sites), "roles": schemes, "options": options}
    return _keep(
        OPERATIONS, FILE, store, settings_of_run, out, resume, progress, measure, load_long
    )


def search_all(
    store: Store,
    sites: str | Sequence[str],
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
    **options: Any,
) -> list[RoleSearch]:
    """The search of :func:`search_roles`, whose ``options`` are taken, at every site that matches;
    ``out``, ``resume`` and ``progress`` as in :func:`decompose_all`.
    """
    for site in store.select(sites):
        read_searched(store, site, **{k: v for k, v in options.items() if k != "seed"})

    def measure(site: str) -> pd.DataFrame:
        search = search_roles(store, site, **options)
        return search.schemes.assign(site=site, found_by_site=search.found_by_site)

    settings_of_run = {"sites": store.select(sites), "options": options}
    return _keep(ROLES, SCHEMES, store, settings_of_run, out, resume, progress, measure, load_roles)


def _keep(
    kind: Kind,
    file: str,
    store: Store,
    settings_of_run: Mapping[str, Any],
    out: str | os.PathLike[str] | None,
    resume: bool,
    progress: Progress,
    measure: Measure,
    load: Callable[[Path], Any],
) -> Any:
    """What is loaded of the folder of a run that measures every site (by every scheme)."""
    settings = {"format": f"tprprobe-{Path(kind.file).stem}", "stores": [store.fingerprint]}
    settings |= {**settings_of_run, "tprprobe": version("tprprobe")}
    jobs = enumerate(
        product(*(settings_of_run[name] for name in ("sites", "roles") if name in settings_of_run))
    )
    makes = {f"{i}": partial(measure, *job) for i, job in jobs}
    with kept(out) as folder:
        KeptRun.open(folder, settings, resume, kind.file).make_table(file, makes, progress)
        return load(folder)


def load_roles(folder: str | os.PathLike[str]) -> list[RoleSearch]:
    """What a finished run found, site by site, read from its folder."""
    table = load_table(folder, SCHEMES, SCHEME_COLUMNS, "search again")
    groups = table.drop(columns=["site", "found"]).groupby(table["site"], sort=False)
    found_by_site = table.groupby("site")["found"].first()
    return [
        RoleSearch(str(site), str(found_by_site[site]), schemes.reset_index(drop=True))
        for site, schemes in groups
    ]
