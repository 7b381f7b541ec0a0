"""Gold structure of arithmetic questions, one row per character, as a plug-in of ``tprprobe.gold`` reads it, and beside
the token table of a store.
"""

import os
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

from tprprobe import plugins
from tprprobe.errors import InputError

KINDS = ("template", "digit", "point", "sign", "op", "lpar", "rpar", "space")
KINDS += ("worded", "unparsed", "sos", "eos")  # the last two in stores only
POLARITIES = ("numerator", "denominator")
COLUMNS = [
    *("char", "kind", "place", "polarity", "polarity_global", "flips", "slot", "parent"),
    *("parent_position", "literal", "discordant", "surface_polarity", "behind", "div_second"),
    *("neg", "number", "msd", "n_digits", "term", "add_sign", "bracket_depth", "tree_depth"),
    "word",
]
ENDS = {"<sos>": "sos", "<eos>": "eos"}
FOREIGN = "the source tokens of this store are not the characters of its questions"

Folder = str | os.PathLike[str]


class Structure(NamedTuple):
    """What a plug-in of ``tprprobe.gold`` is: functions of the questions that it reads.

    The first three stand behind the functions of this module. The others are for ``tprprobe name``: ``describe(joined)``
    puts the structure of tokens into words, a categorical column a field. ``name_all`` gets the arguments of
    :func:`tprprobe.analyses.naming.name_all` and names all clusters, and ``load_names(folder)`` reads the result, of which
    ``tables`` are what is printed, and ``section`` is its part of a report.
    """

    arithmetic: Callable[[str], pd.DataFrame]
    annotate: Callable[[Iterable[str]], pd.DataFrame]
    evaluate: Callable[[str], Fraction]
    describe: Callable[[pd.DataFrame], pd.DataFrame]
    name_all: Callable[..., Any]
    load_names: Callable[[Folder], Any]
    tables: Callable[[Any], Sequence[Any]]
    section: Callable[[Any], Any]


def find_structure() -> Structure:
    """The plug-in that reads arithmetic, or an InputError."""
    if "arithmetic" not in plugins.find("gold"):
        raise InputError("no package that is installed reads arithmetic")
    return plugins.find("gold")["arithmetic"].load()


def arithmetic(question: str) -> pd.DataFrame:
    """The gold structure of a question, character by character.

    Args:
        question: A question of arithmetic.

    Returns:
        One row per character; see [columns](corpora.md#columns-of-gold-structure). All are ``worded`` where the question is in words.

    Raises:
        InputError: What looks like an expression is none.

    Examples:
        >>> tp.gold.arithmetic("2/(3/4)")[["char", "kind", "polarity"]].iloc[0].to_list()
        ['2', 'digit', 'numerator']
    """
    return find_structure().arithmetic(question)


def annotate(questions: Iterable[str]) -> pd.DataFrame:
    """The gold structures of many questions; questions that cannot be parsed raise nothing (see :func:`tally`).

    Args:
        questions: The questions.

    Returns:
        The rows of :func:`arithmetic` of every question, with the columns question (its number) and position in front.

    Examples:
        >>> len(tp.gold.annotate(["1/2", "What is two?"]))
        15
    """
    return find_structure().annotate(questions)


def evaluate(question: str) -> Fraction:
    """The exact value of a question that is an expression.

    Args:
        question: A question of arithmetic.

    Returns:
        The value.

    Raises:
        InputError: It is no expression, or divides by zero.

    Examples:
        >>> tp.gold.evaluate("Calculate 2/(3/4).")
        Fraction(8, 3)
    """
    return find_structure().evaluate(question)


def tally(annotated: pd.DataFrame) -> dict[str, int]:
    """The numbers of questions that are parsed, worded and unparsed.

    Args:
        annotated: The table of :func:`annotate`.

    Returns:
        The three numbers by name.

    Examples:
        >>> tp.gold.tally(tp.gold.annotate(["1/2", "What is two?"]))
        {'parsed': 1, 'worded': 1, 'unparsed': 0}
    """
    questions = annotated.drop_duplicates("question")["kind"].to_list()
    worded, unparsed = questions.count("worded"), questions.count("unparsed")
    return {"parsed": len(questions) - worded - unparsed, "worded": worded, "unparsed": unparsed}


def join(tokens: pd.DataFrame) -> pd.DataFrame:
    """The token table with the gold columns of every source character; on the target side they are missing.

    Args:
        tokens: The tokens of a store of questions. Character i of a question is the token at position i + 1; ``<sos>``
            and ``<eos>`` have a kind only.

    Returns:
        The table with further columns; see [columns](corpora.md#columns-of-gold-structure).

    Raises:
        InputError: The source tokens are not the characters of their questions.

    Examples:
        >>> "polarity" in tp.gold.join(store.tokens)
        True
    """
    if "question" not in tokens:
        raise InputError(f"{FOREIGN}: there are no questions in it")
    source = np.asarray(tokens["side"] == "source")
    text = tokens["token"].astype(str).to_numpy()
    ends = source & np.isin(text, list(ENDS))
    gold = annotate(tokens.loc[source].drop_duplicates("sample")["question"].astype(str))
    rows = np.full(len(tokens), -1)
    rows[source & ~ends] = np.arange((source & ~ends).sum())
    columns = gold.reindex(rows).loc[:, COLUMNS].set_index(tokens.index)
    characters = tokens.loc[source & ~ends]
    stored = characters["token"].astype(str).to_numpy(), characters["position"].to_numpy() - 1
    expected = gold["char"].to_numpy(), gold["position"].to_numpy()
    if len(gold) != len(characters) or not all(map(np.array_equal, stored, expected)):
        raise InputError(f"{FOREIGN}: gold structure is of questions read by character")
    kind = columns["kind"].to_numpy(object)
    kind[ends] = [ENDS[end] for end in text[ends]]
    tokens = tokens.drop(columns=[name for name in COLUMNS if name in tokens])
    return pd.concat([tokens, columns.assign(kind=pd.Categorical(kind, KINDS))], axis=1)
