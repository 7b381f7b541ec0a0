"""The list of figures and tables: name, title, and what makes each.

What makes a figure stands in ``makers``, or behind an entry point of ``tprprobe.figures``, and is imported
when the figure is drawn: the list is read without what draws.
"""

import fnmatch
import inspect
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from tprprobe import plugins
from tprprobe.errors import unknown
from tprprobe.figures.catalogue.inputs import Input, Maker

if TYPE_CHECKING:
    from tprprobe.store import Store


@dataclass(frozen=True)
class Entry:
    """A figure or table: its name, its title, and what loads its maker."""

    name: str
    title: str
    load: Callable[[], Maker | Callable[..., object]]

    @property
    def maker(self) -> Maker:
        """The maker, imported; a plug-in may give a function alone."""
        maker = self.load()
        return maker if isinstance(maker, Maker) else Maker(maker)

    @property
    def inputs(self) -> dict[str, Input]:
        """The inputs that the figure needs, by name."""
        from tprprobe.figures.catalogue.loaders import INPUTS

        inputs = INPUTS | dict(self.maker.inputs)
        return {name: inputs[name] for name in self._keywords if name in inputs}

    @property
    def options(self) -> list[str]:
        """The options that the figure accepts."""
        return [name for name in self._keywords if name not in self.inputs]

    @property
    def defaults(self) -> dict[str, object]:
        """The options that the figure accepts, with their defaults."""
        parameters = inspect.signature(self.maker.make).parameters
        return {name: parameters[name].default for name in self.options}

    def concerns(self, store: "Store") -> bool:
        """True if a store has what the figure is made of: sites, questions, labels."""
        names, maker = list(store.sites), self.maker
        has_sites = all(
            any(fnmatch.filter(names, pattern) for pattern in patterns.split("|"))
            for patterns in maker.sites
        )
        has_questions = store.has_questions or not maker.questions
        return has_sites and has_questions and all(label in store.tokens for label in maker.labels)

    @property
    def _keywords(self) -> Iterable[str]:
        return inspect.signature(self.maker.make).parameters


def _load(name: str) -> Maker:
    from tprprobe.figures.catalogue.makers import MAKERS

    return MAKERS[name]


TITLES = {
    "roles": "Clusters of roles, or of a layer, over the symbols of a text",
    "names": "Names of clusters beside those of the baseline model, with precision and recall",
    "attention": "Attention of a head in a sample",
    "heads": "Heads that look from words to those that they depend on, beside offsets",
    "examined-heads": "What every head looks at, by layer: the relation that it follows",
    "examined-decoder": "Where the decoder looks: the mean map of its clearest head over places",
    "examined-states": "What states are made of, by layer: shares of tokens, places and bindings",
    "accuracy": "Exact match by module",
    "reconstruction": "State rebuilt from a head's value, with controls",
    "reconstruction-table": "State rebuilt from a head's value",
    "behavior": "What is expected next after two words' states change places, by layer",
    "patching": "Which token's state makes the difference between two texts' answers",
    "decomposition": "Role schemes beside controls: how much of a state is a sum of bindings",
    "decomposition-steps": "What fillers, roles and bindings add, by role scheme",
    "operations": "Which operation binds: vectors of pairs that no operation has seen",
    "withheld": "Pairs of filler and role that no fit has seen",
    "role-search": "Description length by number of pairs: roles that nobody named",
    "snap": "Exact match with vectors snapped to k centers",
    "ablation-map": "Change of exact match by head replaced",
    "probes": "Scores of probes by layer beside their strongest control",
    "learning-curve": "Loss and exact match against steps",
}
FIGURES = {name: Entry(name, title, partial(_load, name)) for name, title in TITLES.items()}
RENAMED = {"tpdn-table": "decomposition"}


def list_figures() -> list[Entry]:
    """Every figure and table that can be drawn, those of plug-ins first."""
    plugged = plugins.find("figures").values()
    return [*(Entry(row.name, row.title, row.load) for row in plugged), *FIGURES.values()]


def load_figures() -> list[Entry]:
    """The figures and tables whose code can be imported; a line on stderr names the others."""
    loaded = plugins.load_all("figures")
    return [entry for entry in list_figures() if entry.name in FIGURES or entry.name in loaded]


def find_figure(name: str) -> Entry:
    """The figure of that name."""
    entries = {entry.name: entry for entry in list_figures()}
    name = RENAMED.get(name, name)
    if name not in entries:
        raise unknown("figure", name, entries)
    return entries[name]
