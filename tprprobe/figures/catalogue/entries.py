"""The list of figures and tables: name, title, and what makes each.

What makes a figure is named here, or by an entry point of ``tprprobe.figures``, and imported when the
figure is drawn: the list is read without what draws.
"""

import fnmatch
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from tprprobe import plugins
from tprprobe.errors import unknown
from tprprobe.figures.catalogue.makers import Input, Maker

if TYPE_CHECKING:
    from tprprobe.store import Store


@dataclass(frozen=True)
class Entry:
    """A figure or table: its name, its title, and what loads its maker."""

    name: str
    title: str
    load: Callable[[], Any]

    @property
    def maker(self) -> Maker:
        """The maker, imported; a plug-in may give a function alone."""
        found = self.load()
        return found if isinstance(found, Maker) else Maker(found)

    @property
    def inputs(self) -> dict[str, Input]:
        """The inputs that the figure needs, by name."""
        from tprprobe.figures.catalogue.loaders import INPUTS

        known = INPUTS | dict(self.maker.inputs)
        return {name: known[name] for name in self._keywords if name in known}

    @property
    def options(self) -> list[str]:
        """The options that the figure accepts."""
        return [name for name in self._keywords if name not in self.inputs]

    def concerns(self, store: "Store") -> bool:
        """True if a store has what the figure is made of: sites, questions, labels."""
        names, maker = list(store.sites), self.maker
        known = all(fnmatch.filter(names, pattern) for pattern in maker.sites)
        known = known and (store.has_questions or not maker.questions)
        return known and all(label in store.tokens for label in maker.labels)

    @property
    def _keywords(self) -> Iterable[str]:
        return inspect.signature(self.maker.make).parameters


FIGURES = {
    name: Entry(name, title, partial(pkgutil.resolve_name, f"tprprobe.figures.{make}"))
    for name, title, make in (
        ("roles", "Clusters of roles over the symbols of a text", "catalogue.stores:ROLES"),
        ("attention", "Attention of a head in a sample", "catalogue.stores:ATTENTION"),
        (
            "heads",
            "Heads that look from words to those that they depend on, beside offsets",
            "catalogue.stores:HEADS",
        ),
        ("accuracy", "Exact match by module", "catalogue.stores:draw_accuracy"),
        (
            "reconstruction",
            "State rebuilt from a head's value, with controls",
            "catalogue.stores:RECONSTRUCTION",
        ),
        (
            "reconstruction-table",
            "State rebuilt from a head's value",
            "catalogue.stores:RECONSTRUCTION_TABLE",
        ),
        (
            "behavior",
            "What is expected next after two words' states change places, by layer",
            "behavior:behavior_by_layer",
        ),
        (
            "swap",
            "Answers after two numbers' vectors change places",
            "swap:swap_shares",
        ),
        (
            "surgery",
            "Answers after two symbols change places in a decomposition",
            "catalogue.interventions:draw_surgery",
        ),
        (
            "decomposition",
            "Role schemes beside controls: how much of a state is a sum of bindings",
            "catalogue.decomposition:tabulate_schemes",
        ),
        (
            "decomposition-steps",
            "What fillers, roles and bindings add, by role scheme",
            "catalogue.decomposition:draw_steps",
        ),
        (
            "withheld",
            "Pairs of filler and role that no fit has seen",
            "catalogue.decomposition:draw_withheld",
        ),
        (
            "role-search",
            "Description length by number of pairs: roles that nobody named",
            "catalogue.decomposition:draw_search",
        ),
        (
            "snap",
            "Exact match with vectors snapped to k centers",
            "catalogue.interventions:draw_snap",
        ),
        (
            "ablation-map",
            "Change of exact match by head replaced",
            "catalogue.interventions:draw_ablation",
        ),
        ("probes", "F1 of probes by layer beside their strongest control", "probes:probe_table"),
        ("learning-curve", "Loss and exact match against steps", "curves:learning_curve"),
    )
}


RENAMED = {"tpdn-table": "decomposition"}


def list_figures() -> list[Entry]:
    """Every figure and table that can be drawn, those of plug-ins first."""
    plugged = plugins.find("figures").values()
    return [*(Entry(each.name, each.title, each.load) for each in plugged), *FIGURES.values()]


def load_figures() -> list[Entry]:
    """The figures and tables whose code can be imported; a line on stderr names the others."""
    loaded = plugins.load_all("figures")
    return [each for each in list_figures() if each.name in FIGURES or each.name in loaded]


def find_figure(name: str) -> Entry:
    """The figure of that name.

    Raises:
        InputError: there is none (the nearest name is suggested).
    """
    entries = {each.name: each for each in list_figures()}
    name = RENAMED.get(name, name)
    if name not in entries:
        raise unknown("figure", name, entries)
    return entries[name]
