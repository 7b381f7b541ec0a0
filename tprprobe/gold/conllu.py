"""Treebanks: CoNLL-U, and CoNLL-U Plus with columns of entities and of semantic roles.

Words count; multi-word tokens and empty nodes are passed over. ``pos`` is XPOS, ``upos`` is UPOS,
``dep`` has the relation of a word to its head (of the root to itself, as jiant has it), ``nel``
comes from a column NER (IOB2), ``srl`` from UP:PRED and UP:ARGSPANS (Universal Propositions).
"""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.files.lines import Numbered
from tprprobe.gold.iob import check_tag, comments, decode_tags, located, read_blocks, rows
from tprprobe.gold.labels import Labelled, Target, check_target, is_made_of

PLAIN = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
MORE = ("NER", "UP:PRED", "UP:PREDS", "UP:ARGHEADS", "UP:ARGSPANS")
PASSED_OVER = re.compile(r"\d+[-.]\d+")
JOINED = re.compile(r"(\d{1,9})-(\d{1,9})")
ARGUMENT = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")
DIGITS = 9  # of a number that can be of a word
SHORT = re.compile(r"^((?:[CR]-)?)A(?=[0-9A]$|M-)")  # A0, AM-TMP for ARG0, ARGM-TMP

SEEN = "LMNPS"  # first letters of the Unicode categories that print something
BOM = "\ufeff"
ROOTS, OTHER_TEXT, MARKED = "several roots", "a text of other words", "a byte order mark"

Word = Mapping[str, str]


def read_conllu(path: Path) -> list[Labelled]:
    """The sentences of a file with all labels that its columns hold; a line counts those that are odd."""
    columns: Sequence[str] = PLAIN
    sentences: list[Labelled] = []
    document, odd = "", Counter[str]()
    for block in read_blocks(path):
        if block[0][1].startswith(BOM):
            odd[MARKED] += 1
            block = [(block[0][0], block[0][1].lstrip(BOM)), *block[1:]]
        found = comments(block)
        if "global.columns" in found:
            columns = found["global.columns"].split()
            with located(path, block[0][0]):
                if strange := [each for each in columns if each not in (*PLAIN, *MORE)]:
                    raise unknown("column", strange[0], (*PLAIN, *MORE))
                if not {"ID", "FORM"} <= {*columns}:
                    raise InputError("the columns lack ID or FORM")
        document = found.get("newdoc id", document)
        words, joined = _words(path, rows(block), columns)
        if words:
            name, text = found.get("sent_id", str(len(sentences) + 1)), found.get("text")
            forms = [word["FORM"] for _, word in words]
            odd.update(oddities(_heads(path, words), text, forms, spell(forms, joined)))
            sentences.append(_sentence(path, words, name, document or name, text))
    if odd:
        listed = ", ".join(f"{count} with {what}" for what, count in sorted(odd.items()))
        note(f"{path}: of {len(sentences)} sentences {listed}")
    return sentences


def _words(
    path: Path, lines: list[Numbered], columns: Sequence[str]
) -> tuple[list[tuple[int, Word]], dict[tuple[int, int], str]]:
    """The words of a sentence, each a field a column, with their lines' numbers; and its multi-word
    tokens by their first and last word.
    """
    words: list[tuple[int, Word]] = []
    joined: dict[tuple[int, int], str] = {}
    for number, line in lines:
        fields = line.split("\t")
        with located(path, number):
            if len(fields) != len(columns):
                raise InputError(
                    f"{len(fields)} columns between tabs instead of {len(columns)} "
                    f"({' '.join(columns)})"
                )
            word = dict(zip(columns, fields, strict=True))
            if ends := JOINED.fullmatch(word["ID"]):
                joined[int(ends[1]), int(ends[2])] = word["FORM"]
            if PASSED_OVER.fullmatch(word["ID"]):
                continue
            if word["ID"] != str(len(words) + 1):
                raise InputError(f"word number {word['ID']!r}, expected {len(words) + 1}")
            check_word(word["FORM"])
            words.append((number, word))
    return words, joined


def _heads(path: Path, words: list[tuple[int, Word]]) -> list[int]:
    """The heads of a sentence, which make a tree; none where a word has no relation."""
    heads = []
    for number, word in words:
        with located(path, number):
            if word.get("DEPREL", "_") == "_":
                return []
            heads.append(_number(word.get("HEAD", "_"), len(words)))
    with located(path, words[0][0]):
        check_heads(heads)
    return heads


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
                tags.append("O" if word["NER"] == "_" else word["NER"])
                check_tag(tags[-1], tags[-2] if len(tags) > 1 else "O")
    if tags:
        targets["nel"] = list(decode_tags(tags))
    forms = tuple(word["FORM"] for _, word in words)
    if text is None or not is_made_of(text, forms):  # some multi-word tokens spell their words anew
        text = " ".join(forms)
    return Labelled(name, document, forms, text, {k: tuple(v) for k, v in targets.items()})


def _targets(word: Word, i: int, n_words: int) -> list[tuple[str, Target]]:
    here = (i, i + 1)
    known = {column: value for column, value in word.items() if value != "_"}
    tasks = {"pos": "XPOS", "upos": "UPOS"}.items()
    found = [(task, Target(known[column], here)) for task, column in tasks if column in known]
    if "DEPREL" in known:
        head = _number(known.get("HEAD", "_"), n_words) - 1
        found.append(
            ("dep", Target(known["DEPREL"], here, (head, head + 1) if head >= 0 else here))
        )
    predicate = word.get("UP:PRED", word.get("UP:PREDS", "_"))
    if predicate != "_" and "UP:ARGSPANS" in known:
        found += [("srl", each) for each in _arguments(known["UP:ARGSPANS"], here)]
    return found


def _number(text: str, n_words: int) -> int:
    if not text.isdecimal() or len(text) > DIGITS or int(text) > n_words:
        raise InputError(f"head {text!r} in a sentence of {n_words} words")
    return int(text)


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


def check_word(form: str) -> None:
    if not any(unicodedata.category(char)[0] in SEEN for char in form):
        raise InputError(f"word {form!r} has no visible character")


def check_heads(heads: Sequence[int]) -> None:
    """Checks that every word hangs, head by head, from a root; heads count from 1, a root's is 0."""
    clear = {0}
    for word in range(1, len(heads) + 1):
        path = [word]
        while path[-1] not in clear:
            head = heads[path[-1] - 1]
            if head in path:
                said = "its own head" if head == path[-1] else f"below itself (head {head})"
                raise InputError(
                    f"word {path[-1]} is {said}: heads must lead to a root, which has 0"
                )
            path.append(head)
        clear.update(path)


def oddities(
    heads: Sequence[int], text: str | None, forms: Sequence[str], spelled: Sequence[str]
) -> list[str]:
    """What is odd about a sentence and changes nothing: ``spelled`` are its words as its text has them."""
    odd = [ROOTS] if heads.count(0) > 1 else []
    made = text is None or is_made_of(text, forms) or is_made_of(text, spelled)
    return odd if made else [*odd, OTHER_TEXT]


def spell(forms: Sequence[str], joined: Mapping[tuple[int, int], str]) -> list[str]:
    """The words as a text has them: multi-word tokens, from their first word to their last, in one."""
    spelled, word = [], 1
    lasts = {first: (last, form) for (first, last), form in joined.items()}
    while word <= len(forms):
        last, form = lasts.get(word, (word, forms[word - 1]))
        spelled.append(form)
        word = max(last, word) + 1
    return spelled
