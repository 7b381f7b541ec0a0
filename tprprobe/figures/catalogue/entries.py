"""The list of figures and tables: name, title, and the function that makes each.

The functions are named, not imported: the list is read without what draws.
"""

import fnmatch
import inspect
import pkgutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tprprobe.errors import unknown


@dataclass(frozen=True)
class Entry:
    """A figure or table: its name, what it shows, and the function (of `figures`) that makes it.

    The function's keywords are what it is made of (those that INPUTS names, loaded) and options. Of a
    store it is made where the store holds ``sites``, patterns that each name at least one, and where
    ``questions`` is true, questions of mathematics.
    """

    name: str
    title: str
    maker: str
    sites: tuple[str, ...] = ()
    questions: bool = False

    @property
    def make(self) -> Callable[..., Any]:
        """The function, imported."""
        return pkgutil.resolve_name(f"tprprobe.figures.{self.maker}")

    @property
    def inputs(self) -> list[str]:
        """The inputs that the figure needs, by their names in INPUTS."""
        return [name for name, is_input in self._keywords.items() if is_input]

    @property
    def options(self) -> list[str]:
        """The options that the figure accepts."""
        return [name for name, is_input in self._keywords.items() if not is_input]

    def concerns(self, sites: Iterable[str], has_questions: bool) -> bool:
        """True if a store of these sites, of questions or not, has what the figure is made of."""
        names = list(sites)
        known = all(fnmatch.filter(names, pattern) for pattern in self.sites)
        return known and (has_questions or not self.questions)

    @property
    def _keywords(self) -> dict[str, bool]:
        """The function's keywords, and whether each is an input."""
        from tprprobe.figures.catalogue.loaders import INPUTS

        return {name: name in INPUTS for name in inspect.signature(self.make).parameters}


