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

from tprpapers.swaps.number_pairs import Pair, vector_kind
from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.interventions.batched_edits import Scores, Variant, score_variants
from tprprobe.interventions.edits import exchange, swap
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import layer_of

PAIR, ELSEWHERE, ALIKE, ALL = "pair", "elsewhere", "alike", -1
BATCH = 128  # questions


@dataclass(frozen=True)
class Exchange:
    """One exchange: vectors of an encoder layer (or all layers), a head (or all heads), and the
    positions.
    """

    vectors: str
    layer: int = ALL
    head: int = ALL
    place: str = PAIR

    def patterns(self, names: Sequence[str]) -> list[str]:
        """The sites of these vectors."""
        sites = [name for name in names if vector_kind(name) == self.vectors]
        return [name for name in sites if self.layer in (ALL, layer_of(name))]


def list_encoder_exchanges(model: Model, by_head: Sequence[str] = ("role",)) -> list[Exchange]:
    """All exchanges in a model's encoder: each kind of vectors by layer and in all layers, at the
    pair and elsewhere, and in all layers of a pair alike; those in ``by_head`` also head by head.
    """
    names = list(find_sites(model))
    layers_by_kind: dict[str, set[int]] = {}
    for name in names:
        if vectors := vector_kind(name):
            layers_by_kind.setdefault(vectors, set()).add(
                ALL if (layer := layer_of(name)) is None else layer
            )
    exchanges = [Exchange(vectors) for vectors in layers_by_kind]
    exchanges += [
        Exchange(kind, layer)
        for kind, layers in layers_by_kind.items()
        for layer in sorted(layers - {ALL})
        if kind != "hidden"
    ]
    exchanges += [
        Exchange(exchange.vectors, exchange.layer, place=ELSEWHERE) for exchange in exchanges
    ]
    exchanges += [Exchange(kind, place=ALIKE) for kind in layers_by_kind]
    heads = range(model.n_heads)
    return exchanges + [
        Exchange(exchange.vectors, exchange.layer, head)
        for exchange in exchanges
        if exchange.vectors in by_head and exchange.layer != ALL and exchange.place == PAIR
        for head in heads
    ]


def measure_swaps(model: Model, swaps: pd.DataFrame, exchanges: Sequence[Exchange]) -> pd.DataFrame:
    """One row per swap (of ``find_swaps``) and exchange: what the model makes of the two answers.

    Columns: question, kind, vectors, layer, head (-1: all), at; p_original, p_counterfactual (the
    probabilities of the two whole answers), original, counterfactual (whether it is written greedily).
    Vectors `none` is no exchange, `question` the counterfactual question itself. Swaps that cannot be
    moved have no rows elsewhere, those without a pair alike none of it.

    Raises:
        InputError: the vocabulary lacks a symbol.
    """
    pairs, predicted = encode_swaps(model, swaps)
    names = list(find_sites(model))
    tables = [
        table
        for rows in pairs.by_length(BATCH)
        for table in _measure(
            model, swaps.iloc[rows.tolist()], pairs, predicted, rows, exchanges, names
        )
    ]
    return pd.concat(tables, ignore_index=True)


def encode_swaps(model: Model, swaps: pd.DataFrame) -> tuple[Pairs, Pairs]:
    """The questions of swaps with their answers, and their counterfactuals with theirs, as ids."""
    vocabulary = require_vocabulary(model)
    columns = ("text", "answer"), ("counterfactual", "predicted")
    originals, counterfactuals = (
        encode_texts(swaps[text].tolist(), swaps[answer].tolist(), vocabulary)
        for text, answer in columns
    )
    return originals, counterfactuals


def _measure(
    model: Model,
    batch_swaps: pd.DataFrame,
    pairs: Pairs,
    predicted: Pairs,
    rows: Tensor,
    exchanges: Sequence[Exchange],
    names: Sequence[str],
) -> Iterator[pd.DataFrame]:
    pad, device = model.config.pad, model.device
    source, answer = (ids.to(device) for ids in pairs.batch(rows, pad))
    counterfactual, counterfactual_answer = (ids.to(device) for ids in predicted.batch(rows, pad))
    orders = {
        place: positions(
            batch_swaps, source.shape[1], place, int(require_vocabulary(model).source_start)
        )
        for place in (PAIR, ELSEWHERE, ALIKE)
    }
    variants: list[Variant] = [
        {},
        *(_variant(exchange, orders[exchange.place], names) for exchange in exchanges),
    ]
    scores = score_variants(model, source, [answer, counterfactual_answer], variants)
    question_scores = score_variants(model, counterfactual, [answer, counterfactual_answer], [{}])
    measurements = [(Exchange("none"), scores, 0), (Exchange("question"), question_scores, 0)]
    measurements += [(exchange, scores, variant) for variant, exchange in enumerate(exchanges, 1)]
    for measured, variant_scores, variant in measurements:
        table = tabulate(
            batch_swaps,
            variant_scores,
            variant,
            measured.vectors,
            measured.layer,
            measured.head,
            measured.place,
        )
        yield table[has_positions(batch_swaps, measured.place)]


def tabulate(
    swaps: pd.DataFrame,
    scores: Scores,
    variant: int,
    vectors: str,
    layer: int = ALL,
    head: int = ALL,
    place: str = PAIR,
) -> pd.DataFrame:
    """One row per swap: what one variant makes of its two answers, the original and the counterfactual."""
    p, wrote = scores.log_probability[variant].exp().numpy(), scores.is_written[variant].numpy()
    return pd.DataFrame(
        {
            "question": swaps["question"].to_numpy(),
            "kind": swaps["kind"].to_numpy(),
            "vectors": vectors,
            "layer": layer,
            "head": head,
            "at": place,
            "p_original": p[0],
            "p_counterfactual": p[1],
            "original": wrote[0],
            "counterfactual": wrote[1],
        }
    )


def positions(
    swaps: pd.DataFrame, length: int, place: str, offset: int
) -> Int[Tensor, "sample position"]:
    """The order that exchanges every row's positions at the pair, or at one of its controls."""
    positions_a, positions_b = (
        [tuple(position + offset for position in digits) for digits in side]
        for side in zip(*_find_places(swaps, place), strict=True)
    )
    return exchange(positions_a, positions_b, length)


def has_positions(swaps: pd.DataFrame, place: str) -> Bool[np.ndarray, " swap"]:
    """True for the swaps that have positions there; the others exchange nothing."""
    return np.array([len(positions) > 0 for positions, _ in _find_places(swaps, place)], bool)


def _find_places(swaps: pd.DataFrame, place: str) -> list[Pair]:
    """The positions that change places, swap by swap; empty where there are none."""
    pairs = list(zip(swaps["first"], swaps["second"], strict=True))
    if place == ALIKE:
        return list(swaps["alike"])
    if place == PAIR:
        return pairs
    return [
        (tuple(i + shift for i in a), tuple(i + shift for i in b)) if shift else ((), ())
        for (a, b), shift in zip(pairs, swaps["elsewhere"], strict=True)
    ]


def _variant(exchange: Exchange, order: Tensor, names: Sequence[str]) -> Variant:
    heads = None if exchange.head == ALL else [exchange.head]
    return dict.fromkeys(exchange.patterns(names), swap(order, heads=heads))
