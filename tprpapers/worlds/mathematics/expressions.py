"""Gold structural roles of arithmetic questions, one row per character.

Columns, missing where they do not apply; positions count the characters of the question:
    char, kind          template · digit · point · sign (unary minus) · op (binary) · lpar · rpar ·
                        space; where a question is no expression all are `worded` or `unparsed`
    word                of the template: its word, or its final punctuation
    bracket_depth       brackets around a character of the expression, itself included
    slot                which argument, 1 or 2, of its parent
    parent, parent_position   the binary operator of which it is an immediate argument, and where
    tree_depth          binary operators above
These three for numbers and, as the heads of arguments, for operators; digits and points only have
    number              how many numbers of the question stand before their own
    place               0 ones, 1 tens …; −1 tenths, −2 … (digits only)
    msd, n_digits       the number's first digit; how many digits it has
    polarity            in the multiplicative term: denominator iff an odd number of divisions below
                        the nearest + or − have it on their right
    polarity_global     the same up to the root: flips propagate through sums
    flips               how many divisions have it on their right, up to the root
    literal             is the second argument of a division, whatever stands above
    discordant          literal, but not a denominator, or the reverse
    surface_polarity    what the symbols before a number suggest: denominator iff they are `/`, `/(`
                        or `/(-` (never where the division is in words, whose letters are its op)
    behind              what stands before a number: `/`; `/(-` (or `/(`); `/…` with other brackets and
                        signs between; nothing where there is no such `/`
    neg                 directly under a unary minus
    term, add_sign      its multiplicative term, counted from the root and from the left; the sign
                        with which that term enters its sum
    div_second          position of the innermost division that has it on its right
Only binary + and − bound a multiplicative term. The tree is Python's, a*b/c is (a*b)/c: value and
polarity do not depend on that, slot and tree_depth do.
"""

import contextlib
import os
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tprpapers.worlds.mathematics.formulas import (
    BEHIND,
    DIV,
    FIELDS,
    MISSING,
    OPERATORS,
    TEMPLATES,
    evaluate,
    parse,
    walk,
)
from tprprobe.errors import InputError
from tprprobe.gold.structure import COLUMNS, KINDS, POLARITIES, Structure

SYMBOLS = {" ": "space", "(": "lpar", ")": "rpar", ".": "point", "-": "sign"}
SYMBOLS |= dict.fromkeys("0123456789", "digit")
TEMPLATE, _, _, _, OP, LPAR, RPAR, _, WORDED, UNPARSED, *_ = range(len(KINDS))
WORDS = (
    *("What", "is", "the", "value", "of", "Evaluate", "Calculate", "Work", "out"),
    *(".", "?", "Divide"),
)
KIND_OF = np.zeros(128, int)  # of a character of an expression, but for its binary operators
KIND_OF[[ord(symbol) for symbol in SYMBOLS]] = [KINDS.index(kind) for kind in SYMBOLS.values()]
WORD_AT = np.full((len(TEMPLATES), 32), MISSING)  # of a character before the expression
FINAL = np.full(128, MISSING)  # of a character after it
FINAL[[ord("."), ord("?")]] = WORDS.index("."), WORDS.index("?")
for _row, _template in zip(WORD_AT, TEMPLATES, strict=True):
    for _word in _template.split():
        _row[_template.index(_word) :][: len(_word)] = WORDS.index(_word)


def annotate_one(question: str) -> pd.DataFrame:
    """The structure of one question. Raises: InputError for what looks like an expression and is none."""
    parse(question)
    if any("\ud800" <= char <= "\udfff" for char in question):
        raise InputError(f"question {question!r} has half a character; give it in UTF-8")
    return annotate([question]).drop(columns=["question", "position"])


