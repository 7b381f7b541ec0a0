"""A model that is examined: its vectors, the labels of what it reads, and the clusters of its last site."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib.metadata import entry_points
from pathlib import Path
from shlex import quote
from typing import Any

import pandas as pd

from tprprobe.analyses.clustering import Clusters, cluster, load_clusters, save_clusters
from tprprobe.console import quiet
from tprprobe.data import load_data
from tprprobe.data.annotated.sentencesets import label_data
from tprprobe.data.dataset import ALL, Dataset
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.gold.labellers import SPACY, Labeller, load_pipeline
from tprprobe.models.checkpoint import trained_data
from tprprobe.models.protocol import Readable
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import ATTENTION, is_causal, layer_of, match, sides_of
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, TWINS

NO_LABELS = "none"
PROBED = ("role", "pos", "dep", "nel", "srl")  # in this order, before other tasks
IMPLIED = {"upos": "pos", "place": "role", "number": "role"}  # not probed beside the other task
GUESSED = ("pos", "dep", "nel")  # what a pipeline labels, where it can
N_MAPS, N_CLUSTERS = 64, 12  # texts whose attention is read; clusters of tokens
SOURCE = "source"


def reads_words(model: Readable) -> bool:
    """Whether a model's tokens are words, or parts of them."""
    return bool(getattr(model.vocabulary, "has_words", True))


def check_labels(labels: str | None) -> None:
    """Refuses what names no labels, before a model is loaded."""
    if labels and labels != NO_LABELS and not labels.startswith(SPACY) and "=" not in labels:
        raise InputError(
            f"labels {labels!r}: give {SPACY}PIPELINE, pos,nel={SPACY}PIPELINE, TASK=FILE or {NO_LABELS}"
        )


def label_words(
    model: Readable, data: Dataset, labels: str | None
) -> tuple[Dataset, list[Labeller]]:
    """The data, with the labels of ``TASK=FILE``, and what labels words otherwise: ``spacy:PIPELINE``, or ``TASKS=`` before it; NO_LABELS: nothing."""
    if (data.tasks and not labels) or labels == NO_LABELS or not reads_words(model):
        return data, []
    pipelines = [] if labels else sorted(entry_points(group="spacy_models").names)
    labels = labels or next((f"{SPACY}{name}" for name in pipelines), "")
    if labels.startswith(SPACY):
        pipeline = load_pipeline(labels.removeprefix(SPACY))
        return data, [replace(pipeline, tasks=tuple(t for t in GUESSED if t in pipeline.tasks))]
    tasks, _, source = labels.partition("=")
    return label_data(data, {tasks: source} if labels else {})


@dataclass(frozen=True, eq=False)
class Subject:
    """A model, what it reads, and the folder of what is measured."""

    model: Readable
    data: Dataset
    folder: Path
    sites: Sequence[str]
    labels: str | None
    labellers: Sequence[Labeller]
    seed: int
    n_texts: int = 0  # of the data, of which not all may be read

    @property
    def groups(self) -> str:
        """What intervals are over: documents, if texts share them."""
        documents = self.store.tokens.get("document", pd.Series(dtype=object)).nunique()
        return "documents" if 0 < documents < len(self.data) else "texts"

    @property
    def name(self) -> str:
        """The model's name; where it lies in the folder ``model`` of a run, the run's."""
        folder = getattr(self.model, "folder", None)
        if folder is not None and self.model.name == folder.name == "model":
            return folder.absolute().parent.name
        return self.model.name

    def say_trained(self) -> str:
        """How many of the texts the model was trained on, where its recipe names these data; else nothing."""
        trained = trained_data(Path(getattr(self.model, "folder", None) or ""))
        if trained.get("data") != self.data.name or self.data.split not in (ALL, trained["split"]):
            return ""
        with quiet():
            train_sources = {example.source for example in load_data(self.data.name, split="train")}
        n_known = sum(example.source in train_sources for example in self.data)
        return f", {n_known or 'none'} of which the model was trained on"

    @property
    def command(self) -> str:
        """The command that makes the page, where its texts have a name and its model is not one in memory."""
        n_layers = sum(not site.endswith(".embedding") for site in self.sites)
        words = ["tprprobe examine", self.checkpoint, f"--data {quote(self.data.name)}"]
        words += [f"-n {len(self.data)} --layers {n_layers} --seed {self.seed}"]
        words += [f"--labels {self.labels}"] * bool(self.labels) + [f"--out {self.folder}"]
        in_memory = self.model.loaded_by is None and not self.store.facts.model_folder
        return "" if in_memory or self.data.name.startswith("texts ") else " ".join(words)

    @property
    def checkpoint(self) -> str:
        """What commands call the model: the name that it was loaded by, paths from the folder of work on."""
        if self.model.loaded_by is not None:
            return str(self.model.loaded_by[0][0]).replace(f"{Path.cwd()}/", "")
        folder = self.store.facts.model_folder
        kind = "hf:" if folder and self.model.name.startswith("hf:") else ""
        return f"{kind}{folder or self.model.name}"

    @cached_property
    def store(self) -> Store:
        """The vectors of every token at the sites and of the baseline model, and the first texts' attention."""
        maps = match(f"*{ATTENTION}", [*find_sites(self.model)])
        maps = [name for name in maps if sides_of(name)[1] == SOURCE]
        options: dict[str, Any] = {"twins": [TWINS[0]], "attention_samples": N_MAPS}
        options |= {"labellers": self.labellers, "resume": True}
        sites = [*self.sites, *self.role_sites, *maps]
        return extract(self.model, self.data, sites, self.folder / "store", **options)

    @cached_property
    def role_sites(self) -> list[str]:
        """The site of the encoder's last roles; empty for a model without roles."""
        roles = match("encoder.*.self.role", [*find_sites(self.model)])
        return sorted(roles, key=lambda site: layer_of(site) or 0)[-1:]

    @cached_property
    def tasks(self) -> list[str]:
        """The tasks whose labels the words have."""
        tasks = [
            *self.data.tasks,
            *(task for labeller in self.labellers for task in labeller.tasks),
        ]
        return [task for task in tasks if task in self.store.tokens]

    @property
    def probed(self) -> list[str]:
        """The tasks that are probed, and that name clusters."""
        tasks = sorted(self.tasks, key=[*PROBED, *self.tasks].index)
        return [task for task in tasks if IMPLIED.get(task) not in tasks]

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
