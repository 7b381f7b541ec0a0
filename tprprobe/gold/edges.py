"""Edge-probing files as jiant has them: a JSON object a line, spans half open over words.

``{"text": "The cat sleeps", "targets": [{"span1": [1, 2], "span2": [2, 3], "label": "nsubj"}],
"info": {…}}``. Source: Tenney et al. 2019, nyu-mll/jiant-v1-legacy (probing/data).
"""

from pathlib import Path
from typing import Any

from tprprobe.errors import InputError, unknown
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import read_lines
from tprprobe.gold.labels import Labelled, Span, Target, check_target
from tprprobe.gold.textlines import located

KEYS, TARGET_KEYS = ("text", "targets", "info"), ("span1", "span2", "label", "info")


def read_edges(path: Path, task: str) -> list[Labelled]:
    """The sentences of a file with the targets of one task; several labels are as many targets."""
    sentences = []
    for number, line in read_lines(path):
        if line.strip():
            record = parse_json(line, f"{path}, line {number}")
            with located(path, number):
                sentences.append(_read(record, task, str(len(sentences) + 1)))
    if not sentences:
        raise InputError(f"{path} is empty: give a file with annotated sentences")
    return sentences


def _read(record: Any, task: str, name: str) -> Labelled:
    if not isinstance(record, dict) or not isinstance(record.get("text"), str):
        raise InputError('a line is a JSON object with "text" and "targets"')
    _check_keys("key", record, KEYS)
    words = tuple(record["text"].split())
    if not words or not isinstance(record.get("targets"), list):
        raise InputError('a sentence without words, or without a list "targets"')
    targets = tuple(target for each in record["targets"] for target in _targets(each))
    for target in targets:
        check_target(target, len(words))
    info = record.get("info")
    given = info if isinstance(info, dict) else {}
    name = str(given.get("sent_id", name))
    document = str(given.get("document", record["text"]))  # a line may be one of several of a text
    return Labelled(name, document, words, record["text"], {task: targets})


def _targets(record: Any) -> list[Target]:
    if not isinstance(record, dict):
        raise InputError(f"target {record!r}: a target is an object with span1 and label")
    _check_keys("key of a target", record, TARGET_KEYS)
    labels = record.get("label")
    several: list[Any] = labels if isinstance(labels, list) else [labels]
    if not several or not all(isinstance(label, str) for label in several):
        raise InputError(f"label {labels!r}: a label is a text, or a list of texts")
    span2 = _span(record["span2"]) if record.get("span2") is not None else None
    return [Target(label, _span(record.get("span1")), span2) for label in several]


def _span(given: Any) -> Span:
    if not (isinstance(given, list) and len(given) == 2 and all(type(n) is int for n in given)):
        raise InputError(f"span {given!r}: a span is two numbers, [start, end)")
    return given[0], given[1]


def _check_keys(kind: str, record: dict[str, Any], accepted: tuple[str, ...]) -> None:
    for key in record:
        if key not in accepted:
            raise unknown(kind, key, accepted)
