"""The registry of figures: what each is made of, its options, and the function that makes it."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Any

import pandas as pd

from tprprobe import figures
from tprprobe.analyses.attention import pick_examples, score_relations
from tprprobe.analyses.clustering import cluster
from tprprobe.errors import InputError, unknown
from tprprobe.figures import summaries
from tprprobe.figures.catalogue import huang, interventions, jiang, schlag
from tprprobe.figures.catalogue.paths import DEFAULTS, INPUTS, Source
from tprprobe.figures.probes import table4
from tprprobe.figures.style import Drawing, save
from tprprobe.figures.tables import Table
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store


@dataclass(frozen=True)
class Entry:
    """A figure or table: its name, what it shows, and the function that makes it.

    The function's keywords are what it is made of (those that INPUTS names, loaded) and options.
    """

    name: str
    title: str
    make: Callable[..., Drawing | Table]

    @property
    def inputs(self) -> list[str]:
        """What the figure is made of."""
        return [name for name in self._keywords if name in INPUTS]

    @property
    def options(self) -> list[str]:
        """What can be chosen."""
        return [name for name in self._keywords if name not in INPUTS]

    @property
    def _keywords(self) -> list[str]:
        return list(inspect.signature(self.make).parameters)


def draw_clusters(
    store: Store, layer: int = -1, head: int = 0, k: int = 20, seed: int = 0, raw: bool = True
) -> Drawing:
    """Clusters of an encoder layer's roles; of raw vectors, as in the paper.

    Numerators and denominators are framed by their value, where the questions are arithmetic.
    """
    roles = cluster(store, f"encoder.{layer}.self.role", head, k, seed, raw)
    return figures.role_clusters(store, roles, gold=True)


def draw_attention(
    store: Store, layer: int = -1, head: int | None = None, sample: int | None = None
) -> Drawing:
    """Attention of numbers to '/', in three kinds of example that are picked, or in one question.

    Without a head, of that of the layer whose digits of denominators look most at their '/'.
    """
    site = f"encoder.{layer}.self.attention"
    if head is None:
        head = _most_relating(store, store.select(site)[0])
    if sample is not None:
        return figures.attention_rows(store, site, sample, head)
    return figures.attention_examples(store, site, head, pick_examples(store))


def _most_relating(store: Store, site: str) -> int:
    scores = score_relations(store)
    chosen = scores.query(
        "source == 'head' and way == 'rows' and gold == 'net' and score == 'mass' and not untrained"
    )
    of_layer = chosen[chosen["layer"] == layer_of(site)]
    return int(of_layer["head"].iloc[of_layer["value"].argmax()])


def draw_interpolation(evaluations: pd.DataFrame) -> Drawing:
    return figures.module_bars(evaluations, "interpolate")


def draw_extrapolation(evaluations: pd.DataFrame) -> Drawing:
    return figures.module_bars(evaluations, "extrapolate")


FIGURES = {
    entry.name: entry
    for entry in (
        Entry("schlag-table1", "Exact match averaged over modules", figures.table1),
        Entry("schlag-fig2", "Role clusters over questions", draw_clusters),
        Entry("schlag-fig3", "Attention from digits to '/'", draw_attention),
        Entry("schlag-fig4", "Exact match by module, interpolation", draw_interpolation),
        Entry("schlag-fig5", "Exact match by module, extrapolation", draw_extrapolation),
        Entry("schlag-sec6.1", "Reconstruction of z, with controls", schlag.draw_reconstruction),
        Entry(
            "schlag-sec6.1-table", "Reconstruction of z by a head", schlag.tabulate_reconstruction
        ),
        Entry("schlag-sec6.2", "The binding problem, exactly", schlag.tabulate_demonstration),
        Entry("schlag-sec6.2-trained", "Which digit divides which", schlag.draw_binding),
        Entry("schlag-sec6.2-trained-table", "Which digit divides which", schlag.tabulate_binding),
        Entry("schlag-sec7", "Hadamard against tensor product", schlag.draw_capture),
        Entry("schlag-sec7-table", "What the diagonal keeps of v ⊗ r", schlag.tabulate_capture),
        Entry(
            "jiang-table2", "ROUGE and METEOR of summaries, paired differences", summaries.table2
        ),
        Entry("jiang-table3", "Votes of people on summaries", summaries.table3),
        Entry("jiang-unfaithful", "Unsupported facts of references", summaries.unsupported_table),
        Entry("jiang-table4", "What vectors know about words", table4),
        Entry("jiang-discreteness", "How discrete roles are", jiang.draw_discreteness),
        Entry("jiang-roles", "What each discrete role stands for", jiang.tabulate_dictionary),
        Entry("huang-table1", "Scores of captions", huang.tabulate_scores),
        Entry("huang-table2", "Nominal and verbal clusters", huang.tabulate_conformity),
        Entry("huang-table3", "What ten clusters stand for", huang.tabulate_interpretation),
        Entry("huang-fig3", "Unbinding vectors by kind of word", huang.draw_kinds),
        Entry("huang-fig4", "Unbinding vectors of nouns", huang.draw_nouns),
        Entry("huang-fig5", "Unbinding vectors of verbs", huang.draw_verbs),
        Entry("huang-fig6", "Unbinding vectors of adjectives", huang.draw_adjectives),
        Entry("huang-fig7", "Unbinding vectors of prepositions", huang.draw_prepositions),
        Entry("huang-regions", "The 76.3 %: purity of regions", huang.tabulate_regions),
        Entry("huang-stability", "Clusters over seeds and k", huang.tabulate_stability),
        Entry("huang-subjects", "Subjects against objects", huang.tabulate_subjects),
        Entry("matched-study", "What binding buys at equal steps and size", schlag.draw_study),
        Entry("swap", "Answers after two numbers' vectors change places", interventions.draw_swap),
        Entry("snap", "Exact match with vectors snapped to k centres", interventions.draw_snap),
        Entry("ablation-map", "Which heads matter", interventions.draw_ablation),
        Entry("learning-curve", "Loss and exact match against steps", figures.learning_curve),
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


def make(name: str, **given: Any) -> Drawing | Table:
    """The figure or table of that name.

    ``given`` is what it is made of, by name: ``store`` (a Store or its path), ``evaluations`` or
    ``runs`` (paths or names of checkpoints), and options of that figure.

    Raises:
        InputError: an unknown figure or option, or an input that is missing or lacks something.
    """
    entry = find_figure(name)
    for key in given:
        if key not in (*entry.inputs, *entry.options):
            raise unknown(f"option of {name}", key, (*entry.inputs, *entry.options))
    given = {key: DEFAULTS[key] for key in entry.inputs if key in DEFAULTS} | given
    for key in entry.inputs:
        if key not in given:
            raise InputError(f"{name} is made of {INPUTS[key][0]}")
    loaded = {key: INPUTS[key][1](given[key]) for key in entry.inputs}
    return entry.make(**(given | loaded))


def draw(name: str, **given: Any) -> Drawing:
    """The figure of that name (see :func:`make`); a table is drawn as one."""
    made = make(name, **given)
    return made.draw() if isinstance(made, Table) else made


def write_figure(
    name: str,
    store: Source | None = None,
    sources: Sequence[Source] = (),
    options: Mapping[str, Any] = MappingProxyType({}),
    out: Source | None = None,
) -> Path:
    """The file of a figure (PDF, SVG, PNG) or table (these, Markdown, LaTeX or CSV).

    ``sources`` are the evaluations or runs that it is made of; an option that is None is not given.
    Without ``out`` the file is ``runs/NAME.pdf``. Raises InputError as :func:`make` does.
    """
    entry = find_figure(name)
    given = {key: value for key, value in options.items() if value is not None}
    given |= {"store": store} if store is not None else {}
    given |= {key: sources for key in entry.inputs if key != "store" and sources}
    path = Path("runs") / f"{name}.pdf" if out is None else Path(out)
    made = make(name, **given)
    return made.save(path) if isinstance(made, Table) else save(made, path)
