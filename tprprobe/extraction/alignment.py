"""The token table of a block of samples: a row a token of either side, with the word that it belongs to.

The columns of words are those of :mod:`tprprobe.gold.labels`: ``word``, and one for every task.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprprobe.data.dataset import Example
from tprprobe.data.pairs import Pairs
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import NOWHERE
from tprprobe.extraction.passes import decoder_inputs
from tprprobe.gold.labellers import Labeller, apply_labellers
from tprprobe.gold.labels import (
    LAST_WORD,
    PLAIN,
    WORD,
    Labelled,
    Span,
    count_aligned,
    token_columns,
)
from tprprobe.store.layout import SIDES

Columns = Mapping[str, Sequence[Any]]


def label_words(example: Example, answer: str | None) -> tuple[Labelled, Labelled]:
    """The labelled words of a source, and of its target or the text written instead; of unlabelled texts no words."""
    source, target = example.labels(answer)
    text = example.target if answer is None else answer
    return source or Labelled("", "", (), example.source), target or Labelled("", "", (), text)


def place_written(vocabulary: Codec, ids: Sequence[int], n: int) -> list[Span]:
    """The places in a decoder's own text of its first n tokens; those of one character (bytes) stand where it does."""
    text, start = vocabulary.decode(ids), 0
    places: list[Span] = []
    for n_read in range(1, len(ids) + 1):
        beginning = vocabulary.decode(ids[:n_read])
        if text.startswith(beginning):  # otherwise its last character is not complete
            segment = text[start : len(beginning)]
            place = (start + len(segment) - len(segment.lstrip()), len(beginning))
            places += [place] * (n_read - len(places))
            start = len(beginning)
    return places[:n]


def align_words(
    examples: Sequence[Example],
    pairs: Pairs,
    vocabulary: Codec,
    tasks: Sequence[str],
    answer_ids: Sequence[Sequence[int]] | None,
    labellers: Sequence[Labeller] = (),
) -> tuple[dict[str, pd.DataFrame], Counter[str]]:
    """The columns of all tokens by side, and counts of tokens, words and targets; ``answer_ids`` replace the references."""
    texts = [vocabulary.decode(ids) for ids in answer_ids] if answer_ids else [None] * len(examples)
    sentences = [sentence for pair in map(label_words, examples, texts) for sentence in pair]
    labelled_sentences = [
        s if s.words else replace(s, words=tuple(PLAIN.findall(s.text)))
        for s in apply_labellers(sentences, labellers)
    ]
    sides = {"source": labelled_sentences[::2], "target": labelled_sentences[1::2]}
    n_target = decoder_inputs(pairs).diff().tolist()
    source_places = vocabulary.place_sources([sentence.text for sentence in sides["source"]])
    n_source = pairs.source.lengths.tolist()  # 0 of images
    places = {  # what a model wrote behind a text stands nowhere in it
        "source": [
            [*spans, *[NOWHERE] * n][:n] for spans, n in zip(source_places, n_source, strict=True)
        ]
    }
    if answer_ids:
        places["target"] = list(map(partial(place_written, vocabulary), answer_ids, n_target))
    else:
        offsets = vocabulary.all_offsets([sentence.text for sentence in sides["target"]])
        pairs_of_offsets = zip(offsets, n_target, strict=True)
        opening = [NOWHERE] * (1 + len(vocabulary.begun))
        places["target"] = [[*opening, *spans, NOWHERE][:n] for spans, n in pairs_of_offsets]
    tables, counts = {}, Counter()
    for side, labelled in sides.items():
        texts_at = zip(labelled, places[side], strict=True)
        columns = [_columns(sentence, spans, tasks) for sentence, spans in texts_at]
        tables[side] = _concatenate(columns)
        if any(end > start for spans in places[side] for start, end in spans):
            counts[f"{side}.tokens"] += sum(map(len, places[side]))
            words = [word for listed in columns for word in listed[WORD]]
            spans = [span for listed in places[side] for span in listed]
            is_lost = (
                word < 0 and end > start for word, (start, end) in zip(words, spans, strict=True)
            )
            counts[f"{side}.tokens_without_word"] += sum(is_lost)
            for aligned in map(count_aligned, labelled, columns):
                counts.update({f"{side}.{name}": n for name, n in aligned.items()})
    return tables, counts


def _columns(labelled: Labelled, places: Sequence[Span], tasks: Sequence[str]) -> Columns:
    asked_targets = {task: targets for task, targets in labelled.targets.items() if task in tasks}
    columns = token_columns(replace(labelled, targets=asked_targets), places)
    return {task: [""] * len(places) for task in tasks} | columns


def _concatenate(tables: Sequence[Columns]) -> pd.DataFrame:
    table = {name: [value for columns in tables for value in columns[name]] for name in tables[0]}
    numbers = {name: np.array(table.pop(name), np.int64) for name in (WORD, LAST_WORD)}
    texts = {name: pd.Categorical(column) for name, column in table.items()}
    return pd.DataFrame(numbers | texts)


def token_table(
    examples: Sequence[Example],
    pairs: Pairs,
    columns: Mapping[str, Any],
    start: int,
    vocabulary: Codec,
    words: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """The rows of tokens by side (sample counted from ``start``), with ``columns`` of samples and ``words``, columns by side."""
    questions = as_category([example.source for example in examples])
    modules = as_category([example.module for example in examples])
    of_sample = {"question": questions, **columns, "module": modules}
    if examples[0].document_name is not None:
        of_sample["document"] = as_category([str(example.document_name) for example in examples])
    # two ids may be one symbol
    codes, symbols = pd.factorize(np.array(vocabulary.symbols, dtype=object))
    sides = pd.Index(SIDES)
    is_read = torch.ones(len(pairs.target.values), dtype=torch.bool)
    is_read[pairs.target.offsets[1:] - 1] = False
    targets = (pairs.target.values[is_read], decoder_inputs(pairs))
    ids_of_sides = ((pairs.source.ids, pairs.source.offsets), targets)
    tables = []
    for number, (side, (ids, offsets)) in enumerate(zip(SIDES, ids_of_sides, strict=True)):
        lengths, ids = offsets.diff().numpy(), ids.numpy().astype(np.int32)
        sample = np.repeat(np.arange(len(examples)), lengths)
        table = {
            "side": pd.Categorical.from_codes(np.full(len(sample), number), categories=sides),
            "sample": start + sample,
            "position": np.arange(len(sample)) - np.repeat(offsets[:-1].numpy(), lengths),
            "id": ids,
            "token": pd.Categorical.from_codes(codes[ids], categories=pd.Index(symbols)),
            **{name: values[sample] for name, values in of_sample.items()},
            **words.get(side, {}),
        }
        tables.append(pd.DataFrame(table))
    return pd.concat(tables, ignore_index=True)


def as_category(texts: Sequence[str]) -> Any:
    codes, values = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(codes, categories=pd.Index(values))
