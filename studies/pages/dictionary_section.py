"""What the roles of a dictionary stand for: the labels of the words that a head gives one role."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pandas as pd

from studies.templates import fill, table
from tprpapers.jiang.discreteness import SUFFIX
from tprpapers.jiang.role_names import name_dictionary, summarize_labels
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.statistics import Interval, interval_text, read_interval
from tprprobe.store import Store

FIELDS = ("pos", "dep")
SHOWN = 2  # names of a head


def summarize_dictionary(stores: Sequence[tuple[Store, str]]) -> str:
    """The section on the role weights of stores, each with the stack that is read of it."""
    heads: list[dict[str, str]] = []
    names: list[dict[str, str]] = []
    for store, stack in stores:
        for site in store.sites:
            if site.startswith(stack) and site.endswith(SUFFIX):
                named = name_dictionary(store, site)
                heads += _heads(store, site, named)
                names += _best(site, named)
    texts = {stack: store.samples for store, stack in stores}
    folder = Path(__file__).parent
    return fill(folder, "dictionary.md.j2", heads=table(heads), names=table(names), texts=texts)


def _heads(store: Store, site: str, named: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row per head: its roles in use, those with names, and what the role tells of labels."""
    twin = store.control
    other = name_dictionary(twin, site) if twin else None
    told = {field: summarize_labels(store, site, field) for field in FIELDS}
    beside = {field: summarize_labels(twin, site, field) if twin else {} for field in FIELDS}
    for head, part in named.groupby("head"):
        place = int(head)  # type: ignore[call-overload]
        yield {
            "sub-layer": site.removesuffix(SUFFIX),
            "head": str(place),
            "roles in use": str(len(part)),
            "with a name": _count(part, other, place),
            "words of these": _cover(part, other, place),
            **{f"share of {f}": _share(told[f][place], beside[f].get(place)) for f in FIELDS},
        }


def _known(part: pd.DataFrame) -> pd.DataFrame:
    return part[part["name"] != UNNAMED]


def _count(part: pd.DataFrame, other: pd.DataFrame | None, head: int) -> str:
    twin = "–" if other is None else str(len(_known(other[other["head"] == head])))
    return f"{len(_known(part))} ({twin})"


def _cover(part: pd.DataFrame, other: pd.DataFrame | None, head: int) -> str:
    own = _known(part)["coverage"].sum()
    twin = None if other is None else _known(other[other["head"] == head])["coverage"].sum()
    return f"{own:.2f} ({'–' if twin is None else f'{twin:.2f}'})"


def _share(own: Interval, twin: Interval | None) -> str:
    return f"{interval_text(own, '.2f')} ({'–' if twin is None else f'{twin.value:.2f}'})"


def _best(site: str, named: pd.DataFrame) -> Iterator[dict[str, str]]:
    """The names of the highest F0.5 of every head."""
    best = _known(named).sort_values(["head", "f05"], ascending=[True, False])
    for row in best.groupby("head").head(SHOWN).to_dict("records"):
        yield {
            "sub-layer": site.removesuffix(SUFFIX),
            "head": str(row["head"]),
            "role": str(row["role"]),
            "name": str(row["name"]),
            "words": f"{row['coverage']:.3f}",
            "precision": interval_text(read_interval(row, "precision"), ".2f"),
            "recall": interval_text(read_interval(row, "recall"), ".2f"),
        }
