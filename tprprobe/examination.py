"""One model on one page: what its states are made of, what its heads look at, what they know and what its answers need."""

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import entry_points, version
from pathlib import Path
from typing import Any

import pandas as pd
from torch import nn

from tprprobe.analyses.attention.head_patterns import score_heads
from tprprobe.analyses.clustering import Clusters, cluster, load_clusters, save_clusters
from tprprobe.analyses.decomposition import measure_exact_gain
from tprprobe.analyses.decomposition.state_shares import score_shares
from tprprobe.analyses.naming.fields import Field, describe, label_words
from tprprobe.analyses.naming.names import name_clusters, name_roles
from tprprobe.analyses.probing import probe
from tprprobe.data import as_data, load_data
from tprprobe.data.dataset import ALL, Dataset
from tprprobe.data.frames.pairsets import MinimalPairs
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import build_lattice
from tprprobe.evaluation.splits import read_provenance
from tprprobe.extraction import extract
from tprprobe.figures.model_page import EXACT, SECTIONS, describe_run, explain_lack, list_absent
from tprprobe.figures.report.page import Page
from tprprobe.figures.report.sections import Section
from tprprobe.figures.state_shares import PLACE
from tprprobe.files.locks import alone
from tprprobe.files.runs import KeptRun
from tprprobe.gold.labellers import SPACY, Labeller, find_labellers
from tprprobe.models.answers import describe_matches
from tprprobe.models.architectures import fingerprint
from tprprobe.models.checkpoint import default_data
from tprprobe.models.loading import load_model
from tprprobe.models.protocol import Language, Readable
from tprprobe.site.adapters import Adaptable
from tprprobe.site.attachment import Attached
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import ATTENTION, choose_outputs, is_causal, side_of, sides_of
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, TWINS

PAIRS = "pairs:active+passive+relative+cleft"  # what a model reads if nothing is asked for
MANIFEST, LAYERS, TEXTS, N_BEHAVIOR = "examination.json", 6, 600, 60
ROLES = ("role", "pos")  # schemes of roles beside places, where words have these labels
PROBED = ("role", "pos", "dep", "nel", "srl")
GUESSED = "pos,dep"  # what a pipeline labels
N_MAPS, N_CLUSTERS = 64, 12  # texts whose attention is read; clusters of tokens
SOURCE = "source"
HEADLESS = "it needs a model that was saved with a head"
NO_PAIRS = "it needs minimal pairs, in which two words change places (--data pairs:FRAME)"
UNLABELLED = "the words of these texts have no labels: give a treebank, or --labels spacy:PIPELINE"


@dataclass(frozen=True, eq=False)
class Examination:
    """What was measured of a model: a sentence a question, and tables by name (nested, heads, clusters, probes, behavior).

    ``page`` is the file with sentences and figures; every table is a CSV file beside it, every figure a file in its folder figures.
    """

    folder: Path
    lines: list[str]
    tables: Mapping[str, pd.DataFrame]

    @property
    def page(self) -> Path:
        """The page."""
        return self.folder / "report.html"