def annotate(questions: Iterable[str]) -> pd.DataFrame:
    """The structures of many questions; questions that cannot be parsed raise nothing."""
    texts = list(questions)
    lengths = np.fromiter(map(len, texts), int, len(texts))
    question = np.repeat(np.arange(len(texts)), lengths)
    position = np.arange(len(question)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    char = [*"".join(texts)]
    columns = {"question": question, "position": position, "char": pd.array(char, "str")}
    spans, numbers, operators = _read(texts)
    names = ("question", "number", *FIELDS)  # a row more for what has none
    table = np.array([*numbers, *operators, (0,) * len(names)])
    nodes = dict(zip(names, table.T, strict=True))
    owner = _owners(nodes, np.cumsum(lengths) - lengths, len(char))
    fields = {name: column[owner] for name, column in nodes.items()}
    is_op = owner >= len(numbers)
    columns |= _marks(char, position, spans[question].T, is_op)
    columns |= _arguments(fields, owner >= 0) | _numbers(fields, (owner >= 0) & ~is_op)
    digit, point = np.asarray(columns["kind"] == "digit"), fields["point"]
    columns["place"] = _integers(point - position - (position < point), digit)
    columns["msd"] = _booleans(position == fields["start"] + (fields["start"] == point), digit)
    return pd.DataFrame({name: columns[name] for name in ("question", "position", *COLUMNS)})


def _read(texts: Sequence[str]) -> tuple[np.ndarray, list[tuple], list[tuple]]:
    """A row (kind, template, start, stop) a question; numbers and operators, FIELDS behind question and number."""
    spans, numbers, operators = np.zeros((len(texts), 4), int), [], []
    for question, text in enumerate(texts):
        spans[question, 0] = UNPARSED
        with contextlib.suppress(InputError):
            expression = parse(text)
            spans[question, 0] = WORDED
            if expression is not None:
                template, inside, start, *_ = expression
                spans[question] = TEMPLATE, TEMPLATES.index(template), start, start + len(inside)
                for rows, records in zip((numbers, operators), walk(expression), strict=True):
                    rows += [(question, number, *row) for number, row in enumerate(records)]
    return spans, numbers, operators


def _owners(nodes: dict[str, np.ndarray], offsets: np.ndarray, characters: int) -> np.ndarray:
    """The row of the number or operator to which every character belongs, −1 for none."""
    owner = np.full(characters, MISSING)
    length = nodes["stop"] - nodes["start"]
    rows = np.repeat(np.arange(len(length)), length)
    inside = np.arange(len(rows)) - np.repeat(np.cumsum(length) - length, length)
    owner[(offsets[nodes["question"][rows]] + nodes["start"][rows] + inside)] = rows
    return owner


def _marks(
    char: list[str], position: np.ndarray, spans: np.ndarray, is_op: np.ndarray
) -> dict[str, object]:
    """The columns for which the tree only tells operators from signs."""
    outside, template, start, stop = spans
    code = np.minimum(np.fromiter(map(ord, char), int, len(char)), 127)
    inside = (start <= position) & (position < stop)
    kind = np.where(is_op, OP, np.where(inside, KIND_OF[code], outside))
    word = np.where(position < start, WORD_AT[template, np.minimum(position, 31)], FINAL[code])
    depth = np.cumsum(kind == LPAR) - np.cumsum(kind == RPAR) + (kind == RPAR)
    return {
        "kind": pd.Categorical.from_codes(kind, pd.Index(KINDS)),
        "word": _categories(word, kind == TEMPLATE, WORDS),
        "bracket_depth": _integers(depth, inside),
    }


def _arguments(fields: dict[str, np.ndarray], is_known: np.ndarray) -> dict[str, object]:
    below = is_known & (fields["slot"] != MISSING)
    return {
        "slot": _integers(fields["slot"], below),
        "parent": _categories(fields["parent"], below, OPERATORS),
        "parent_position": _integers(fields["parent_position"], below),
        "tree_depth": _integers(fields["tree_depth"], is_known),
    }


def _numbers(fields: dict[str, np.ndarray], is_known: np.ndarray) -> dict[str, object]:
    denominator = fields["net"] % 2
    literal = (fields["parent"] == DIV) & (fields["slot"] == 2)
    digits = fields["stop"] - fields["start"] - (fields["point"] < fields["stop"])
    return {
        "polarity": _categories(denominator, is_known, POLARITIES),
        "polarity_global": _categories(fields["flips"] % 2, is_known, POLARITIES),
        "surface_polarity": _categories(
            fields["surface"] >= BEHIND.index("/(-"), is_known, POLARITIES
        ),
        "behind": _categories(fields["surface"], is_known, BEHIND),
        "literal": _booleans(literal, is_known),
        "discordant": _booleans(literal != denominator, is_known),
        "neg": _booleans(fields["neg"] == 1, is_known),
        "n_digits": _integers(digits, is_known),
        "add_sign": _integers(fields["sign"], is_known),
        "div_second": _integers(fields["div_second"], is_known & (fields["div_second"] != MISSING)),
        **{name: _integers(fields[name], is_known) for name in ("flips", "number", "term")},
    }


def _integers(values: np.ndarray, is_known: np.ndarray) -> pd.arrays.IntegerArray:
    return pd.arrays.IntegerArray(np.where(is_known, values, 0), ~is_known)


def _booleans(values: np.ndarray, is_known: np.ndarray) -> pd.arrays.BooleanArray:
    return pd.arrays.BooleanArray(values & is_known, ~is_known)


def _categories(codes: np.ndarray, is_known: np.ndarray, names: Sequence[str]) -> Any:
    return pd.Categorical.from_codes(np.where(is_known, codes, MISSING), pd.Index(names))


def describe_structure(gold: pd.DataFrame) -> pd.DataFrame:
    """The gold structure in words, one column per field."""
    from tprpapers.worlds.mathematics.structure_words import ARITHMETIC
    from tprprobe.analyses.naming.fields import describe

    return describe(gold, ARITHMETIC)


def name_clusters(*arguments: Any) -> Any:
    """The names of clusters of arithmetic, beside controls."""
    from tprpapers.worlds.mathematics.naming import name_all

    return name_all(*arguments)


def load_names(folder: str | os.PathLike[str]) -> Any:
    """The names in the folder of a finished run."""
    from tprpapers.worlds.mathematics.naming import load_names

    return load_names(folder)


def draw_tables(naming: Any) -> list[Any]:
    """What clusters tell of polarity, beside controls."""
    from tprpapers.worlds.mathematics.polarity_tables import polarity_table

    return [polarity_table(naming)]


def make_section(naming: Any) -> Any:
    """The section of a report on names."""
    from tprpapers.worlds.mathematics.polarity_tables import names_section

    return names_section(naming)


ARITHMETIC = Structure(
    arithmetic=annotate_one,
    annotate=annotate,
    evaluate=evaluate,
    describe=describe_structure,
    name_all=name_clusters,
    load_names=load_names,
    tables=draw_tables,
    section=make_section,
)
