"""Entities as tags, a token a line: column files in IOB1, IOB2, BIOES and BILOU.

A word's line is ``form tag``, ``number form tag …`` or, as CoNLL 2003 has it, ``form … tag``, with tabs or blanks
between. Tweets have words that begin with ``#``; a comment is ``# key = value``, or a ``#`` by itself with
a text that ends in no tag, before the first word of a sentence. ``-DOCSTART-`` begins a document.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise
from pathlib import Path

from tprprobe.errors import InputError
from tprprobe.files.lines import Numbered
from tprprobe.gold.blocks import DOCUMENT, Documents, comments, located, read_blocks
from tprprobe.gold.labels import Labelled, Reading, Target, is_made_of

TAG = re.compile(r"O|[BIESLUMW]-\S+")
COMMENT = re.compile(r"#\s*[\w.:]+(\s+id)?\s*=|#\s*new(doc|par)\s*$")
DOCSTART = "-DOCSTART-"
HEADER = re.compile(r"(word|token|form|text)\t(label|tag)", re.IGNORECASE)
PLAIN = {".conll", ".tsv"}  # in which labels may be no tags
SAME_TAGS = str.maketrans("LMUW", "EISS")  # of BILOU and BMEWO in BIOES
Fields = tuple[int, list[str]]  # of a line, with its number


def read_iob(path: Path, task: str = "nel") -> Reading:
    """The sentences of a file of words and tags; in what scheme it is, its tags tell."""
    blocks = [_divide(path, block) for block in read_blocks(path)]
    lines = [fields for block in blocks for fields in block[1]]
    if lines and HEADER.fullmatch("\t".join(lines[0][1])):
        raise InputError(f"{path}: the first line names columns, and would be a word: take it out")
    is_numbered = all(fields[0].isdecimal() and len(fields) > 2 for _, fields in lines)
    odd = Counter(plain_labels=_mark_plain(lines) if PLAIN & {*path.suffixes} else 0)
    parsed = [_parse(path, words, is_numbered) for _, words in blocks]
    is_iob1 = _is_iob1([[tag for *_, tag in words] for words in parsed])
    sentences: list[Labelled] = []
    documents = Documents()
    for (metadata, _), words in zip(blocks, parsed, strict=True):
        documents.read(metadata)
        tags = _read_tags(path, words, is_iob1)
        forms = tuple(form for _, form, _ in words)
        if forms:
            name, text = metadata.get("sent_id", str(len(sentences) + 1)), metadata.get("text")
            odd["sentence_documents"] += not documents.name
            odd["iob1_tags"] += sum(a != b for a, (*_, b) in zip(tags, words, strict=True))
            odd["other_text"] += (is_other := text is not None and not is_made_of(text, forms))
            text = " ".join(forms) if text is None or is_other else text
            targets = {task: decode_tags(tags)}
            sentences.append(Labelled(name, documents.name or name, forms, text, targets))
    return Reading(sentences, odd)


def _divide(path: Path, block: list[Numbered]) -> tuple[dict[str, str], list[Fields]]:
    n_comments = 0
    while n_comments < len(block) and _is_comment(block[n_comments][1]):
        n_comments += 1
    metadata = comments(block[:n_comments])
    words = [(number, _fields(line)) for number, line in block[n_comments:]]
    if words and words[0][1][0] == DOCSTART:
        return metadata | {DOCUMENT: ""}, words[1:]
    return metadata, words


def _is_comment(line: str) -> bool:
    if COMMENT.match(line) and "\t" not in line:
        return True
    return line[:2] in ("# ", "#\t", "#") and not TAG.fullmatch(_fields(line)[-1])


def _fields(line: str) -> list[str]:
    """Fields between tabs, or between blanks where there are no tabs; U+00A0 is a part of a word."""
    return line.split("\t") if "\t" in line else re.split(" +", line.strip(" "))


def _mark_plain(lines: Sequence[Fields]) -> int:
    """Makes labels tags of single words, where all lines are a word and a label, and none has a tag but O; returns their number."""
    labelled = [fields for _, fields in lines if fields[-1].strip() != "O"]
    for fields in labelled:
        if len(fields) != 2 or len(fields[1].split()) != 1 or TAG.fullmatch(fields[1].strip()):
            return 0
    for fields in labelled:
        fields[1] = f"B-{fields[1]}"
    return len(labelled)


def _parse(path: Path, words: list[Fields], is_numbered: bool) -> list[tuple[int, str, str]]:
    parsed = []
    for place, (number, fields) in enumerate(words, 1):
        with located(path, number):
            if len(fields) < 2:
                raise InputError(
                    f"{len(fields)} columns: a line is `form tag`, `number form tag` or `form … tag`"
                )
            if is_numbered and fields[0] != str(place):
                raise InputError(f"token number {fields[0]!r}, expected {place}")
            form, tag = (fields[1], fields[2]) if is_numbered else (fields[0], fields[-1].strip())
            if not TAG.fullmatch(tag):
                raise InputError(
                    f"tag {tag!r}: a tag is O, or B-, I-, E-, S-, L-, U- and a type (IOB1, IOB2, BIOES, BILOU), or all are labels of single words"
                )
            parsed.append((number, form, tag))
    return parsed


def _is_iob1(sentences: Iterable[Sequence[str]]) -> bool:
    """True where entities begin with I-, and B- only parts two of one type that touch."""
    begins = False
    for tags in sentences:
        for before, tag in pairwise(["O", *tags]):
            inside = tag[1:] == before[1:]
            if tag[0] not in "OBI" or (tag[0] == "B" and not inside):
                return False
            begins |= tag[0] == "I" and not inside
    return begins


def _read_tags(path: Path, words: Sequence[tuple[int, str, str]], is_iob1: bool) -> list[str]:
    tags, before = [], "O"
    for number, _, tag in words:
        if is_iob1 and tag[0] == "I" and tag[1:] != before[1:]:
            tag = "B" + tag[1:]
        with located(path, number):
            check_tag(tag, before)
        tags.append(before := tag)
    return tags


def check_tag(tag: str, before: str) -> None:
    """Checks a tag of IOB2, BIOES or BILOU: inside and at the end an entity goes on with its type."""
    if not TAG.fullmatch(tag):
        raise InputError(f"tag {tag!r}: tags are O, B-TYPE and I-TYPE (IOB2)")
    kind, kind_before = tag[0].translate(SAME_TAGS), before[0].translate(SAME_TAGS)
    if kind in "IE" and not (kind_before in "BI" and before[1:] == tag[1:]):
        raise InputError(f"tag {tag!r} after {before!r}: an entity begins with B- (or S-, U-)")


def decode_tags(tags: Sequence[str]) -> tuple[Target, ...]:
    targets: list[Target] = []
    for word, tag in enumerate(tags):
        if tag[0].translate(SAME_TAGS) in "BS":
            targets.append(Target(tag[2:], (word, word + 1)))
        elif tag != "O":
            targets[-1] = targets[-1]._replace(span1=(targets[-1].span1[0], word + 1))
    return tuple(targets)
