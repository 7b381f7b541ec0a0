"""Slices: the tokens that meet conditions on columns, such as ``upos=VERB length=5-10 correct=False``, and metrics on them."""

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import pandas as pd
from jaxtyping import Bool

from tprprobe.analyses.naming.fields import LABELS, label_words
from tprprobe.errors import InputError, unknown
from tprprobe.gold.labels import WORD
from tprprobe.statistics import wilson
from tprprobe.store import Store
from tprprobe.store.reader import takes_paths
from tprprobe.store.token_texts import spell

CONDITION = re.compile(r"([\w.-]+?)(!?=)(.*)", re.DOTALL)
RANGE = re.compile(r"(\d+(?:\.\d+)?)-(\d+(?:\.\d+)?)?")
LABELED = (*LABELS, "upos")  # columns whose cells stand at a word's first token
LENGTH = "length"  # of a sample, in tokens of one side
EXAMPLE = "upos=VERB|AUX length=5-10"
MAX_LISTED = 8  # values that a message lists


@dataclass(frozen=True)
class Condition:
    """One of some values that a column must have, or none of which it may have."""

    column: str
    values: tuple[str, ...]
    is_excluded: bool = False

    def holds(self, column: pd.Series) -> Bool[np.ndarray, " token"]:
        """For every value of the column, whether it is as asked for."""
        codes, uniques = pd.factorize(column)  # few of many tokens differ
        flags = np.array([self._accepts(value) for value in uniques] + [False])
        return flags[codes] ^ self.is_excluded

    def _accepts(self, value: object) -> bool:
        text = str(value)
        spellings = {text.casefold(), spell(text).strip().casefold()}
        is_number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
        number = float(text) if is_number else np.nan
        return any(
            accepted.casefold() in spellings or _in_range(number, accepted)
            for accepted in self.values
        )


def _in_range(value: float, text: str) -> bool:
    match = RANGE.fullmatch(text)
    return bool(match) and float(match[1]) <= value <= float(match[2] or "inf")


def parse_slice(where: str) -> list[Condition]:
    """The conditions of a text, all of which must hold.

    Raises:
        InputError: it has another form.
    """
    try:
        matches = [CONDITION.fullmatch(word) for word in shlex.split(where)]
    except ValueError:  # an open quotation
        matches = [None]
    if not matches or not all(matches):
        raise InputError(f"no slice {where!r}: give COLUMN=VALUE, such as {EXAMPLE}")
    conditions = [match.groups() for match in matches if match]
    return [
        Condition(name, tuple(text.split("|")), sign == "!=") for name, sign, text in conditions
    ]


@takes_paths
def slice_tokens(store: Store, where: str, site: str) -> pd.DataFrame:
    """The tokens of a site that meet conditions.

    Args:
        store: The store.
        where: Conditions that must all hold: ``COLUMN=VALUE``, ``COLUMN=ONE|ANOTHER``, ``COLUMN=5-10`` (numbers from 5 to 10;
            ``5-``: from 5 on), ``COLUMN!=VALUE``. A value with blanks stands in quotation marks. Columns are those of the token
            table, where a word's label counts for all its tokens, and ``length``, the tokens of the sample.
        site: A site; layer -1 is the last.

    Returns:
        Their rows of the token table. The index has the row numbers of the site, for :meth:`Store.read`.

    Raises:
        InputError: Another form, no such column, or no token that meets the conditions.

    Examples:
        >>> tokens = tp.slice_tokens(store, "token=0|1|2 length=5-", "encoder.-1.self.role")
        >>> store.read("encoder.-1.self.role", tokens.index.to_numpy()).shape[0] == len(tokens)
        True
    """
    side = store.side(site)
    flags = find_slice(store, side, where)
    return read_side(store, side)[flags]


@lru_cache(maxsize=16)
def find_slice(store: Store, side: str, where: str) -> Bool[np.ndarray, " token"]:
    """Which tokens of a side (or samples, where these have one vector each) meet the conditions."""
    tokens = read_side(store, side)
    flags = np.ones(len(tokens), bool)
    for condition in parse_slice(where):
        column = _read_column(store, side, condition.column)
        flags &= (holds := condition.holds(column))
        if not holds.any():
            counts = column.value_counts()
            values = ", ".join(map(str, counts.index[:MAX_LISTED])) + " …" * (
                len(counts) > MAX_LISTED
            )
            advice = _find_column(store, side, condition)
            raise InputError(f"no token has that {condition.column}: it has {values}{advice}")
    if not flags.any():
        raise InputError(f"no token of {store.path.name} meets {where!r} as a whole")
    return flags


def _find_column(store: Store, side: str, condition: Condition) -> str:
    """The condition on the column of labels that has the most of its values, as advice; empty without one."""
    values = [Condition(condition.column, (value,)) for value in condition.values]
    columns = [name for name in LABELED if name in read_side(store, side)]
    counts = {
        name: sum(bool(value.holds(_read_column(store, side, name)).any()) for value in values)
        for name in columns
    }
    best = max(columns, key=counts.__getitem__, default="")
    return f"; give {best}={'|'.join(condition.values)}" if counts.get(best) else ""


@lru_cache(maxsize=8)
def read_side(store: Store, side: str) -> pd.DataFrame:
    """The tokens of a side, or the samples; of a store of attention maps alone, the tokens."""
    site = next((name for name, spec in store.specs.items() if spec.rows == side), None)
    if site is None:
        return store.tokens[store.tokens["side"] == side].reset_index(drop=True)
    return store.tokens_of(site)


@lru_cache(maxsize=64)
def _read_column(store: Store, side: str, name: str) -> pd.Series:
    """The values of a column; words' labels for all their tokens."""
    tokens = read_side(store, side)
    if name == LENGTH:
        return tokens.groupby("sample")["position"].transform("size")
    if name not in tokens:
        raise unknown("column", name, [*map(str, tokens), LENGTH])
    return label_words(tokens, name) if name in LABELED and WORD in tokens else tokens[name]


def score_slices(store: Store, side: str, slices: Iterable[str]) -> pd.DataFrame:
    """Metrics by slice, a row each, the first of all tokens: samples, tokens, and the share of right answers (where the model
    answered).
    """
    everything = np.ones(len(read_side(store, side)), bool)
    rows = [_score(store, side, "all tokens", everything)]
    rows += [_score(store, side, where, find_slice(store, side, where)) for where in slices]
    return pd.DataFrame(rows).dropna(axis=1, how="all")


def _score(
    store: Store, side: str, name: str, flags: Bool[np.ndarray, " token"]
) -> dict[str, object]:
    tokens = read_side(store, side)[flags]
    samples = tokens.drop_duplicates("sample")
    row: dict[str, object] = {"slice": name, "samples": len(samples), "tokens": len(tokens)}
    if store.has_answers and "correct" in samples and store.tokens["correct"].any():
        right = wilson(int(samples["correct"].astype(bool).sum()), len(samples))
        row |= right.columns("answered_right")
    return row
