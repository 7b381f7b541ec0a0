"""Exchanging the vectors of two numbers: does the model then answer the question it predicts?

What roles do is seen beside what fillers, keys and bindings do, and beside the same exchange of other
positions: as far apart (elsewhere), or of another pair that stands on the surface as this one does
(alike). Of a layer, queries do exactly what fillers do, values what keys do, and the
layer's input what bindings do; whole states do nothing, as nothing above knows their order.
Source: Geiger et al. 2021 (interchange interventions); the question is schlag appendix A's.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Int
from torch import Tensor

from tprpapers.swaps.number_pairs import Pair, vectors_of
from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.interventions.batched_edits import Scores, Variant, score_variants
from tprprobe.interventions.edits import exchange, swap
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import layer_of

PAIR, ELSEWHERE, ALIKE, ALL = "pair", "elsewhere", "alike", -1
BATCH = 128  # questions


@dataclass(frozen=True)
class Way:
    """One exchange: vectors of an encoder layer (or all layers), a head (or all heads), and the
    positions.
    """

    vectors: str
    layer: int = ALL
    head: int = ALL
    at: str = PAIR

    def patterns(self, names: Sequence[str]) -> list[str]:
        """The sites of these vectors."""
        of = [name for name in names if vectors_of(name) == self.vectors]
        return [name for name in of if self.layer in (ALL, layer_of(name))]


def list_ways(model: Model, by_head: Sequence[str] = ("role",)) -> list[Way]:
    """All exchanges in a model's encoder: each kind of vectors by layer and in all layers, at the
    pair and elsewhere, and in all layers of a pair alike; those in ``by_head`` also head by head.
    """
    names = list(find_sites(model))
    found: dict[str, set[int]] = {}
    for name in names:
        if vectors := vectors_of(name):
            found.setdefault(vectors, set()).add(ALL if (at := layer_of(name)) is None else at)
    ways = [Way(vectors) for vectors in found]
    ways += [
        Way(each, at)
        for each, layers in found.items()
        for at in sorted(layers - {ALL})
        if each != "hidden"
    ]
    ways += [Way(way.vectors, way.layer, at=ELSEWHERE) for way in ways]
    ways += [Way(each, at=ALIKE) for each in found]
    heads = range(model.n_heads)
    return ways + [
        Way(way.vectors, way.layer, head)
        for way in ways
        if way.vectors in by_head and way.layer != ALL and way.at == PAIR
        for head in heads
    ]


def measure_swaps(model: Model, swaps: pd.DataFrame, ways: Sequence[Way]) -> pd.DataFrame:
    """One row per swap (of ``find_swaps``) and way: what the model makes of the two answers.

    Columns: question, kind, vectors, layer, head (-1: all), at; p_original, p_counterfactual (the
    probabilities of the two whole answers), original, counterfactual (whether it is written greedily).
    Vectors `none` is no exchange, `question` the counterfactual question itself. Swaps that cannot be
    moved have no rows elsewhere, those without a pair alike none of it.

    Raises:
        InputError: the vocabulary lacks a symbol.
    """
    pairs, predicted = encode_swaps(model, swaps)
    names = list(find_sites(model))
    parts = [
        part
        for rows in pairs.by_length(BATCH)
        for part in _measure(model, swaps.iloc[rows.tolist()], pairs, predicted, rows, ways, names)
    ]
    return pd.concat(parts, ignore_index=True)


def encode_swaps(model: Model, swaps: pd.DataFrame) -> tuple[Pairs, Pairs]:
    """The questions of swaps with their answers, and their counterfactuals with theirs, as ids."""
    vocabulary = require_vocabulary(model)
    columns = ("text", "answer"), ("counterfactual", "predicted")
    own, other = (
        encode_texts(swaps[text].tolist(), swaps[answer].tolist(), vocabulary)
        for text, answer in columns
    )
    return own, other


def _measure(
    model: Model,
    part: pd.DataFrame,
    pairs: Pairs,
    predicted: Pairs,
    rows: Tensor,
    ways: Sequence[Way],
    names: Sequence[str],
) -> Iterator[pd.DataFrame]:
    pad, device = model.config.pad, model.device
    source, answer = (each.to(device) for each in pairs.batch(rows, pad))
    other, new = (each.to(device) for each in predicted.batch(rows, pad))
    orders = {
        at: positions(part, source.shape[1], at, int(require_vocabulary(model).source_start))
        for at in (PAIR, ELSEWHERE, ALIKE)
    }
    variants: list[Variant] = [{}, *(_variant(way, orders[way.at], names) for way in ways)]
    scores = score_variants(model, source, [answer, new], variants)
    asked = score_variants(model, other, [answer, new], [{}])
    found = [(Way("none"), scores, 0), (Way("question"), asked, 0)]
    found += [(way, scores, at) for at, way in enumerate(ways, 1)]
    for way, scored, at in found:
        table = tabulate(part, scored, at, way.vectors, way.layer, way.head, way.at)
        yield table[exchanges_at(part, way.at)]


def tabulate(
    part: pd.DataFrame,
    scored: Scores,
    variant: int,
    vectors: str,
    layer: int = ALL,
    head: int = ALL,
    at: str = PAIR,
) -> pd.DataFrame:
    """One row per swap: what one variant makes of its two answers, the original and the counterfactual."""
    p, wrote = scored.log_probability[variant].exp().numpy(), scored.is_written[variant].numpy()
    return pd.DataFrame(
        {
            "question": part["question"].to_numpy(),
            "kind": part["kind"].to_numpy(),
            "vectors": vectors,
            "layer": layer,
            "head": head,
            "at": at,
            "p_original": p[0],
            "p_counterfactual": p[1],
            "original": wrote[0],
            "counterfactual": wrote[1],
        }
    )


def positions(
    part: pd.DataFrame, length: int, at: str, offset: int
) -> Int[Tensor, "sample position"]:
    """The order that exchanges every row's positions at the pair, or at one of its controls."""
    first, second = (
        [tuple(place + offset for place in each) for each in side]
        for side in zip(*_find_places(part, at), strict=True)
    )
    return exchange(first, second, length)


def exchanges_at(part: pd.DataFrame, at: str) -> Bool[np.ndarray, " swap"]:
    """True for the swaps that have positions there; the others exchange nothing."""
    return np.array([len(first) > 0 for first, _ in _find_places(part, at)], bool)


def _find_places(part: pd.DataFrame, at: str) -> list[Pair]:
    """The positions that change places, swap by swap; empty where there are none."""
    pairs = list(zip(part["first"], part["second"], strict=True))
    if at == ALIKE:
        return list(part["alike"])
    if at == PAIR:
        return pairs
    return [
        (tuple(i + shift for i in first), tuple(i + shift for i in second)) if shift else ((), ())
        for (first, second), shift in zip(pairs, part["elsewhere"], strict=True)
    ]


def _variant(way: Way, order: Tensor, names: Sequence[str]) -> Variant:
    heads = None if way.head == ALL else [way.head]
    return dict.fromkeys(way.patterns(names), swap(order, heads=heads))
