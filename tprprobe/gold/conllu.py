"""Treebanks: CoNLL-U, and CoNLL-U Plus with columns of entities and of semantic roles.

Words count; multi-word tokens say how they are written (:mod:`tprprobe.gold.surface`); empty nodes are
passed over. ``pos`` is XPOS, ``upos`` is UPOS, ``dep`` has the relation of a word to its head (of the root to itself, as jiant has it), ``nel``
comes from a column NER (IOB2), ``srl`` from UP:PRED and UP:ARGSPANS (Universal Propositions).
"""

import os
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from tprprobe.errors import InputError, unknown
from tprprobe.files.lines import Numbered
from tprprobe.gold.blocks import Documents, comments, located, read_blocks, rows
from tprprobe.gold.iob import check_tag, decode_tags
from tprprobe.gold.labels import Labelled, Reading, Target, check_target
from tprprobe.gold.surface import Surface, SurfaceToken, find_surface, is_text_of

PLAIN = ("ID", "FORM", "LEMMA", "UPOS", "XPOS", "FEATS", "HEAD", "DEPREL", "DEPS", "MISC")
EXTRA_COLUMNS = ("NER", "UP:PRED", "UP:PREDS", "UP:ARGHEADS", "UP:ARGSPANS")
EMPTY_NODE = re.compile(r"\d+\.\d+")
JOINED = re.compile(r"(\d{1,9})-(\d{1,9})")
ARGUMENT = re.compile(r"(.+):(\d{1,9})-(\d{1,9})")
DIGITS = 9  # of a number that can be of a word
SHORT = re.compile(r"^((?:[CR]-)?)A(?=[0-9A]$|M-)")  # A0, AM-TMP for ARG0, ARGM-TMP

# tags and relations of Universal Dependencies, version 2 (universaldependencies.org)
TAGS = """
    ADJ ADP ADV AUX CCONJ DET INTJ NOUN NUM PART PRON PROPN PUNCT SCONJ SYM VERB X
"""
RELATIONS = """
    acl advcl advmod amod appos aux case cc ccomp clf compound conj cop csubj dep det discourse
    dislocated expl fixed flat goeswith iobj list mark nmod nsubj nummod obj obl orphan
    parataxis punct reparandum root vocative xcomp
"""
UNIVERSAL = ("UPOS", "XPOS", "DEPREL")  # columns

Word = Mapping[str, str]


def read_conllu(path: Path) -> Reading:
    """The sentences with all labels of their columns; a document begins with ``# newdoc`` or, without any, ``# newpar``."""
    columns: Sequence[str] = PLAIN
    sentences: list[Labelled] = []
    documents, odd = Documents(), Counter[str]()
    values = {column: Counter[str]() for column in UNIVERSAL}
    names: set[str] = set()
    last_text, last_forms = None, []
    for block in read_blocks(path):
        header = comments(block)
        if "global.columns" in header:
            columns = header["global.columns"].split()
            with located(path, block[0][0]):
                accepted = (*PLAIN, *EXTRA_COLUMNS)
                if strange := [column for column in columns if column not in accepted]:
                    raise unknown("column", strange[0], (*PLAIN, *EXTRA_COLUMNS))
                if not {"ID", "FORM"} <= {*columns}:
                    raise InputError("the columns lack ID or FORM")
        documents.read(header)
        words, tokens, n_empty = _words(path, rows(block), columns)
        if words:
            name, text = header.get("sent_id", str(len(sentences) + 1)), header.get("text")
            with located(path, words[0][0]):
                surface = find_surface(text, tokens)
            odd["empty_nodes"] += n_empty
            odd["several_roots"] += _heads(path, words).count(0) > 1
            odd["without_text"] += text is None
            odd["other_text"] += text is not None and not is_text_of(text, tokens)
            odd["repeated_names"] += name in names
            names.add(name)
            for column, counts in values.items():
                counts.update(word.get(column, "_") for _, word in words)
            last_text, last_forms = text, [token.form for token in tokens]
            odd["shared_words"] += len(words) - len({*surface.places})
            sentences.append(_sentence(path, words, name, documents.name or name, surface))
    if sentences and all(form == "_" for sentence in sentences for form in sentence.words):
        fault = "all words are _: this treebank comes without its text"
        raise InputError(f"{path}: {fault}, merge that in as its README says")
    odd += count_unknown(path, values)
    if last_forms:
        odd += check_end(path, last_text, last_forms)
    return Reading(sentences, odd)


def _words(
    path: Path, lines: list[Numbered], columns: Sequence[str]
) -> tuple[list[tuple[int, Word]], list[SurfaceToken], int]:
    """The words of a sentence with their lines' numbers, the tokens that they are written as, and the number of empty nodes."""
    words: list[tuple[int, Word]] = []
    tokens: list[SurfaceToken] = []
    end, n_empty = 0, 0  # the last word of a multi-word token
    for number, line in lines:
        fields = line.split("\t")
        with located(path, number):
            if len(fields) != len(columns):
                expected = f"{len(columns)} ({' '.join(columns)})"
                raise InputError(f"{len(fields)} columns between tabs instead of {expected}")
            word = dict(zip(columns, fields, strict=True))
            if EMPTY_NODE.fullmatch(word["ID"]):
                n_empty += 1
            elif ends := JOINED.fullmatch(word["ID"]):
                _check_range(int(ends[1]), int(ends[2]), len(words), end)
                end = int(ends[2])
                check_word(word["FORM"])
                tokens.append(SurfaceToken(word["FORM"], [], word.get("MISC", "_")))
            elif word["ID"] != str(len(words) + 1):
                raise InputError(f"word number {word['ID']!r}, expected {len(words) + 1}")
            else:
                check_word(word["FORM"])
                words.append((number, word))
                if len(words) > end:
                    tokens.append(SurfaceToken(word["FORM"], [], word.get("MISC", "_")))
                tokens[-1].words.append(word["FORM"])
    if end > len(words):
        with located(path, lines[-1][0]):
            raise InputError(f"the token ends with word {end}, the sentence with {len(words)}")
    return words, tokens, n_empty


