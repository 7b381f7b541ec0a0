"""Fewer rows than tokens: one vector a sample (``pool``), or one a word (``words``)."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError, unknown
from tprprobe.gold.labels import WORD
from tprprobe.site.patterns import ATTENTION
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.tokens import LAST, MEAN, pool_spans, rows_of, starts_of

WORD_STATES = (MEAN, LAST)
Bounds = Int[np.ndarray, " span"]


@dataclass(frozen=True)
class Pooling:
    """How vectors of tokens become vectors of samples or of words.

    pool    one vector a sample: the ``mean`` over all its tokens, start and end symbols among them,
            its ``first`` token's, that of the ``last`` token of a word, or of the last that reads as a mark (``.``)
    words   the sub-words of a word become one row, with their ``mean`` or the ``last`` one's vector;
            with ``pool`` only the token table is of words: pooled is over tokens in any case
    """

    pool: str | None = None
    words: str | None = None

    def __post_init__(self) -> None:
        if self.pool == "":
            raise InputError("pool is empty: give mean, first, last or a mark such as '.'")
        if self.words is not None and self.words not in WORD_STATES:
            raise unknown("state of a word", self.words, WORD_STATES)

    def check(self, vocabulary: Codec) -> None:
        if self.words and not vocabulary.has_words:
            raise InputError("the model reads characters, which make no words: leave out words")

    def sites(self, names: Sequence[str]) -> list[str]:
        """The sites that are kept: all but maps of attention, which are of no rows where vectors are pooled."""
        pooled = self.pool is not None or self.words is not None
        poolable = [name for name in names if not (pooled and name.endswith(ATTENTION))]
        if not poolable:
            raise InputError(
                f"{names[0]} holds attention maps, which are not pooled: give other sites"
            )
        return poolable

    def kept_as(self, spec: SiteSpec) -> SiteSpec:
        return replace(spec, axes=(SAMPLE, *spec.axes[1:])) if self.pool else spec

    def rows(
        self, rows: Mapping[str, np.ndarray], specs: Mapping[str, SiteSpec], tokens: pd.DataFrame
    ) -> dict[str, np.ndarray]:
        sides = {side: tokens.loc[(tokens["side"] == side).to_numpy()] for side in SIDES}
        return {
            name: values
            if (side := specs[name].rows) == SAMPLE
            else self.vectors(values, sides[side])
            for name, values in rows.items()
        }

    def settings(self) -> dict[str, str]:
        values = {"pool": self.pool, "words": self.words}
        return {name: value for name, value in values.items() if value}

    def vectors(
        self, values: Float32[np.ndarray, "token ..."], tokens: pd.DataFrame
    ) -> Float32[np.ndarray, "row ..."]:
        if self.pool is None:
            return values if self.words is None else pool_spans(values, _words(tokens), self.words)
        if self.pool == MEAN:
            return pool_spans(values, starts_of(tokens["sample"].to_numpy()), MEAN)
        is_of_words = self.pool == LAST and WORD in tokens
        return values[_last_words(tokens) if is_of_words else rows_of(tokens, self.pool)]

    def table(self, tokens: pd.DataFrame, vocabulary: Codec) -> pd.DataFrame:
        """The token table that is kept: with ``words``, a row a word, and a symbol of no word alone."""
        if self.words is None:
            return tokens
        sides = [tokens.loc[(tokens["side"] == side).to_numpy()] for side in SIDES]
        tables = [_of_words(side, vocabulary) for side in sides if len(side)]
        return pd.concat(tables, ignore_index=True)


def _last_words(tokens: pd.DataFrame) -> Int[np.ndarray, " sample"]:
    """The last token of every sample that is a word's; of a sample without words the last one."""
    rows = np.where(tokens[WORD].to_numpy() >= 0, np.arange(len(tokens)), -1)
    last_row = np.maximum.reduceat(rows, starts_of(tokens["sample"].to_numpy()))
    return np.where(last_row >= 0, last_row, rows_of(tokens, LAST))


def _words(tokens: pd.DataFrame) -> Bounds:
    sample, word = tokens["sample"].to_numpy(), tokens[WORD].to_numpy()
    is_new = (np.diff(sample, prepend=-1) != 0) | (np.diff(word, prepend=-2) != 0)
    return np.flatnonzero(is_new | (word < 0))


def _of_words(tokens: pd.DataFrame, vocabulary: Codec) -> pd.DataFrame:
    """The tokens of one side by word: of a word its last row, with the text of all its sub-words."""
    starts = _words(tokens)
    ends = np.append(starts[1:], len(tokens))
    table = tokens.iloc[ends - 1].reset_index(drop=True)
    ids, spelling_of = tokens["id"].tolist(), {}
    symbols = table["token"].astype(str).tolist()
    for row, (start, end, word) in enumerate(zip(starts, ends, table[WORD], strict=True)):
        if word >= 0:
            span = tuple(ids[start:end])
            spelling_of[span] = spelling_of.get(span) or vocabulary.spell(list(span)).strip()
            symbols[row] = spelling_of[span]
    position = table.groupby("sample", sort=False).cumcount().to_numpy()
    return table.assign(token=pd.Categorical(symbols), position=position)
