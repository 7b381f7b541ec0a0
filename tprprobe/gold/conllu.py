"""Treebanks: CoNLL-U, and CoNLL-U Plus with columns of entities and of semantic roles.

Words count; multi-word tokens and empty nodes are passed over. ``pos`` is XPOS, ``upos`` is UPOS,
``dep`` has the relation of a word to its head (of the root to itself, as jiant has it), ``nel``
comes from a column NER (IOB2), ``srl`` from UP:PRED and UP:ARGSPANS (Universal Propositions).
"""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tprprobe.errors import InputError, unknown
from tprprobe.files.lines import Numbered
from tprprobe.gold.iob import check_tag, decode_tags
from tprprobe.gold.labels import Labelled, Target, check_target, is_made_of
from tprprobe.gold.textlines import comments, located, read_blocks, rows

PLAIN = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
MORE = ("NER", "UP:PRED", "UP:PREDS", "UP:ARGHEADS", "UP:ARGSPANS")
PASSED_OVER = re.compile(r"\d+[-.]\d+")
ARGUMENT = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")
DIGITS = 9  # of a number that can be of a word
SHORT = re.compile(r"^((?:[CR]-)?)A(?=[0-9A]$|M-)")  # A0, AM-TMP for ARG0, ARGM-TMP

Word = Mapping[str, str]


def read_conllu(path: Path) -> list[Labelled]:
    """The sentences of a file with all labels that its columns hold.

    Raises:
        InputError: naming the file and the line that is wrong.
    """
    columns: Sequence[str] = PLAIN
    sentences: list[Labelled] = []
    document = ""
    for block in read_blocks(path):
        found = comments(block)
        if "global.columns" in found:
            columns = found["global.columns"].split()
            with located(path, block[0][0]):
                _check_columns(columns)
        document = found.get("newdoc id", document)
        words = _words(path, rows(block), columns)
        if words:
            name = found.get("sent_id", str(len(sentences) + 1))
            sentences.append(_sentence(path, words, name, document or name, found.get("text")))
    return sentences


def _check_columns(columns: Sequence[str]) -> None:
    for column in columns:
        if column not in (*PLAIN, *MORE):
            raise unknown("column", column, (*PLAIN, *MORE))
    if not {"ID", "FORM"} <= {*columns}:
        raise InputError("the columns lack ID or FORM")


def _words(path: Path, lines: list[Numbered], columns: Sequence[str]) -> list[tuple[int, Word]]:
    """The words of a sentence, each a field a column, with their lines' numbers."""
    words: list[tuple[int, Word]] = []
    for number, line in lines:
        fields = line.split("\t")
        with located(path, number):
            if len(fields) != len(columns):
                raise InputError(
                    f"{len(fields)} columns between tabs instead of {len(columns)} "
                    f"({' '.join(columns)})"
                )
            word = dict(zip(columns, fields, strict=True))
            if PASSED_OVER.fullmatch(word["ID"]):
                continue
            if word["ID"] != str(len(words) + 1):
                raise InputError(f"word number {word['ID']!r}, expected {len(words) + 1}")
            words.append((number, word))
    return words


def _sentence(
    path: Path, words: list[tuple[int, Word]], name: str, document: str, text: str | None
) -> Labelled:
    targets: dict[str, list[Target]] = {}
    tags = []
    for i, (number, word) in enumerate(words):
        with located(path, number):
            for task, target in _targets(word, i, len(words)):
                check_target(target, len(words))
                targets.setdefault(task, []).append(target)
            if "NER" in word:
                tags.append(_entity(word["NER"], tags))
    if tags:
        targets["nel"] = list(decode_tags(tags))
    forms = tuple(word["FORM"] for _, word in words)
    if text is None or not is_made_of(text, forms):  # some multi-word tokens spell their words anew
        text = " ".join(forms)
    return Labelled(name, document, forms, text, {k: tuple(v) for k, v in targets.items()})


def _entity(tag: str, before: list[str]) -> str:
    tag = "O" if tag == "_" else tag
    check_tag(tag, before[-1] if before else "O")
    return tag


def _targets(word: Word, i: int, n_words: int) -> list[tuple[str, Target]]:
    here = (i, i + 1)
    found = [
        (task, Target(word[column], here))
        for task, column in (("pos", "XPOS"), ("upos", "UPOS"))
        if word.get(column, "_") != "_"
    ]
    if word.get("DEPREL", "_") != "_":
        found.append(("dep", Target(word["DEPREL"], here, _head(word["HEAD"], i, n_words))))
    predicate = word.get("UP:PRED", word.get("UP:PREDS", "_"))
    if predicate != "_" and word.get("UP:ARGSPANS", "_") != "_":
        found += [("srl", each) for each in _arguments(word["UP:ARGSPANS"], here)]
    return found


def _head(text: str, i: int, n_words: int) -> tuple[int, int]:
    if not text.isdecimal() or len(text) > DIGITS or int(text) > n_words:
        raise InputError(f"head {text!r} in a sentence of {n_words} words")
    head = int(text) - 1 if int(text) else i
    return head, head + 1


def _arguments(text: str, predicate: tuple[int, int]) -> list[Target]:
    targets = []
    for each in text.split("|"):
        match = ARGUMENT.fullmatch(each)
        if match is None:
            raise InputError(f"argument {each!r}: arguments are LABEL:FIRST-LAST, joined by |")
        label = SHORT.sub(r"\1ARG", match[1])
        if label != "V":
            targets.append(Target(label, predicate, (int(match[2]) - 1, int(match[3]))))
    return targets