def _check_range(start: int, end: int, n_words: int, last_before: int) -> None:
    if not max(n_words, last_before) + 1 == start < end:
        raise InputError(
            f"multi-word token {start}-{end} after word {n_words}: it stands before its first word, "
            "and no two have a word in common"
        )


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
    path: Path, words: list[tuple[int, Word]], name: str, document: str, surface: Surface
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
    targets_by_task = {task: tuple(task_targets) for task, task_targets in targets.items()}
    return Labelled(name, document, forms, surface.text, targets_by_task, surface.places)


def _targets(word: Word, i: int, n_words: int) -> list[tuple[str, Target]]:
    span = (i, i + 1)
    values = {column: value for column, value in word.items() if value != "_"}
    tasks = {"pos": "XPOS", "upos": "UPOS"}.items()
    targets = [(task, Target(values[column], span)) for task, column in tasks if column in values]
    if "DEPREL" in values:
        head = _number(values.get("HEAD", "_"), n_words) - 1
        head_span = (head, head + 1) if head >= 0 else span
        targets.append(("dep", Target(values["DEPREL"], span, head_span)))
    predicate = word.get("UP:PRED", word.get("UP:PREDS", "_"))
    if predicate != "_" and "UP:ARGSPANS" in values:
        targets += [("srl", argument) for argument in _arguments(values["UP:ARGSPANS"], span)]
    return targets


def _number(text: str, n_words: int) -> int:
    if not text.isdecimal() or len(text) > DIGITS or int(text) > n_words:
        raise InputError(f"head {text!r} in a sentence of {n_words} words")
    return int(text)


def _arguments(text: str, predicate: tuple[int, int]) -> list[Target]:
    targets = []
    for argument in text.split("|"):
        match = ARGUMENT.fullmatch(argument)
        if match is None:
            raise InputError(f"argument {argument!r}: arguments are LABEL:FIRST-LAST, joined by |")
        label = SHORT.sub(r"\1ARG", match[1])
        if label != "V":
            targets.append(Target(label, predicate, (int(match[2]) - 1, int(match[3]))))
    return targets


def check_word(form: str) -> None:
    if not form.strip():
        raise InputError(f"word {form!r} has no character but blanks")


def check_heads(heads: Sequence[int]) -> None:
    """Checks that every word hangs, head by head, from a root; heads count from 1, a root's is 0."""
    clear = {0}
    for word in range(1, len(heads) + 1):
        path = [word]
        while path[-1] not in clear:
            head = heads[path[-1] - 1]
            if head in path:
                fault = "its own head" if head == path[-1] else f"below itself (head {head})"
                raise InputError(f"word {path[-1]} is {fault}: heads must lead to a root (0)")
            path.append(head)
        clear.update(path)


def count_unknown(path: Path, values: Mapping[str, Counter[str]]) -> Counter[str]:
    """How many words have a tag or a relation that is not universal. InputError where UPOS and XPOS were exchanged."""
    total, unknown = Counter[str](), Counter[str]()
    for column, counts in values.items():
        accepted = (RELATIONS if column == "DEPREL" else TAGS).split()
        value_counts = {value: n for value, n in counts.items() if value != "_"}
        total[column] = sum(value_counts.values())
        strange = (n for v, n in value_counts.items() if v.partition(":")[0] not in accepted)
        unknown[column] = sum(strange)
    if 2 * unknown["UPOS"] > total["UPOS"] and 2 * unknown["XPOS"] < total["XPOS"]:
        tag = values["UPOS"].most_common(1)[0][0]
        raise InputError(f"{path}: UPOS has tags like {tag!r}: exchange the columns")
    return Counter(unknown_tags=unknown["UPOS"], unknown_relations=unknown["DEPREL"])


def check_end(path: Path, text: str | None, forms: Sequence[str]) -> Counter[str]:
    """Whether the file may be cut behind the last sentence. InputError where its ``# text`` goes on."""
    if path.suffix == ".gz":  # a cut one cannot be unpacked
        return Counter()
    with path.open("rb") as file:
        file.seek(-min(4, path.stat().st_size), os.SEEK_END)
        if file.read().replace(b"\r", b"").endswith(b"\n\n"):
            return Counter()
    joined, joined_text = ("".join("".join(words).split()) for words in (forms, text or ""))
    if joined_text.startswith(joined) and joined_text != joined:
        end = f"its last sentence ends with {forms[-1]!r}"
        raise InputError(f"{path} is cut: {end}, its `# text` goes on; get it again")
    return Counter(unended=int(joined_text != joined))
