"""Annotated files of every known format, and label files that are joined to another's sentences."""

import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.gold.conllu import read_conllu
from tprprobe.gold.edges import read_edges
from tprprobe.gold.iob import read_iob
from tprprobe.gold.labels import Labelled, Target

FORMATS = {
    ".conllu": lambda path, task: read_conllu(path),
    ".conllup": lambda path, task: read_conllu(path),
    ".iob2": lambda path, task: read_iob(path, task or "nel"),
    ".iob": lambda path, task: read_iob(path, task or "nel"),
    ".bio": lambda path, task: read_iob(path, task or "nel"),
    ".jsonl": lambda path, task: read_edges(path, task or path.name.split(".")[0]),
}


def is_annotated(path: str | os.PathLike[str]) -> bool:
    """True for an annotated file, by the ending of its name (plain or ``.gz``)."""
    return _format(Path(path)) in FORMATS


def read_annotated(path: str | os.PathLike[str], task: str | None = None) -> list[Labelled]:
    """The sentences of a CoNLL-U (.conllu, .conllup), IOB2 (.iob2) or edge-probing (.jsonl) file.

    ``task`` names what the labels of the last two are of.
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
    targets of the task. A sentence may come several times in the file, once a predicate, say.
    """
    found: list[list[Target]] = [[] for _ in sentences]
    by_name = {each.name: i for i, each in enumerate(sentences)}
    unnamed: dict[tuple[str, ...], list[Labelled]] = {}
    for other in read_annotated(path, task):
        if task not in other.targets:
            raise InputError(f"{path} has no labels of {task}: it has {', '.join(other.targets)}")
        i = by_name.get(other.name, -1)
        if i >= 0 and sentences[i].words == other.words:
            found[i] += other.targets[task]
        else:
            unnamed.setdefault(other.words, []).append(other)
    by_words: dict[tuple[str, ...], list[int]] = {}
    for i, sentence in enumerate(sentences):
        by_words.setdefault(sentence.words, []).append(i)
    for words, others in unnamed.items():
        for i, other in zip(_places(path, others, by_words.get(words, [])), others, strict=True):
            found[i] += other.targets[task]
    return [
        replace(each, targets={**each.targets, task: tuple(dict.fromkeys(targets))})
        for each, targets in zip(sentences, found, strict=True)
    ]


def _places(
    path: str | os.PathLike[str], others: Sequence[Labelled], places: Sequence[int]
) -> Sequence[int]:
    """The sentences of a file that have the same words, by their numbers."""
    named = f"sentence {others[0].name!r} ({' '.join(others[0].words)[:60]}…)"
    if not places:
        raise InputError(f"{path}: {named} is not in the file that it labels")
    if len(places) == 1:
        return [places[0]] * len(others)
    if len(places) != len(others):
        raise InputError(
            f"{path}: {named} comes {len(others)} times, {len(places)} sentences that it should label "
            "have these words: give both files the same sent_id"
        )
    return places
