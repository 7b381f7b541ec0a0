"""Annotated files of every known format, and label files that are joined to another's sentences."""

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import read_lines
from tprprobe.gold.blocks import located
from tprprobe.gold.conllu import read_conllu
from tprprobe.gold.iob import read_iob
from tprprobe.gold.labels import Labelled, Reading, Span, Target, check_target

TABLE = ".tsv"  # a column file where labels are asked for; as data, a table of texts or words
COLUMNS = (".iob2", ".iob", ".bio", ".conll", TABLE)
ODD = {  # what is counted while a file is read, and how it is told
    "shared_words": "words written as one with the word before (à, le: au), whose tokens they share",
    "without_text": "sentences without `# text`, spelled from their tokens",
    "other_text": "sentences whose `# text` has other words, spelled from their tokens",
    "several_roots": "sentences with several roots",
    "empty_nodes": "empty nodes left out",
    "repeated_names": "sentences whose sent_id stands twice",
    "unknown_tags": "UPOS that are not universal",
    "unknown_relations": "relations that are not universal",
    "unended": "no empty line behind the last sentence, so the file may be cut",
    "without_document": 'sentences without a "document", which count as one document (equal texts as the same one)',
    "sentence_documents": "sentences of no document, each of which counts as a document",
    "plain_labels": "labels without B- or I-, each read as that of a single word (O: no label)",
    "iob1_tags": "I- that begin an entity (IOB1), read as B-",
}
OF_DOCUMENTS = ("without_document", "sentence_documents")
KEYS, TARGET_KEYS = ("text", "targets", "info", "document"), ("span1", "span2", "label", "info")


def read_edges(path: Path, task: str | None) -> Reading:
    """The sentences of a file with the targets of one task, by default the file's name; several labels are as many targets."""
    sentences = []
    for number, line in read_lines(path):
        if line.strip():
            record = parse_json(line, f"{path}, line {number}")
            with located(path, number):
                sentences.append(
                    _read(record, task or path.name.split(".")[0], str(len(sentences) + 1))
                )
    if not sentences:
        raise InputError(f"{path} is empty: give a file with annotated sentences")
    n_alone = sum(sentence.document == sentence.text for sentence in sentences)
    return Reading(sentences, Counter(without_document=n_alone))


def _read(record: object, task: str, name: str) -> Labelled:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise InputError('a line is a JSON object with "text" and "targets"')
    _check_keys("key", record, KEYS)
    words = tuple(record["text"].split())
    if not words or not isinstance(record.get("targets"), list):
        raise InputError('a sentence without words, or without a list "targets"')
    targets = tuple(target for item in record["targets"] for target in _targets(item))
    for target in targets:
        check_target(target, len(words))
    info = record.get("info")
    metadata = info if isinstance(info, dict) else {}
    name = str(metadata.get("sent_id", name))
    # a line may be one of several of a text
    document = str(record.get("document", metadata.get("document", record["text"])))
    return Labelled(name, document, words, record["text"], {task: targets})


def _targets(record: object) -> list[Target]:
    if not isinstance(record, dict):
        raise InputError(f"target {record!r}: a target is an object with span1 and label")
    _check_keys("key of a target", record, TARGET_KEYS)
    labels = record.get("label")
    several: list[Any] = labels if isinstance(labels, list) else [labels]
    if not several or not all(isinstance(label, str) for label in several):
        raise InputError(f"label {labels!r}: a label is a text, or a list of texts")
    span2 = _span(record["span2"]) if record.get("span2") is not None else None
    return [Target(label, _span(record.get("span1")), span2) for label in several]


def _span(span: object) -> Span:
    if not (isinstance(span, list) and len(span) == 2 and all(type(n) is int for n in span)):
        raise InputError(f"span {span!r}: a span is two numbers, [start, end)")
    return span[0], span[1]


def _check_keys(kind: str, record: dict[str, object], accepted: tuple[str, ...]) -> None:
    for key in record:
        if key not in accepted:
            raise unknown(kind, key, accepted)


FORMATS = {
    **dict.fromkeys((".conllu", ".conllup"), lambda path, _: read_conllu(path)),
    **dict.fromkeys(COLUMNS, lambda path, task: read_iob(path, task or "nel")),
    ".jsonl": read_edges,
}


def is_annotated(path: str | os.PathLike[str]) -> bool:
    return _format(Path(path)) in {*FORMATS} - {TABLE}


def read_annotated(path: str | os.PathLike[str], task: str | None = None) -> list[Labelled]:
    """The sentences of a CoNLL-U, column (.iob2 …) or edge-probing (.jsonl) file, for their labels; ``task`` names those of the last two."""
    reading = read_file(path, task)
    report_reading(path, reading, is_data=False)
    return reading.sentences


