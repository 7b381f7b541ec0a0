"""Encoded texts one after another, with the symbols around them, and the places of symbols in a text."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from jaxtyping import Int64, Integer
from numpy.typing import DTypeLike

if TYPE_CHECKING:
    from tprprobe.data.batching import Ragged

Span = tuple[int, int]
NOWHERE: Span = (0, 0)  # the place of start and end symbols
BYTES, PARTIAL = 4, "\N{REPLACEMENT CHARACTER}"  # of a character at most; some of them alone


class Flat(NamedTuple):
    """Encoded texts one after another."""

    values: Integer[np.ndarray, " token"]
    lengths: Int64[np.ndarray, " text"]
    cut: int  # texts that were too long

    @classmethod
    def of(cls, lists: Sequence[Sequence[int]], dtype: DTypeLike = "i4", cut: int = 0) -> "Flat":
        lengths = np.fromiter(map(len, lists), np.int64, len(lists))
        return cls(np.fromiter(chain.from_iterable(lists), dtype, lengths.sum()), lengths, cut)

    def ragged(self) -> "Ragged":
        import torch  # which reading data does not need

        from tprprobe.data.batching import Ragged

        offsets = np.append(0, self.lengths.cumsum())
        return Ragged(torch.from_numpy(self.values), torch.from_numpy(offsets))


def enclose(flat: Flat, prefix: Sequence[int], suffix: Sequence[int]) -> Flat:
    lengths = flat.lengths + len(prefix) + len(suffix)
    ends = lengths.cumsum()
    enclosed = np.empty(ends[-1], flat.values.dtype)
    inside = np.ones(len(enclosed), bool)
    for place, symbol in [*enumerate(prefix), *enumerate(suffix, -len(suffix))]:
        index = (ends - lengths if place >= 0 else ends) + place
        enclosed[index], inside[index] = symbol, False
    enclosed[inside] = flat.values
    return Flat(enclosed, lengths, 0)


def cut(flat: Flat, limit: int) -> Flat:
    starts = np.repeat(flat.lengths.cumsum() - flat.lengths, flat.lengths)
    places = np.arange(len(flat.values)) - starts
    lengths = np.minimum(flat.lengths, limit)
    return Flat(flat.values[places < limit], lengths, int((flat.lengths > limit).sum()))


def place_pieces(
    text: str, tokens: Iterable[str], join: Callable[[list[str]], str] = "".join
) -> list[Span]:
    """The places of pieces in a text, one behind the other; bytes stand where their character does, blanks NOWHERE."""
    lower = text.lower() if len(text.lower()) == len(text) else text
    places: list[Span] = []
    end, is_behind, pending = 0, True, []
    for token in tokens:
        pending.append(token)
        spelt = join(pending)
        start = lower.find(spelt.strip().lower(), end) if spelt.strip() else -1
        if start >= 0 and not (is_behind and text[end:start].strip()):
            end, is_behind = start + len(spelt.strip()), True
            places += [(start, end)] * len(pending)
        elif len(pending) < BYTES and (not spelt or PARTIAL in spelt):
            continue
        else:
            is_behind = is_behind and not spelt.strip()  # the text may go on behind what it lacks
            places += [NOWHERE] * len(pending)
        pending = []
    return places + [NOWHERE] * len(pending)