def examine(
    model: Readable | nn.Module | Adaptable,
    tokenizer: Any = None,
    data: Dataset | str | os.PathLike[str] | Iterable[str] | None = None,
    out: str | os.PathLike[str] = "runs/examined",
    layers: int = LAYERS,
    n: int = TEXTS,
    labels: str | None = None,
    resume: bool = False,
    seed: int = 0,
) -> Examination:
    """A model on one page: what its states are made of, layer by layer, beside a baseline model with permuted weights;
    what its heads look at; which tokens a late layer holds together; what probes read from it; and what its next token is when two
    words' states change places.

    Args:
        model: Any model that reads text, or one in memory, as :func:`load_model` takes it.
        tokenizer: The tokenizer of a model in memory; default: the one that it has.
        data: What it reads, as :func:`load_data` takes it; default: the data that its card names, else minimal pairs of four
            frames, in which agent and patient change places.
        out: The folder of report.html, its figures, the tables as CSV and the store.
        layers: How many layers' outputs are examined, evenly spaced; default: 6. The input embeddings come first.
        n: How many texts are read, evenly spaced in larger data.
        labels: What labels words for probes, ``spacy:PIPELINE``; default: the data, else an installed pipeline of spaCy.
        resume: Resume an interrupted run.
        seed: Seed of random choices.

    Returns:
        The examination. The state of a text is the mean over its tokens, of a model that looks back only its last
        token's; fillers are the model's tokens.

    Raises:
        InputError: a model without vectors of what it reads, a pipeline that is not there, a folder of something else.

    Examples:
        >>> tp.examine(module, tokenizer, ["Dogs chase cats.", "Rain falls."], out="runs/mine")  # doctest: +SKIP
    """
    if not isinstance(model, Language | Attached):
        model = load_model(model, tokenizer)
    data = choose_data(model, n, seed) if data is None else as_data(data)
    data = data.spaced(n)
    subject = Subject(
        model, data, Path(out), choose_outputs([*find_sites(model)], layers), labels, seed
    )
    with alone(subject.folder):
        return _examine(subject, resume)


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, what it reads, and the folder of what is measured."""

    model: Readable
    data: Dataset
    folder: Path
    sites: Sequence[str]
    labels: str | None
    seed: int

    @property
    def name(self) -> str:
        """The model's name; where it lies in the folder ``model`` of a run, the run's."""
        folder = getattr(self.model, "folder", None)
        if folder is not None and self.model.name == folder.name == "model":
            return folder.absolute().parent.name
        return self.model.name

    @property
    def checkpoint(self) -> str:
        """What commands call the model."""
        folder = self.store.facts.model_folder
        kind = "hf:" if folder and self.model.name.startswith("hf:") else ""
        return f"{kind}{folder or self.model.name}"

    @cached_property
    def store(self) -> Store:
        """The vectors of every token at the sites and of the baseline model, and the first texts' attention."""
        maps = [
            name
            for name in find_sites(self.model)
            if name.endswith(ATTENTION) and sides_of(name) == (SOURCE, SOURCE)
        ]
        options: dict[str, Any] = {"twins": [TWINS[0]], "control_samples": len(self.data)}
        options |= {"attention_samples": N_MAPS, "labellers": self.labellers, "resume": True}
        return extract(
            self.model, self.data, [*self.sites, *maps], self.folder / "store", **options
        )

    @cached_property
    def labellers(self) -> list[Labeller]:
        """What labels words that the data do not label."""
        if self.data.tasks and not self.labels:
            return []
        pipelines = [] if self.labels else sorted(entry_points(group="spacy_models").names)
        source = self.labels or next((f"{SPACY}{name}" for name in pipelines), None)
        return find_labellers({GUESSED: source}) if source and self.has_words else []

    @property
    def has_words(self) -> bool:
        """Whether the model's tokens are words, or parts of them."""
        return bool(getattr(self.model.vocabulary, "has_words", True))

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks whose labels the words have."""
        tasks = [*self.data.tasks, *(task for one in self.labellers for task in one.tasks)]
        return [task for task in tasks if task in self.store.tokens]

    @property
    def probed(self) -> list[str]:
        """The tasks that are probed, and that name clusters."""
        return [task for task in PROBED if task in self.tasks]

    @property
    def unit(self) -> str:
        """What the state of a text is: the mean over its tokens, or the last one's."""
        if self.store.side(self.sites[-1]) == SAMPLE:
            return SAMPLE
        return "last" if is_causal(self.sites[-1]) else "mean"

    @cached_property
    def clusters(self) -> Clusters:
        """The clusters of the tokens at the last site."""
        folder = self.folder / "clusters"
        if not folder.exists():
            tokens = self.store.tokens_of(self.sites[-1])
            k = max(2, min(N_CLUSTERS, len(tokens) // 10))
            results = cluster(self.store, self.sites[-1], k=k, seed=self.seed)
            save_clusters([results], folder, self.store)
        return load_clusters(folder)[0]


def _examine(subject: Subject, resume: bool) -> Examination:
    """The examination in a folder that no other process writes; its page grows question by question."""
    model, data, folder = subject.model, subject.data, subject.folder
    settings = {"model": model.name, "weights": fingerprint(model), "data": data.name}
    settings |= {"n": len(data), "sites": subject.sites, "seed": subject.seed}
    settings |= {"labels": subject.labels or "", "tprprobe": version("tprprobe")}
    run = KeptRun.open(folder, settings, resume, MANIFEST)
    tables, sections = dict[str, pd.DataFrame](), score_answers(subject)
    absent = list_absent(subject, find_sites(model))
    n_sections = len(sections) + len(MEASURES) + len(absent)
    page = Page(folder, subject.name, describe_run(subject), n_sections)
    page.add(*sections)
    for name, measure in MEASURES.items():
        try:
            tables[name] = _measure(run, name, measure, subject)
            section = SECTIONS[name](tables[name], subject)
        except InputError as error:
            section = explain_lack(name, str(error))
        page.add(section)
        sections.append(section)
    page.add(*absent)
    sections += absent
    lines = [section.text or f"{section.heading} {section.lack}" for section in sections]
    facts = {"lines": lines, "sections": [section.as_dict() for section in sections]}
    run.finish({f"{name}.csv": table for name, table in tables.items()}, facts)
    return Examination(folder, lines, tables)


def _measure(
    run: KeptRun, name: str, measure: Callable[[Subject], pd.DataFrame], subject: Subject
) -> pd.DataFrame:
    """The table of a question, which a run that goes on does not measure again."""
    if run.is_done and (run.folder / f"{name}.csv").is_file():
        table = pd.read_csv(run.folder / f"{name}.csv")
        return table.fillna(dict.fromkeys(table.select_dtypes("object"), ""))
    part = run.part(name, lambda: {name: measure(subject)})
    part.finish()
    return part.read(name)


def score_answers(subject: Subject) -> list[Section]:
    """How often the model is right, where questions have one right answer: on the test split, if what it reads is not divided."""
    from tprprobe.interventions.prompts import has_head

    data = subject.data
    is_asked = data.has_targets and data[0].has_one_answer and not isinstance(data, MinimalPairs)
    if not (is_asked and has_head(subject.model)):
        return []
    if data.split == ALL:
        try:
            data = load_data(data.name, split="test", seed=data.seed)[: len(data)]
        except InputError:  # it has no splits
            data = subject.data
    text = f"{describe_matches(subject.model, data).capitalize()}."
    deeper = f"tprprobe eval --ckpt {subject.checkpoint} --data {data.name} --split {data.split}"
    return [Section("How often is its answer right?", text, deeper=deeper)]


def measure_states(subject: Subject) -> pd.DataFrame:
    """The shares of variance of words, places and bindings at every site, in the model and its baseline; at the
    input embeddings also by their exact table.
    """
    schemes = [PLACE, *(task for task in ROLES if task in subject.tasks)]
    table = score_shares(subject.store, subject.sites, schemes, subject.unit, subject.seed)
    site = subject.sites[0]
    if site.endswith(".embedding"):
        gain = measure_exact_gain(subject.store, site, subject.unit)
        exact = {"site": site, "roles": PLACE, "family": "factored", "control": EXACT}
        table = pd.concat([table, pd.DataFrame([exact | {"share": gain}])], ignore_index=True)
    return table


def measure_clusters(subject: Subject) -> pd.DataFrame:
    """The clusters of the last site's tokens with their most frequent tokens, and names where words are labelled."""
    summary = subject.clusters.summary.drop(columns=["center"], errors="ignore")
    try:
        names = name_by_labels(subject)
    except InputError:  # nothing to name them by
        return summary
    return summary.merge(names.drop(columns=["size"], errors="ignore"), on="cluster")


def name_by_labels(subject: Subject) -> pd.DataFrame:
    """The names of clusters by the labels of words, exact or guessed; without labels by the structure of arithmetic."""
    store, clusters = subject.store, subject.clusters
    if not subject.probed:
        return name_roles(store, clusters, subject.seed)
    tokens = store.tokens_of(clusters.site).reset_index(drop=True)
    labels = {task: label_words(tokens, task) for task in subject.probed}
    described = describe(tokens.assign(**labels), {task: Field((task,)) for task in labels})
    origin = read_provenance(tokens)
    options = (origin.documents, subject.seed, origin.sequences)
    return name_clusters(clusters.labels, build_lattice(described), *options)


def measure_probes(subject: Subject) -> pd.DataFrame:
    """Probes of the labels of words at all sites, beside probes of the baseline model."""
    if not subject.has_words:
        raise InputError("the model reads characters, of which no label is known")
    if not subject.probed:
        raise InputError(UNLABELLED)
    options: dict[str, Any] = {"sites": tuple(subject.sites), "controls": (TWINS[0],)}
    out = subject.folder / "probes"
    return probe(subject.store, subject.probed, out=out, resume=True, **options)


def measure_behavior(subject: Subject) -> pd.DataFrame:
    """What the model expects next after two words' states have changed places."""
    from tprprobe.interventions.behavior import measure_pairs
    from tprprobe.interventions.prompts import has_head

    model: Any = subject.model
    if not has_head(model):
        raise InputError(HEADLESS)
    if not isinstance(subject.data, MinimalPairs):
        raise InputError(NO_PAIRS)

    data: Any = replace(subject.data, asked=True)[:N_BEHAVIOR]
    out = subject.folder / "behavior"
    sites = [site for site in subject.sites if side_of(site) == SOURCE]
    return measure_pairs(model, data, sites, out=out, resume=True, seed=subject.seed)


MEASURES: dict[str, Callable[[Subject], pd.DataFrame]] = {
    "nested": measure_states,
    "heads": lambda subject: score_heads(subject.store, subject.seed),
    "clusters": measure_clusters,
    "probes": measure_probes,
    "behavior": measure_behavior,
}


def choose_data(model: Readable, n: int, seed: int) -> Dataset:
    """The data that the model's card names, else minimal pairs."""
    try:
        name, split = default_data(model) if getattr(model, "folder", None) else (PAIRS, None)
    except InputError:
        name, split = PAIRS, None
    options: dict[str, Any] = {} if split is None else {"split": split}
    return load_data(name, n=n, seed=seed, **options)