def read_file(path: str | os.PathLike[str], task: str | None = None) -> Reading:
    path = Path(path)
    if _format(path) not in FORMATS:
        raise InputError(
            f"{path}: an annotated file ends in {', '.join(FORMATS)} (or these .gz); labels of single words: a word and a label or O in every line of a .tsv"
        )
    return FORMATS[_format(path)](path, task)


def report_reading(path: str | os.PathLike[str], reading: Reading, is_data: bool = True) -> None:
    """Says what was read; the documents only of data, as labels are of other data's."""
    counts = count_reading(reading)
    if not is_data:
        del counts["documents"]
    targets = [f"{task} {n:,}" for task, n in sorted(counts.pop("targets").items())]
    sizes = ", ".join(f"{name} {n:,}" for name, n in counts.items())
    note(f"{path}: {sizes}; targets: {', '.join(targets) or 'none'}")
    kinds = [kind for kind in ODD if is_data or kind not in OF_DOCUMENTS]
    odd = {ODD[kind]: reading.odd[kind] for kind in kinds}
    if changed := [f"{description}: {n:,}" for description, n in odd.items() if n]:
        note(f"{path}: {'; '.join(changed)}")
    sizes_of_labels = Counter(
        (task, target.label)
        for sentence in reading.sentences
        for task, task_targets in sentence.targets.items()
        for target in task_targets
    )
    single = sorted(label for (_, label), n in sizes_of_labels.items() if n == 1)
    if single and len(targets) == 1:  # a treebank has several tasks, and rare labels
        note(f"{path}: labels of one target: {len(single):,} ({', '.join(single):.60})")


def count_reading(reading: Reading) -> dict[str, Any]:
    targets = Counter[str]()
    for sentence in reading.sentences:
        targets.update({task: len(task_targets) for task, task_targets in sentence.targets.items()})
    return {
        "sentences": len(reading.sentences),
        "documents": len({sentence.document for sentence in reading.sentences}),
        "words": sum(len(sentence.words) for sentence in reading.sentences),
        "targets": dict(targets),
    }


def _format(path: Path) -> str:
    return Path(path.stem).suffix if path.suffix == ".gz" else path.suffix


def note_documents(path: str | os.PathLike[str], pairs: Sequence[tuple[Labelled, str]]) -> None:
    """Says that sentences of a label file, here with their documents in the data that it labels, are of fewer documents in the file."""
    documents = [(s.document, document) for s, document in pairs if s.document != s.text]
    n_labelled, n_data = (len({pair[i] for pair in documents}) for i in range(2))
    if n_labelled < n_data:
        counts = (
            f"{n_labelled:,} documents are not used; in the data these sentences are of {n_data:,}"
        )
        note(f"{path}: its {counts}")


def add_labels(
    sentences: Sequence[Labelled], path: str | os.PathLike[str], task: str
) -> list[Labelled]:
    """The sentences with a task's targets from a file of the same sentences, found by sent_id, else by their words."""
    added: list[list[Target]] = [[] for _ in sentences]
    documents: list[tuple[Labelled, str]] = []
    by_name = {sentence.name: i for i, sentence in enumerate(sentences)}
    unnamed: dict[tuple[str, ...], list[Labelled]] = {}
    for labelled in read_annotated(path, task):
        if task not in labelled.targets:
            raise InputError(f"{path} has no labels of {task}, but {', '.join(labelled.targets)}")
        i = by_name.get(labelled.name, -1)
        if i >= 0 and sentences[i].words == labelled.words:
            added[i] += labelled.targets[task]
            documents.append((labelled, sentences[i].document))
        else:
            unnamed.setdefault(labelled.words, []).append(labelled)
    by_words: dict[tuple[str, ...], list[int]] = {}
    for i, sentence in enumerate(sentences):
        by_words.setdefault(sentence.words, []).append(i)
    for words, group in unnamed.items():
        places = by_words.get(words, [])
        if len({labelled.targets[task] for labelled in group}) == 1:  # the same words, and labels
            group = group[:1] * max(1, len(places))
        for i, labelled in zip(_places(path, group, places), group, strict=True):
            added[i] += labelled.targets[task]
            documents.append((labelled, sentences[i].document))
    note_documents(path, documents)
    pairs = zip(sentences, added, strict=True)
    return [replace(s, targets={**s.targets, task: tuple(dict.fromkeys(t))}) for s, t in pairs]


def _places(
    path: str | os.PathLike[str], group: Sequence[Labelled], places: Sequence[int]
) -> Sequence[int]:
    description = f"sentence {group[0].name!r} ({' '.join(group[0].words)[:60]}…)"
    if not places:
        raise InputError(f"{path}: {description} is not in the file that it labels")
    if len(places) == 1:
        return [places[0]] * len(group)
    if len(places) != len(group):
        counts = f"comes {len(group)} times, {len(places)} sentences have these words"
        raise InputError(f"{path}: {description} {counts}: give both files the same sent_id")
    return places
