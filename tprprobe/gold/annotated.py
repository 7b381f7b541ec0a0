"""Annotated files of any format that is known, and label files that join another's sentences."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.gold.conllu import read_conllu
from tprprobe.gold.edges import read_edges
from tprprobe.gold.iob import read_iob
from tprprobe.gold.labels import Labelled

FORMATS = {
    ".conllu": lambda path, task: read_conllu(path),
    ".conllup": lambda path, task: read_conllu(path),
    ".iob2": lambda path, task: read_iob(path, task or "nel"),
    ".iob": lambda path, task: read_iob(path, task or "nel"),
    ".bio": lambda path, task: read_iob(path, task or "nel"),
    ".jsonl": lambda path, task: read_edges(path, task or path.name.split(".")[0]),
}


def is_annotated(path: str | os.PathLike[str]) -> bool:
    """Whether a file is annotated, by the ending of its name (plain or ``.gz``)."""
    return _format(Path(path)) in FORMATS


def read_annotated(path: str | os.PathLike[str], task: str | None = None) -> list[Labelled]:
    """The sentences of a CoNLL-U (.conllu, .conllup), IOB2 (.iob2) or edge-probing (.jsonl) file.

    ``task`` names what the labels of the last two are of.

    Raises:
        InputError: another ending, or a file that is wrong (with the line).
    """
    path = Path(path)
    if _format(path) not in FORMATS:
        raise InputError(f"{path}: an annotated file ends in {', '.join(FORMATS)} (or these .gz)")
    return FORMATS[_format(path)](path, task)


def _format(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def add_labels(
    sentences: Sequence[Labelled], path: str | os.PathLike[str], task: str
) -> list[Labelled]:
    """The sentences with the targets of a task from a file of the same sentences.

    They are found by their names (sent_id), else by their words; those that the file lacks have no
    targets of the task.

    Raises:
        InputError: a sentence of the file is not among them, or has other words.
    """
    others = read_annotated(path, task)
    by_name = {each.name: i for i, each in enumerate(sentences)}
    by_words = {each.words: i for i, each in reversed(list(enumerate(sentences)))}
    added = [replace(each, targets={**each.targets, task: ()}) for each in sentences]
    for other in others:
        i = by_name.get(other.name, -1)
        if i < 0 or sentences[i].words != other.words:
            i = by_words.get(other.words, -1)
        if i < 0:
            raise InputError(
                f"{path}: sentence {other.name!r} ({' '.join(other.words)[:60]}…) is not among "
                f"the {len(sentences)} sentences that it should label"
            )
        if task not in other.targets:
            raise InputError(f"{path} has no labels of {task}: it has {', '.join(other.targets)}")
        added[i] = replace(added[i], targets={**added[i].targets, task: other.targets[task]})
    return added
