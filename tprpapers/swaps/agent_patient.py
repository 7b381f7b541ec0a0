"""Agent and patient in the generated English: what the summary would be if they changed places.

In one sentence of a report, the names of the one who acts and of the one to whom it is done are
exchanged. Where the report is still one of the language and its summary another one, this is a swap like
those of arithmetic: `measure_swaps` takes it, and the grammar says of what is written whether the
report, or the one with the names exchanged, makes it true.
"""

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
import torch

from tprpapers.swaps.exchanges import Way, exchanges_at, positions
from tprpapers.swaps.number_pairs import Pair
from tprpapers.worlds.english import (
    Report,
    Sentence,
    detokenize,
    is_faithful,
    is_grammatical,
    read_story,
)
from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.headlines import summarize
from tprpapers.worlds.english.sentences import Span
from tprprobe.data.pairs import encode_texts
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.interventions.edits import swap
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites, intervene

AGENT, PATIENT = "ARG0", "ARG1"
AGENTS = "agent"  # the kind of swap, which is not beside those of numbers
BATCH = 64  # reports


def find_agent_swaps(reports: Sequence[Report], vocabulary: Codec, seed: int = 0) -> pd.DataFrame:
    """One row per report that has such a pair of names, as many sub-words each; else as `find_swaps`.

    Positions count the sub-words of the encoded report; text and answer are its source and summary.
    """
    rng, rows = np.random.default_rng(seed), []
    others = rng.spawn(1)[0]
    for number, report in enumerate(reports):
        found = [
            row for at in range(len(report.document)) for row in _swaps(report, at, vocabulary)
        ]
        if found:
            row = found[rng.integers(len(found))]
            row |= {
                "elsewhere": _shift(row, rng),
                "alike": _draw_alike(report, row, vocabulary, others),
            }
            rows.append({"question": number, "kind": AGENTS, **row})
    return pd.DataFrame(rows)


def _swaps(report: Report, at: int, vocabulary: Codec) -> Iterator[dict[str, Any]]:
    """The swaps of one sentence of a report."""
    sentence = report.document[at]
    for first, second in _names(sentence):
        told = [each.forms for each in report.document]
        told[at] = _exchanged(told[at], first, second)
        summary = _summary(told)
        if summary is None or summary == report.target:
            continue
        places = vocabulary.offsets(report.source)
        sides = [_locate(report, at, span, places) for span in (first, second)]
        if len(sides[0]) == len(sides[1]) > 0:
            texts = " ".join(map(detokenize, told))
            yield {"text": report.source, "answer": report.target, "first": sides[0]} | {
                "second": sides[1], "counterfactual": texts, "predicted": summary, "length": len(places),
            }  # fmt: skip


def _locate(
    report: Report, at: int, span: Span, places: Sequence[tuple[int, int]]
) -> tuple[int, ...]:
    """The sub-words of a span of words in a sentence of a report."""
    low, high = report.offsets[at][span[0]][0], report.offsets[at][span[1] - 1][1]
    return tuple(i for i, (start, end) in enumerate(places) if low <= start and end <= high)


def _names(sentence: Sentence) -> Iterator[tuple[Span, Span]]:
    """The names in the agents and the patients of a sentence that are as long and of one type."""
    for frame in sentence.frames:
        spans = {
            role: [a.span for a in frame.arguments if a.role == role] for role in (AGENT, PATIENT)
        }
        agents, patients = (
            [
                each
                for each in sentence.entities
                for low, high in found
                if low <= each.span[0] and each.span[1] <= high
            ]
            for found in spans.values()
        )
        for one in agents[:1]:
            for other in patients[:1]:
                same = one.label == other.label and _length(one.span) == _length(other.span)
                if same and one.span != other.span:
                    yield one.span, other.span


def _length(span: Span) -> int:
    return span[1] - span[0]


def _exchanged(forms: tuple[str, ...], first: Span, second: Span) -> tuple[str, ...]:
    words = list(forms)
    words[slice(*first)], words[slice(*second)] = forms[slice(*second)], forms[slice(*first)]
    return tuple(words)


def _summary(document: Sequence[tuple[str, ...]]) -> str | None:
    """The summary of these sentences; None if they are no sentences or have no summary."""
    if not all(is_grammatical(detokenize(words)) for words in document):
        return None
    try:
        return analyze(summarize(read_story(document))).sentence().text
    except (AttributeError, IndexError, KeyError, StopIteration, ValueError):
        return None


def _shift(row: dict[str, Any], rng: np.random.Generator) -> int:
    """A random shift of both positions, so that they do not fall on each other; 0 if there is none."""
    places = {*row["first"], *row["second"]}
    shifts = range(-min(places), row["length"] - max(places))
    free = [s for s in shifts if s and places.isdisjoint(place + s for place in places)]
    return int(rng.choice(free)) if free else 0


def _draw_alike(
    report: Report, row: dict[str, Any], vocabulary: Codec, rng: np.random.Generator
) -> Pair:
    """Two other names of one sentence, of one type and as many sub-words; empty if there are none."""
    places, own = vocabulary.offsets(report.source), {*row["first"], *row["second"]}
    pairs = [
        (_locate(report, at, one.span, places), _locate(report, at, other.span, places))
        for at, sentence in enumerate(report.document)
        for one, other in combinations(sentence.entities, 2)
        if one.label == other.label
        and sentence.forms[slice(*one.span)] != sentence.forms[slice(*other.span)]
    ]
    free = [
        pair for pair in pairs if len(pair[0]) == len(pair[1]) and own.isdisjoint(pair[0] + pair[1])
    ]
    return free[rng.integers(len(free))] if free else ((), ())


@torch.no_grad()
def judge_swaps(model: Model, swaps: pd.DataFrame, ways: Sequence[Way]) -> pd.DataFrame:
    """One row per swap and exchange: what the grammar says of the summary that is written.

    Columns: question, vectors, layer, head, at, written; grammatical, true (of the report),
    true_exchanged (of the report with the names exchanged). The way `none` is no exchange.
    """
    vocabulary = require_vocabulary(model)
    longest: dict[str, Any] = {"max_length": vocabulary.most[1]} if vocabulary.most else {}
    pairs = encode_texts(swaps["text"].tolist(), swaps["answer"].tolist(), vocabulary)
    names, start = list(find_sites(model)), int(vocabulary.source_start)
    parts = []
    for rows in pairs.by_length(BATCH):
        part = swaps.iloc[rows.tolist()]
        source = pairs.source.padded(rows, model.config.pad).to(model.device)
        for way in (Way("none"), *ways):
            order = positions(part, source.shape[1], way.at, start)
            heads = None if way.head < 0 else [way.head]
            edits = dict.fromkeys(way.patterns(names), swap(order, heads=heads))
            with intervene(model, edits):
                ids = generate(model, source, **longest).tolist()
            texts = [vocabulary.decode(each) for each in ids]
            table = _judged(part, texts).assign(
                vectors=way.vectors, layer=way.layer, head=way.head, at=way.at
            )
            parts.append(table[exchanges_at(part, way.at)])
    return pd.concat(parts, ignore_index=True)


def _judged(part: pd.DataFrame, texts: list[str]) -> pd.DataFrame:
    rows = zip(part["question"], part["text"], part["counterfactual"], texts, strict=True)
    return pd.DataFrame(
        [
            {
                "question": question,
                "written": text,
                "grammatical": is_grammatical(text),
                "true": is_faithful(report, text),
                "true_exchanged": is_faithful(exchanged, text),
            }
            for question, report, exchanged, text in rows
        ]
    )
