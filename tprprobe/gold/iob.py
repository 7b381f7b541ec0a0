"""Entities as tags, a token a line: IOB2."""

import contextlib
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.lines import Numbered, read_lines
from tprprobe.gold.labels import Labelled, Target


def read_blocks(path: Path) -> Iterator[list[Numbered]]:
    """Blocks of lines between empty lines."""
    block: list[Numbered] = []
    found = False
    for number, line in read_lines(path):
        if line.strip():
            block.append((number, line))
        elif block:
            yield block
            block, found = [], True
    if block:
        yield block
    elif not found:
        raise InputError(f"{path} is empty: give a file with annotated sentences")


@contextlib.contextmanager
def located(path: Path, number: int) -> Iterator[None]:
    """A block whose errors begin with this file and line number."""
    try:
        yield
    except InputError as error:
        raise InputError(f"{path}, line {number}: {error}") from error


def comments(block: list[Numbered]) -> dict[str, str]:
    """The comments ``# key = value`` of a block."""
    found = {}
    for _, line in block:
        if line.startswith("#"):
            key, _, value = line[1:].partition("=")
            found[key.strip()] = value.strip()
    return found


def rows(block: list[Numbered]) -> list[Numbered]:
    return [(number, line) for number, line in block if not line.startswith("#")]


TAG = re.compile(r"O|[BI]-\S+")


def read_iob(path: Path, task: str = "nel") -> list[Labelled]:
    """The sentences of a file with the lines ``form tag`` or ``number form tag``."""
    sentences: list[Labelled] = []
    document = ""
    for block in read_blocks(path):
        found = comments(block)
        document = found.get("newdoc id", document)
        words, tags = [], []
        for place, (number, line) in enumerate(rows(block), 1):
            with located(path, number):
                form, tag = _read(line.split("\t") if "\t" in line else line.split(), place)
                check_tag(tag, tags[-1] if tags else "O")
            words.append(form)
            tags.append(tag)
        if words:
            name = found.get("sent_id", str(len(sentences) + 1))
            text = found.get("text", " ".join(words))
            targets = {task: decode_tags(tags)}
            sentences.append(Labelled(name, document or name, tuple(words), text, targets))
    return sentences


def _read(fields: list[str], place: int) -> tuple[str, str]:
    if len(fields) == 2:
        return fields[0], fields[1]
    if len(fields) < 3:
        raise InputError(f"{len(fields)} columns: a line is `form tag` or `number form tag`")
    if fields[0] != str(place):
        raise InputError(f"token number {fields[0]!r}, expected {place}: tokens count from 1")
    return fields[1], fields[2]


def check_tag(tag: str, before: str) -> None:
    if not TAG.fullmatch(tag):
        raise InputError(f"tag {tag!r}: tags are O, B-TYPE and I-TYPE (IOB2)")
    if tag[0] == "I" and before[1:] != tag[1:]:
        raise InputError(f"tag {tag!r} after {before!r}: in IOB2 an entity begins with B-")


def decode_tags(tags: Sequence[str]) -> tuple[Target, ...]:
    targets: list[Target] = []
    for word, tag in enumerate(tags):
        if tag[0] == "B":
            targets.append(Target(tag[2:], (word, word + 1)))
        elif tag[0] == "I":
            targets[-1] = targets[-1]._replace(span1=(targets[-1].span1[0], word + 1))
    return tuple(targets)
