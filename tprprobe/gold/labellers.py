"""Labellers of texts that nobody annotated: a spaCy pipeline, and what plug-ins make of its parse.

spaCy is an extra (`pip install 'tprprobe[taggers]'`) and is imported when a pipeline is loaded. Its
labels are a tagger's, not gold: what they agree with is measured (docs/probing.md).
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from tprprobe import plugins
from tprprobe.errors import InputError, check_extra, unknown
from tprprobe.gold.labels import Labelled, Target

TASKS = {  # what a pipeline needs to label them
    "pos": ("tagger",),
    "upos": ("morphologizer", "attribute_ruler"),
    "dep": ("parser",),
    "nel": ("ner", "entity_ruler"),
}
MEASURED = {"pos": "tag_acc", "upos": "pos_acc", "dep": "dep_las", "nel": "ents_f"}
ROOT = "ROOT"  # spaCy's name of the relation that treebanks call root
SPACY = "spacy:"  # before the name of a pipeline, as a source of labels
BATCH = 64


@dataclass(frozen=True, eq=False)
class Pipeline:
    name: str
    tasks: tuple[str, ...]
    nlp: Any

    def label(self, sentences: Sequence[Labelled]) -> list[Labelled]:
        """The sentences with labels of ``tasks``; a text without words is divided by the tokenizer."""
        vocab, make = self.nlp.vocab, self.nlp.make_doc
        blank_docs = [make_doc(vocab, s) if s.words else make(s.text) for s in sentences]
        docs = self.nlp.pipe(blank_docs, batch_size=BATCH)
        return [self._read(sentence, doc) for sentence, doc in zip(sentences, docs, strict=True)]

    def describe(self) -> dict[str, dict[str, object]]:
        """For each task its labeller, and its agreement with gold labels (accuracy; labelled attachment; F1) when it was trained."""
        measured = self.nlp.meta.get("performance", {})
        return {
            task: {"source": f"spacy:{self.name}", "agreement": measured.get(MEASURED[task])}
            for task in self.tasks
        }

    def _read(self, sentence: Labelled, doc: Any) -> Labelled:
        """Blanks are tokens of spaCy's, and no words. The root is paired with itself, as jiant has it."""
        words = [token for token in doc if not token.is_space]
        number = {token.i: n for n, token in enumerate(words)}
        heads = [(n, token.dep_, number.get(token.head.i)) for n, token in enumerate(words)]
        entities = [
            (entity.label_, [number[i] for i in range(entity.start, entity.end) if i in number])
            for entity in doc.ents
        ]
        targets = {
            "pos": [Target(token.tag_, (n, n + 1)) for n, token in enumerate(words)],
            "upos": [Target(token.pos_, (n, n + 1)) for n, token in enumerate(words)],
            "dep": [
                Target("root" if label == ROOT else label, (n, n + 1), (head, head + 1))
                for n, label, head in heads
                if head is not None
            ],
            "nel": [
                Target(label, (word_indices[0], word_indices[-1] + 1))
                for label, word_indices in entities
                if word_indices
            ],
        }
        labels = {task: tuple(t for t in targets[task] if t.label) for task in self.tasks}
        forms = tuple(token.text for token in words)
        return replace(sentence, words=forms, targets={**sentence.targets, **labels})


def load_pipeline(name: str | os.PathLike[str], tasks: Sequence[str] | None = None) -> Pipeline:
    spacy = import_spacy()
    try:
        nlp = spacy.load(name if spacy.util.is_package(str(name)) else Path(name))
    except (OSError, ValueError) as error:
        raise InputError(
            f"no spaCy pipeline {os.fspath(name)!r} here: give a folder that `spacy train` wrote, or install one "
            "(`python -m spacy download en_core_web_sm`)"
        ) from error
    able = tuple(task for task, components in TASKS.items() if {*components} & {*nlp.pipe_names})
    for task in tasks or ():
        if task not in able:
            raise unknown(f"label of the pipeline {os.fspath(name)}", task, able)
    return Pipeline(Path(name).name, tuple(tasks or able), nlp)


def import_spacy() -> Any:
    check_extra("spacy", "taggers", "a pipeline that labels words")
    import spacy

    return spacy


def make_doc(vocab: Any, sentence: Labelled) -> Any:
    from spacy.tokens import Doc

    places = sentence.offsets
    followed = [end < start for (_, end), (start, _) in pairwise(places)]
    spaces = [*followed, False][: len(places)]  # whether a blank follows a word
    return Doc(vocab, words=list(sentence.words), spaces=spaces)


@runtime_checkable
class Labeller(Protocol):
    """Adds labels of ``tasks`` to sentences, and words to a text that has none."""

    @property
    def tasks(self) -> tuple[str, ...]: ...
    def label(self, sentences: Sequence[Labelled]) -> list[Labelled]: ...
    def describe(self) -> dict[str, dict[str, object]]:
        """For each task its ``source``, and its ``agreement`` with gold labels if it was measured."""
        ...


def is_labeller(source: str) -> bool:
    return source.startswith(SPACY) or source in plugins.find("labellers")


def find_labellers(sources: Mapping[str, str]) -> list[Labeller]:
    """The labellers of ``{"pos,dep,nel": "spacy:FOLDER", "srl": "rules"}``, in that order."""
    labellers: list[Labeller] = []
    for tasks, source in sources.items():
        if source.startswith(SPACY):
            labellers.append(load_pipeline(source.removeprefix(SPACY), tasks.split(",")))
        elif is_labeller(source):
            labellers.append(plugins.find("labellers")[source].load()(tasks.split(",")))
        else:
            accepted = ", ".join(["spacy:PIPELINE", *plugins.find("labellers")])
            raise InputError(f"nothing labels text by {source!r}: give {accepted}")
    return labellers


def apply_labellers(sentences: Sequence[Labelled], labellers: Sequence[Labeller]) -> list[Labelled]:
    labelled = list(sentences)
    for labeller in labellers:
        labelled = labeller.label(labelled)
    return labelled
