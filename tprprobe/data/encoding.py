"""Texts as ids, block by block: each ends in an end symbol and is cut to the vocabulary's limit."""

from collections.abc import Sequence
from tempfile import TemporaryFile
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Int64, Integer

from tprprobe.data.batching import Ragged
from tprprobe.data.mathematics.questions import check_length
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError


class Flat(NamedTuple):
    """Encoded texts one after another."""

    values: Integer[np.ndarray, " token"]
    lengths: Int64[np.ndarray, " text"]
    cut: int  # texts that were too long

    def ragged(self) -> Ragged:
        """The texts as ragged sequences."""
        offsets = np.append(0, self.lengths.cumsum())
        return Ragged(torch.from_numpy(self.values), torch.from_numpy(offsets))


class Spool:
    """A temporary file of encoded texts: written as they come, read from disk.

    The file has no name and is gone with its readers. It lies where `TMPDIR` says.
    """

    def __init__(self):
        self.file = TemporaryFile()  # noqa: SIM115 (closed by `__exit__`)
        self.lengths, self.cut = [], 0

    def __enter__(self) -> "Spool":
        return self

    def __exit__(self, *_: object) -> None:
        self.file.close()  # what was mapped stays

    def write(self, flat: Flat) -> None:
        """Adds texts."""
        self.dtype = flat.values.dtype
        self.file.write(flat.values.tobytes())
        self.lengths.append(flat.lengths)
        self.cut += flat.cut

    def flat(self) -> Flat:
        """All texts; their ids stay on disk until they are used."""
        self.file.flush()
        values = np.memmap(self.file, self.dtype, "r+")
        return Flat(values, np.concatenate(self.lengths), self.cut)


def encode_sources(texts: Sequence[str], vocabulary: Codec) -> Flat:
    """The ids of sources, with the symbols that the vocabulary puts around them."""
    if vocabulary.most is None:
        check_length("question", max(texts, key=len))
        return _enclosed(texts, vocabulary, *vocabulary.source_frame)
    found = _cut(_enclosed(texts, vocabulary, *vocabulary.source_frame), vocabulary.most[0])
    if not found.lengths.all():
        raise InputError("an empty text has no token that this model reads: leave it out")
    return found


def encode_targets(texts: Sequence[str], vocabulary: Codec) -> Flat:
    """The ids of targets after the start symbol, which does not count towards the limit."""
    if not vocabulary.has_words:
        check_length("answer", max(texts, key=len))
    whole = _enclosed(texts, vocabulary, *vocabulary.target_frame)
    return whole if vocabulary.most is None else _cut(whole, vocabulary.most[1] + 1)


def _enclosed(
    texts: Sequence[str], vocabulary: Codec, first: Sequence[int], last: Sequence[int]
) -> Flat:
    values, offsets = vocabulary.encode_all(texts)
    lengths = np.diff(offsets) + len(first) + len(last)
    ends = lengths.cumsum()
    enclosed = np.empty(ends[-1], values.dtype)
    inside = np.ones(len(enclosed), bool)
    for place, symbol in [*enumerate(first), *enumerate(last, -len(last))]:
        at = (ends - lengths if place >= 0 else ends) + place
        enclosed[at], inside[at] = symbol, False
    enclosed[inside] = values
    return Flat(enclosed, lengths, 0)


def _cut(flat: Flat, most: int) -> Flat:
    """The first ids of each text, up to the limit."""
    places = np.arange(len(flat.values)) - np.repeat(
        flat.lengths.cumsum() - flat.lengths, flat.lengths
    )
    lengths = np.minimum(flat.lengths, most)
    return Flat(flat.values[places < most], lengths, int((flat.lengths > most).sum()))
