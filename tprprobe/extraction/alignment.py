"""The word of every token of a block: sub-words aligned with words, and the words' labels.

The columns are those of :mod:`tprprobe.gold.labels`: ``word``, and one for every task.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.data.dataset import Example
from tprprobe.data.pairs import Pairs
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.extraction.passes import decoder_inputs
from tprprobe.gold.labellers import Labeller, apply_labellers
from tprprobe.gold.labels import WORD, Labelled, Span, token_columns

Columns = Mapping[str, Sequence[Any]]
PLAIN = re.compile(r"\w+(?:['’]\w+)*|[^\w\s]")  # words of a text that nobody annotated
NOWHERE: Span = (0, 0)  # the place of start and end symbols


def label_words(example: Example, written: str | None) -> tuple[Labelled, Labelled]:
    """The labelled words of a source, and of its target or of the text written instead.

    Of texts that are not labelled not even the words are known.
    """
    source, target = example.labels(written)
    text = example.target if written is None else written
    return source or Labelled("", "", (), example.source), target or Labelled("", "", (), text)


def _with_words(sentence: Labelled) -> Labelled:
    """The sentence; one without known words is divided into runs of letters and digits, and single marks."""
    if sentence.words:
        return sentence
    return replace(sentence, words=tuple(PLAIN.findall(sentence.text)))


def place_source(vocabulary: Codec, offsets: Sequence[Span], n: int) -> list[Span]:
    """The places in the text of the n tokens of an encoded source, whose symbols have these offsets."""
    first, last = ([NOWHERE] * len(ids) for ids in vocabulary.source_frame)
    return [*first, *offsets, *last][:n]


def place_written(vocabulary: Codec, ids: Sequence[int], n: int) -> list[Span]:
    """The places in a decoder's own text of the n tokens that it reads of it, the start symbol first.

    A model may write a text in other sub-words than the text is encoded in. A character that takes
    several sub-words (bytes) is where each of them stands.
    """
    text, start = vocabulary.decode(ids), 0
    places: list[Span] = []
    for read in range(1, len(ids) + 1):
        begun = vocabulary.decode(ids[:read])
        if text.startswith(begun):  # otherwise its last character is not complete
            own = text[start : len(begun)]
            place = (start + len(own) - len(own.lstrip()), len(begun))
            places += [place] * (read - len(places))
            start = len(begun)
    return places[:n]


def align_words(
    examples: Sequence[Example],
    pairs: Pairs,
    vocabulary: Codec,
    tasks: Sequence[str],
    written: Sequence[Sequence[int]] | None,
    labellers: Sequence[Labeller] = (),
) -> tuple[dict[str, pd.DataFrame], Counter[str]]:
    """The columns of all tokens by side, and how many tokens there are and are ``unaligned``.

    ``written`` are the ids that the decoder reads in place of the references; ``labellers`` add
    labels of their own.
    """
    n_source, n_target = pairs.source.lengths.tolist(), decoder_inputs(pairs).diff().tolist()
    sides: dict[str, list[Columns]] = {"source": [], "target": []}
    counts: Counter[str] = Counter()
    texts = [vocabulary.decode(ids) for ids in written] if written else [None] * len(examples)
    known = [each for pair in map(label_words, examples, texts) for each in pair]
    found = [_with_words(each) for each in apply_labellers(known, labellers)]
    offsets = [
        vocabulary.all_offsets([each.text for each in some])
        for some in ([found[::2]] if written else [found[::2], found[1::2]])
    ]
    for i, (source, target) in enumerate(zip(found[::2], found[1::2], strict=True)):
        source_places = place_source(vocabulary, offsets[0][i], n_source[i])
        if written:
            target_places = place_written(vocabulary, written[i], n_target[i])
        else:
            target_places = [NOWHERE, *offsets[1][i]][: n_target[i]]
        for side, labelled, places in zip(
            sides, (source, target), (source_places, target_places), strict=True
        ):
            sides[side].append(_columns(labelled, places, tasks))
            counts["tokens"] += len(places)
            counts["unaligned"] += _unaligned(sides[side][-1], places)
    return {side: _concatenate(parts) for side, parts in sides.items()}, counts


def _columns(labelled: Labelled, places: Sequence[Span], tasks: Sequence[str]) -> Columns:
    """The columns of a text's tokens; a task without labels has an empty column."""
    known = {task: targets for task, targets in labelled.targets.items() if task in tasks}
    columns = token_columns(replace(labelled, targets=known), places)
    return {task: [""] * len(places) for task in tasks} | columns


def _unaligned(columns: Columns, places: Sequence[Span]) -> int:
    """The number of tokens that have a place in a text but belong to no word."""
    return sum(
        word < 0 and end > start for word, (start, end) in zip(columns[WORD], places, strict=True)
    )


def _concatenate(parts: Sequence[Columns]) -> pd.DataFrame:
    table = {name: [value for part in parts for value in part[name]] for name in parts[0]}
    texts = {name: pd.Categorical(column) for name, column in table.items() if name != WORD}
    return pd.DataFrame({WORD: np.array(table[WORD], np.int64)} | texts)
