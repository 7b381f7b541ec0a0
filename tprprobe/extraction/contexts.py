"""Texts that are longer than a model reads, divided into consecutive parts that it reads whole."""

import re
from collections.abc import Iterator
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


@dataclass(frozen=True, eq=False)
class Contexts(Dataset[Article]):
    """The parts of texts as samples; the document of a part is its text's, or its text."""

    whole: Dataset[Any]
    parts: np.ndarray  # [part, 3]: the text's number, and the part's start and end in it

    @classmethod
    def of(cls, data: Dataset, vocabulary: Codec) -> "Contexts":
        """All texts, each in as many parts as it needs."""
        if vocabulary.most is None or vocabulary.reads_images or data.has_targets or data.tasks:
            raise InputError(
                f"pack divides texts, and {data.name} has words with labels, targets or no limit"
            )
        parts = []
        for first, examples in enumerate(data.examples(AT_ONCE)):
            texts = [example.source for example in examples]
            for number, text in enumerate(texts, first * AT_ONCE):
                parts += [(number, *span) for span in divide(text, vocabulary)]
        array = np.array(parts)
        return cls(data.name, data.split, data.seed, range(len(array)), data, array)

    def read(self, rows: range) -> Iterator[Article]:
        for number, parts in groupby((self.parts[row].tolist() for row in rows), itemgetter(0)):
            example = self.whole[number]
            for _, start, end in parts:
                text = example.source[start:end].strip()
                yield Article(text, text, str(example.document_name or f"text {number}"))


def divide(text: str, vocabulary: Codec) -> list[Span]:
    """The consecutive parts of a text, cut at blanks, or where there are none between symbols; the model reads each whole."""
    assert vocabulary.most is not None
    spans, most = vocabulary.offsets(text), vocabulary.most[0]
    starts = [start for start, _ in spans] + [len(text)]
    parts, first = [], 0
    while first < len(spans):
        last = min(first + most, len(spans))
        while last > first + 1 and not _fits(text[starts[first] : starts[last]], vocabulary):
            last -= max(1, (last - first) // 16)
        blanks = (
            at
            for at in range(last, first, -1)
            if BLANK.search(text[starts[at] - 1 : starts[at] + 1])
        )
        last = last if last == len(spans) else next(blanks, last)
        parts.append((starts[first], starts[last]))
        first = last
    return [(start, end) for start, end in parts if text[start:end].strip()] or [(0, len(text))]


def _fits(part: str, vocabulary: Codec) -> bool:
    return not vocabulary.encode_sources([part]).cut
