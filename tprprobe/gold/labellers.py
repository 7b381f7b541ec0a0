"""Labellers of texts that nobody annotated: a spaCy pipeline, and rules on top of its parse."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from tprprobe.errors import InputError
from tprprobe.gold.labels import Labelled
from tprprobe.gold.pipelines import load_pipeline
from tprprobe.gold.rules import NAME, RoleRules

SPACY = "spacy:"


@runtime_checkable
class Labeller(Protocol):
    """Adds labels of ``tasks`` to sentences, and words to a text that has none."""

    @property
    def tasks(self) -> tuple[str, ...]: ...
    def label(self, sentences: Sequence[Labelled]) -> list[Labelled]: ...
    def describe(self) -> dict[str, dict[str, Any]]:
        """For each task its ``source``, and its ``agreement`` with gold labels if it was measured."""
        ...


def is_labeller(source: str) -> bool:
    """True if a source of labels is a labeller of any text, not a file."""
    return source.startswith(SPACY) or source == NAME


def find_labellers(sources: Mapping[str, str]) -> list[Labeller]:
    """The labellers of ``{"pos,dep,nel": "spacy:FOLDER", "srl": "rules"}``, in that order."""
    return [_find(tasks.split(","), source) for tasks, source in sources.items()]


def _find(tasks: Sequence[str], source: str) -> Labeller:
    if source.startswith(SPACY):
        return load_pipeline(source.removeprefix(SPACY), tasks)
    if source != NAME or list(tasks) != ["srl"]:
        raise InputError(
            f"{','.join(tasks)}={source}: text is labelled by spacy:PIPELINE, semantic roles by srl={NAME}"
        )
    return RoleRules()


def apply_labellers(sentences: Sequence[Labelled], labellers: Sequence[Labeller]) -> list[Labelled]:
    """The sentences with the labels of each in turn."""
    found = list(sentences)
    for labeller in labellers:
        found = labeller.label(found)
    return found
