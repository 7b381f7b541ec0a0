"""Erasure: what tells numerators from denominators linearly is taken out of vectors.

Least-squares concept erasure (LEACE) moves a vector as little as can be so that no linear function of
it predicts the class: x − Σ^½ P Σ^−½ (x − μ) with P the projection on Σ^−½ cov(x, z). It is fitted on
other questions' digits, head by head, and applied to all digits of a question. The control is fitted
to labels that are shuffled among digits of equal digit, place and number of digits.
Source: Belrose et al. 2023, arXiv:2306.03819.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool
from torch import Tensor

from tprpapers.swaps.digit_vectors import DigitVectors, label_digits
from tprpapers.swaps.donor_roles import KIND
from tprpapers.swaps.exchanges import BATCH, encode_swaps, tabulate
from tprpapers.swaps.number_pairs import encoder_vectors
from tprprobe.gold.structure import POLARITIES
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.interventions.placement import Edit
from tprprobe.interventions.word_edits import Eraser
from tprprobe.models.protocol import Model, require_vocabulary

ERASED, SHUFFLED = "polarity erased", "shuffled polarity erased"


def fit_erasers(digits: DigitVectors, seed: int = 0) -> dict[str, dict[str, Eraser]]:
    """For polarity and for shuffled polarity, the eraser of every site."""
    rng = np.random.default_rng(seed)
    n = sum(map(len, digits.cells.values()))
    labels = {name: np.zeros(n, bool) for name in (ERASED, SHUFFLED)}
    cells: dict[Any, list[tuple[bool, np.ndarray]]] = {}
    for (*cell, polarity), indices in digits.cells.items():
        labels[ERASED][indices] = polarity == POLARITIES[0]
        cells.setdefault(tuple(cell), []).append((polarity == POLARITIES[0], indices))
    for classes in cells.values():
        indices = np.concatenate([members for _, members in classes])
        labels[SHUFFLED][indices] = labels[ERASED][rng.permutation(indices)]
    return {
        name: {site: Eraser.fit(x, torch.from_numpy(label)) for site, x in digits.vectors.items()}
        for name, label in labels.items()
    }


def measure_erasures(
    model: Model, swaps: pd.DataFrame, erasers: Mapping[str, Mapping[str, Eraser]]
) -> pd.DataFrame:
    """One row per swap of polarity, kind of vectors and erasure: what the model makes of the question.

    Columns are those of :func:`tprpapers.swaps.exchanges.measure_swaps`; ``at`` is what was erased.
    """
    swaps = swaps[swaps["kind"] == KIND]
    pairs, predicted = encode_swaps(model, swaps)
    erasures = [
        (
            vectors,
            name,
            {site: eraser for site, eraser in sites.items() if encoder_vectors(site) == vectors},
        )
        for name, sites in erasers.items()
        for vectors in dict.fromkeys(map(str, map(encoder_vectors, sites)))
    ]
    tables = []
    for rows in pairs.by_length(BATCH):
        (source, answer), (_, counterfactual) = (
            texts.batch(rows, model.config.pad) for texts in (pairs, predicted)
        )
        batch_swaps = swaps.iloc[rows.tolist()]
        where = _digits(model, list(batch_swaps["text"]), source.shape[1])
        variants: list[Variant] = [
            {site: _erasing(eraser, where) for site, eraser in sites.items()}
            for *_, sites in erasures
        ]
        scores = score_variants(model, source, [answer, counterfactual], variants)
        tables += [
            tabulate(batch_swaps, scores, number, vectors, place=name)
            for number, (vectors, name, _) in enumerate(erasures)
        ]
    return pd.concat(tables, ignore_index=True)


def _erasing(eraser: Eraser, where: Bool[Tensor, "sample position"]) -> Edit:
    return Edit(lambda x, _: eraser.erase(x), positions=where)


def _digits(model: Model, questions: Sequence[str], length: int) -> Bool[Tensor, "sample position"]:
    gold = label_digits(questions)
    where = torch.zeros(len(questions), length, dtype=torch.bool)
    offset = int(require_vocabulary(model).source_start)
    rows, positions = (gold[name].tolist() for name in ("question", "position"))
    where[rows, [position + offset for position in positions]] = True
    return where
