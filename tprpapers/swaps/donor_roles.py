"""Roles taken from other questions: does the model follow the polarity that they say, or the digit?

An exchange of two numbers' roles moves two things at once, which digit a role was computed for and
which side of the division it stood on. Roles of other questions' digits part them: a donor has the
digit that stands at its place or the partner's, and the polarity of its place or the other one.
Donors have the place and the number of digits of where they go to.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tprpapers.swaps.digit_vectors import DigitVectors, label_digits
from tprpapers.swaps.exchanges import BATCH, encode_swaps, tabulate
from tprprobe.gold.structure import POLARITIES
from tprprobe.interventions import edits
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.models.protocol import Model, require_vocabulary

KIND = "polarity"
DONORS = {  # which digit and which polarity a donor has: of its place, or of the pair's other number
    "same digit, same polarity": (False, False),
    "same digit, other polarity": (False, True),
    "other digit, same polarity": (True, False),
    "other digit, other polarity": (True, True),
}


def choose_donors(
    swaps: pd.DataFrame, donors: DigitVectors, seed: int = 0
) -> dict[str, list[dict[int, int]]]:
    """For every kind of donor and every swap, the token whose roles go to each position of the
    pair.

    A swap for which some kind has no donor is left out of all of them (empty).
    """
    rng = np.random.default_rng(seed)
    gold = dict(iter(label_digits(list(swaps["text"])).groupby("question")))
    chosen: dict[str, list[dict[int, int]]] = {name: [] for name in DONORS}
    for number, row in enumerate(swaps.to_dict("records")):
        marks = gold[number].set_index("position") if number in gold else None
        found = {name: _choose(row, marks, donors, *which, rng) for name, which in DONORS.items()}
        complete = all(None not in each.values() and each for each in found.values())
        for name, each in found.items():
            chosen[name].append(
                {at: int(token or 0) for at, token in each.items()} if complete else {}
            )
    return chosen


def _choose(
    row: dict[Any, Any],
    marks: pd.DataFrame | None,
    donors: DigitVectors,
    other_digit: bool,
    other_polarity: bool,
    rng: np.random.Generator,
) -> dict[int, int | None]:
    if marks is None or row["kind"] != KIND:
        return {}
    sides = [*zip(row["first"], row["second"], strict=True)]
    found: dict[int, int | None] = {}
    for at, partner in [*sides, *((other, own) for own, other in sides)]:
        own = marks.loc[at]
        digit = marks.loc[partner if other_digit else at, "char"]
        polarity = POLARITIES[(own["polarity"] == POLARITIES[0]) == other_polarity]
        cell = (str(digit), int(own["place"]), int(own["n_digits"]), polarity)
        found[at] = donors.draw(cell, rng)
    return found


def measure_donors(
    model: Model, swaps: pd.DataFrame, donors: DigitVectors, seed: int = 0
) -> pd.DataFrame:
    """One row per swap of polarity and kind of donor: what the model makes of the two answers.

    Columns are those of :func:`tprpapers.swaps.exchanges.measure_swaps`; ``at`` is the kind of
    donor, vectors are ``role``, of all layers and heads at once.
    """
    pairs, predicted = encode_swaps(model, swaps)
    chosen = choose_donors(swaps, donors, seed)
    able = np.array([bool(each) for each in next(iter(chosen.values()))], bool)
    parts = []
    for rows in pairs.by_length(BATCH):
        batch = [pairs.batch(rows, model.config.pad), predicted.batch(rows, model.config.pad)]
        (source, answer), (_, new) = ([x.to(_device(model)) for x in each] for each in batch)
        some = [[chosen[name][i] for i in rows.tolist()] for name in DONORS]
        variants = [_variant(model, donors, each, source.shape[1]) for each in some]
        scores = score_variants(model, source, [answer, new], variants)
        part = swaps.iloc[rows.tolist()]
        parts += [
            tabulate(part, scores, number, vectors="role", at=name)[able[rows.numpy()]]
            for number, name in enumerate(DONORS)
        ]
    return pd.concat(parts, ignore_index=True)


def _device(model: Model) -> torch.device:
    return model.device


def _variant(
    model: Model, donors: DigitVectors, chosen: Sequence[dict[int, int]], length: int
) -> Variant:
    """The edits that put the chosen tokens' roles at their positions, site by site."""
    offset = int(require_vocabulary(model).source_start)
    places = [
        (row, at + offset, token) for row, each in enumerate(chosen) for at, token in each.items()
    ]
    rows, at, tokens = torch.tensor(places, dtype=torch.long).reshape(-1, 3).unbind(1)
    where = torch.zeros(len(chosen), length, dtype=torch.bool)
    where[rows, at] = True
    return {
        site: edits.patch(_spread(roles, rows, at, tokens, where), positions=where)
        for site, roles in donors.vectors.items()
    }


def _spread(roles: Tensor, rows: Tensor, at: Tensor, tokens: Tensor, where: Tensor) -> Tensor:
    values = roles.new_zeros(*where.shape, *roles.shape[1:])
    values[rows, at] = roles[tokens]
    return values