FIGURES = {
    entry.name: entry
    for entry in (
        Entry("schlag-table1", "Exact match averaged over modules", "accuracy:table1"),
        Entry(
            "schlag-fig2",
            "Role clusters over questions",
            "catalogue.schlag:draw_clusters",
            ("encoder.*.self.role",),
        ),
        Entry(
            "schlag-fig3",
            "Attention from digits to '/'",
            "catalogue.schlag:draw_attention",
            ("encoder.*.self.attention",),
            questions=True,
        ),
        Entry(
            "schlag-fig4",
            "Exact match by module, interpolation",
            "catalogue.schlag:draw_interpolation",
        ),
        Entry(
            "schlag-fig5",
            "Exact match by module, extrapolation",
            "catalogue.schlag:draw_extrapolation",
        ),
        Entry(
            "schlag-sec6.1",
            "Reconstruction of z, with controls",
            "catalogue.schlag:draw_reconstruction",
            ("encoder.*.self.value",),
        ),
        Entry(
            "schlag-sec6.1-table",
            "Reconstruction of z by a head",
            "catalogue.schlag:tabulate_reconstruction",
            ("encoder.*.self.value",),
        ),
        Entry(
            "schlag-sec6.2",
            "The binding problem, exactly",
            "catalogue.schlag:tabulate_demonstration",
        ),
        Entry(
            "schlag-sec6.2-trained",
            "The binding problem, in trained models",
            "catalogue.schlag:draw_binding",
        ),
        Entry(
            "schlag-sec6.2-trained-table",
            "The binding problem, in trained models",
            "catalogue.schlag:tabulate_binding",
        ),
        Entry(
            "schlag-sec7",
            "Hadamard against tensor product",
            "catalogue.schlag:draw_capture",
            ("encoder.*.self.role", "encoder.*.self.filler"),
        ),
        Entry(
            "schlag-sec7-table",
            "The share of v ⊗ r that the diagonal keeps",
            "catalogue.schlag:tabulate_capture",
            ("encoder.*.self.role", "encoder.*.self.filler"),
        ),
        Entry(
            "jiang-table2", "ROUGE and METEOR of summaries, paired differences", "summaries:table2"
        ),
        Entry("jiang-table3", "Votes of people on summaries", "summaries:table3"),
        Entry("jiang-unfaithful", "Unsupported facts of references", "summaries:unsupported_table"),
        Entry("jiang-table4", "F1 of edge probes, layer by layer", "probes:table4"),
        Entry(
            "jiang-discreteness",
            "Discreteness of role distributions",
            "catalogue.jiang:draw_discreteness",
            ("*.role_weights",),
        ),
        Entry(
            "jiang-roles",
            "Names of discrete roles",
            "catalogue.jiang:tabulate_dictionary",
            ("*.role_weights",),
        ),
        Entry("huang-table1", "Scores of captions", "catalogue.huang:tabulate_scores"),
        Entry(
            "huang-table2",
            "Nominal and verbal clusters",
            "catalogue.huang:tabulate_conformity",
            ("word.unbinding",),
        ),
        Entry(
            "huang-table3",
            "Ten clusters of unbinding vectors, named",
            "catalogue.huang:tabulate_interpretation",
            ("word.unbinding",),
        ),
        Entry(
            "huang-fig3",
            "Unbinding vectors by kind of word",
            "catalogue.huang:draw_kinds",
            ("word.unbinding",),
        ),
        Entry(
            "huang-fig4",
            "Unbinding vectors of nouns",
            "catalogue.huang:draw_nouns",
            ("word.unbinding",),
        ),
        Entry(
            "huang-fig5",
            "Unbinding vectors of verbs",
            "catalogue.huang:draw_verbs",
            ("word.unbinding",),
        ),
        Entry(
            "huang-fig6",
            "Unbinding vectors of adjectives",
            "catalogue.huang:draw_adjectives",
            ("word.unbinding",),
        ),
        Entry(
            "huang-fig7",
            "Unbinding vectors of prepositions",
            "catalogue.huang:draw_prepositions",
            ("word.unbinding",),
        ),
        Entry(
            "huang-regions",
            "The 76.3 %: purity of regions",
            "catalogue.huang:tabulate_regions",
            ("word.unbinding",),
        ),
        Entry(
            "huang-stability",
            "Clusters over seeds and k",
            "catalogue.huang:tabulate_stability",
            ("word.unbinding",),
        ),
        Entry(
            "huang-states",
            "Roles that hold the sentence's state",
            "catalogue.states:tabulate_states",
            ("sentence.tpr",),
        ),
        Entry(
            "huang-subjects",
            "Subjects against objects",
            "catalogue.huang:tabulate_subjects",
            ("word.unbinding",),
        ),
        Entry(
            "huang-substitution",
            "Captions with replaced unbinding vectors",
            "sentence_plans:substitution_table",
        ),
        Entry(
            "huang-swap",
            "Words unbound by another step's vector",
            "catalogue.states:tabulate_swaps",
        ),
        Entry(
            "matched-study",
            "Variants with and without binding, trained alike",
            "catalogue.schlag:draw_study",
        ),
        Entry(
            "behaviour",
            "What is expected next after two words' states change places, by layer",
            "catalogue.interventions:draw_behaviour",
        ),
        Entry(
            "swap",
            "Answers after two numbers' vectors change places",
            "catalogue.interventions:draw_swap",
        ),
        Entry(
            "surgery",
            "Answers after two symbols change places in a decomposition",
            "catalogue.interventions:draw_surgery",
        ),
        Entry(
            "tpdn-table",
            "Role schemes beside controls: how much of a state is a sum of bindings",
            "catalogue.decomposition:tabulate_schemes",
        ),
        Entry(
            "withheld",
            "Pairs of filler and role that no fit has seen",
            "catalogue.decomposition:draw_withheld",
        ),
        Entry(
            "role-search",
            "Description length by number of pairs: roles that nobody named",
            "catalogue.decomposition:draw_search",
        ),
        Entry(
            "snap",
            "Exact match with vectors snapped to k centers",
            "catalogue.interventions:draw_snap",
        ),
        Entry(
            "ablation-map",
            "Change of exact match by head replaced",
            "catalogue.interventions:draw_ablation",
        ),
        Entry("learning-curve", "Loss and exact match against steps", "curves:learning_curve"),
    )
}


def list_figures() -> list[Entry]:
    """Every figure and table that can be drawn."""
    return list(FIGURES.values())


def find_figure(name: str) -> Entry:
    """The figure of that name.

    Raises:
        InputError: there is none (the nearest name is suggested).
    """
    if name not in FIGURES:
        raise unknown("figure", name, FIGURES)
    return FIGURES[name]
