"""The sites of a store that are probed, and those that a store for probes needs."""

import fnmatch
from collections.abc import Sequence

from tprprobe.analyses.probing.settings import SITES, ProbeSettings
from tprprobe.errors import InputError
from tprprobe.site.patterns import select
from tprprobe.store import Store

WEIGHTS = "*.role_weights"


def find_sites(store: Store, patterns: Sequence[str]) -> list[str]:
    """The sites of a store that patterns name; default patterns that match nothing are left out.

    Raises:
        InputError: a pattern, or all default ones, match nothing.
    """
    found = store.select(_there(patterns, store.sites))
    return [site for site in found if not store.specs[site].is_attention]


def check_test(store: Store, test: Store, sites: Sequence[str], settings: ProbeSettings) -> None:
    """Refuses a test store on which probes of these sites of ``store`` cannot be tested.

    Raises:
        InputError: a site that it lacks or that has another shape, or no untrained twin to test.
    """
    for site in sites:
        if site not in test.sites or test.specs[site].shape != store.specs[site].shape:
            raise InputError(
                f"{test.path} has no {site} of the shape {store.specs[site].shape} to test on: extract both "
                "from models of one size"
            )
    if "untrained" in (settings.controls or ()) and test.control is None:
        raise InputError(f"{test.path} has no untrained twin: leave out that control")


def needed_sites(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The sites, of all ``names`` of a model, that a store needs for probes and their controls.

    Raises:
        InputError: a pattern, or all default ones, match nothing.
    """
    weights = fnmatch.filter(names, WEIGHTS)
    return select([*_there(patterns, names), *weights], names)


def _there(patterns: Sequence[str], names: Sequence[str]) -> Sequence[str]:
    """The patterns, without those default ones that match no name."""
    if tuple(patterns) != SITES:
        return patterns
    return [p for p in SITES if fnmatch.filter(names, p)] or ["*"]
