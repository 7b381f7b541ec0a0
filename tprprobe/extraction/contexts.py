"""Texts that are longer than a model reads, divided into consecutive parts that it reads whole."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np

from tprprobe.data.dataset import Dataset
from tprprobe.data.documents.articlefiles import Article
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import Span
from tprprobe.errors import InputError

AT_ONCE = 256  # texts
BLANK = re.compile(r"\s")


@dataclass(frozen=True, eq=False, repr=False)
class Contexts(Dataset[Article]):
    """The parts of texts as samples; the document of a part is its text's, or its text."""

    texts: Dataset[Any]
    spans: np.ndarray  # [part, 3]: the text's number, and the part's start and end in it

    @classmethod
    def of(cls, data: Dataset, vocabulary: Codec) -> "Contexts":
        if vocabulary.most is None or vocabulary.reads_images or data.has_targets or data.tasks:
            raise InputError(
                f"pack divides texts, and {data.name} has words with labels, or targets"
            )
        spans = []
        for block_number, examples in enumerate(data.examples(AT_ONCE)):
            texts = [example.source for example in examples]
            for number, text in enumerate(texts, block_number * AT_ONCE):
                spans += [(number, *span) for span in divide(text, vocabulary)]
        array = np.array(spans)
        return cls(data.name, data.split, data.seed, range(len(array)), data, array)

    def read(self, rows: Sequence[int]) -> Iterator[Article]:
        for number, spans in groupby((self.spans[row].tolist() for row in rows), itemgetter(0)):
            example = self.texts[number]
            for _, start, end in spans:
                text = example.source[start:end].strip()
                yield Article(text, text, str(example.document_name or f"text {number}"))


def divide(text: str, vocabulary: Codec) -> list[Span]:
    """The consecutive parts of a text, cut at blanks, or where there are none between symbols; the model reads each whole."""
    assert vocabulary.most is not None
    spans, limit = vocabulary.offsets(text), vocabulary.most[0]
    starts = [start for start, _ in spans] + [len(text)]
    places, start = [], 0
    while start < len(spans):
        end = min(start + limit, len(spans))
        while end > start + 1 and not _fits(text[starts[start] : starts[end]], vocabulary):
            end -= max(1, (end - start) // 16)
        places_behind = range(end, start, -1)
        blanks = (i for i in places_behind if BLANK.search(text[starts[i] - 1 : starts[i] + 1]))
        end = end if end == len(spans) else next(blanks, end)
        places.append((starts[start], starts[end]))
        start = end
    return [(start, end) for start, end in places if text[start:end].strip()] or [(0, len(text))]


def _fits(text: str, vocabulary: Codec) -> bool:
    return not vocabulary.encode_sources([text]).cut
