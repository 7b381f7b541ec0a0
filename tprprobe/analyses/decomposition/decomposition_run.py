"""Decompositions, comparisons of operations and searches of roles at all sites, each in one resumable run."""

import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import product
from typing import Any

import pandas as pd

from tprprobe.analyses.decomposition.decompositions import decompose, plan_decomposition
from tprprobe.analyses.decomposition.operation_tables import compare_operations, tabulate_operations
from tprprobe.analyses.decomposition.role_findings import (
    RoleSearch,
    read_searched,
    search_roles,
    tabulate_searches,
    view_searches,
)
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.analyses.decomposition.scheme_scores import Report, no_report
from tprprobe.analyses.kinds import DECOMPOSITIONS, OPERATIONS, ROLES
from tprprobe.evaluation.results import Results
from tprprobe.evaluation.runner import Progress, run_jobs
from tprprobe.files.kinds import Kind
from tprprobe.store import Store

Folder = str | os.PathLike[str] | None


def decompose_all(
    store: Store,
    sites: str | Sequence[str],
    roles: Sequence[str] = ("left",),
    out: Folder = None,
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

    settings = {"sites": store.select(sites), "roles": schemes, "options": options}
    return _run(DECOMPOSITIONS, store, settings, measure, out, resume, progress)


def compare_all(
    store: Store,
    sites: str | Sequence[str],
    roles: Sequence[str] = ("left",),
    out: Folder = None,
    resume: bool = False,
    progress: Progress = iter,
    **options: Any,
) -> Results:
    """The long table of :func:`compare_operations`, whose ``options`` are taken, of every site that matches and every
    scheme; ``out``, ``resume`` and ``progress`` as in :func:`decompose_all`.
    """

    def measure(site: str, scheme: str) -> pd.DataFrame:
        return tabulate_operations(compare_operations(store, site, scheme, **options))

    schemes = list(dict.fromkeys(roles))
    settings = {"sites": store.select(sites), "roles": schemes, "options": options}
    return _run(OPERATIONS, store, settings, measure, out, resume, progress)


def search_all(
    store: Store,
    sites: str | Sequence[str],
    out: Folder = None,
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
        return tabulate_searches([search_roles(store, site, **options)])

    settings = {"sites": store.select(sites), "options": options}
    return view_searches(_run(ROLES, store, settings, measure, out, resume, progress))


def _run(
    kind: Kind,
    store: Store,
    settings: Mapping[str, Any],
    measure: Callable[..., pd.DataFrame],
    out: Folder,
    resume: bool,
    progress: Progress,
) -> Results:
    """The long table of a run that measures every site (by every scheme)."""
    axes = [settings[name] for name in ("sites", "roles") if name in settings]
    jobs = {str(i): partial(measure, *place) for i, place in enumerate(product(*axes))}
    origin = {"stores": [store.fingerprint], "model": store.facts.model.name}
    origin |= {"data": store.facts.data.name, "n": store.samples}
    return run_jobs(kind, {**origin, **settings}, jobs, out, resume, progress)
