"""Fewer rows than tokens: one vector a sample (``pool``), or one a word (``words``)."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError, unknown
from tprprobe.gold.labels import WORD
from tprprobe.store.layout import SAMPLE, SIDES, SiteSpec
from tprprobe.store.pooled_rows import LAST, MEAN, pool_spans, rows_of, starts_of

WORD_STATES = (MEAN, LAST)
Bounds = Int[np.ndarray, " span"]


@dataclass(frozen=True)
class Pooling:
    """How vectors of tokens become vectors of samples or of words.

    pool    one vector a sample: the ``mean`` over all its tokens, start and end symbols among them,
            its ``first`` or ``last`` token's, or that of the last token that reads as a mark (``.``)
    words   the sub-words of a word become one row, with their ``mean`` or the ``last`` one's vector;
            with ``pool`` only the token table is of words: pooled is over tokens in any case
    """

    pool: str | None = None
    words: str | None = None

    def check(self, vocabulary: Codec) -> None:
        """Checks that words can be made of these symbols."""
        if self.pool == "":
            raise InputError("pool is empty: give mean, first, last or a mark such as '.'")
        if self.words is not None and self.words not in WORD_STATES:
            raise unknown("state of a word", self.words, WORD_STATES)
        if self.words and not vocabulary.has_words:
            raise InputError(
                "the model reads characters, which make no words here: leave out words"
            )

    @property
    def is_used(self) -> bool:
        """True if anything is pooled, so that maps of attention are of no rows of the store."""
        return self.pool is not None or self.words is not None

    def kept_as(self, spec: SiteSpec) -> SiteSpec:
        """The layout of a site of tokens after pooling."""
        return replace(spec, axes=(SAMPLE, *spec.axes[1:])) if self.pool else spec

    def settings(self) -> dict[str, str]:
        """What a manifest says of it; nothing where nothing is pooled."""
        named = {"pool": self.pool, "words": self.words}
        return {name: value for name, value in named.items() if value}

    def vectors(
        self, values: Float32[np.ndarray, "token ..."], tokens: pd.DataFrame
    ) -> Float32[np.ndarray, "row ..."]:
        """The vectors that are kept of a site; ``tokens`` are all tokens of its side."""
        if self.pool is None:
            return values if self.words is None else pool_spans(values, _words(tokens), self.words)
        if self.pool == MEAN:
            return pool_spans(values, starts_of(tokens["sample"].to_numpy()), MEAN)
        return values[rows_of(tokens, self.pool)]

    def table(self, tokens: pd.DataFrame, vocabulary: Codec) -> pd.DataFrame:
        """The token table that is kept: with ``words``, a row a word, and a symbol of no word alone."""
        if self.words is None:
            return tokens
        sides = [tokens.loc[(tokens["side"] == side).to_numpy()] for side in SIDES]
        return pd.concat([_of_words(each, vocabulary) for each in sides], ignore_index=True)


def _words(tokens: pd.DataFrame) -> Bounds:
    """The first token of every word, and every token of no word."""
    sample, word = tokens["sample"].to_numpy(), tokens[WORD].to_numpy()
    return np.flatnonzero(
        (np.diff(sample, prepend=-1) != 0) | (np.diff(word, prepend=-2) != 0) | (word < 0)
    )


def _of_words(tokens: pd.DataFrame, vocabulary: Codec) -> pd.DataFrame:
    """The tokens of one side by word: of a word its last row, with the text of all its sub-words."""
    first = _words(tokens)
    ends = np.append(first[1:], len(tokens))
    table = tokens.iloc[ends - 1].reset_index(drop=True)
    ids, known = tokens["id"].tolist(), {}
    spans: Sequence[tuple[int, ...]] = [tuple(ids[a:b]) for a, b in zip(first, ends, strict=True)]
    symbols = table["token"].astype(str).tolist()
    for row, word in enumerate(table[WORD].tolist()):
        if word >= 0:
            span = spans[row]
            known.setdefault(span, vocabulary.spell(list(span)).strip())
            symbols[row] = known[span]
    starts = starts_of(table["sample"].to_numpy())
    sizes = np.diff(np.append(starts, len(table)))
    position = np.arange(len(table)) - np.repeat(starts, sizes)
    return table.assign(token=pd.Categorical(symbols), position=position)
