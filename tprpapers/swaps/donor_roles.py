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
    donors_by_kind: dict[str, list[dict[int, int]]] = {name: [] for name in DONORS}
    for number, row in enumerate(swaps.to_dict("records")):
        marks = gold[number].set_index("position") if number in gold else None
        tokens_by_kind = {
            name: _choose(row, marks, donors, *contrast, rng) for name, contrast in DONORS.items()
        }
        complete = all(None not in tokens.values() and tokens for tokens in tokens_by_kind.values())
        for name, tokens in tokens_by_kind.items():
            donors_by_kind[name].append(
                {position: int(token or 0) for position, token in tokens.items()}
                if complete
                else {}
            )
    return donors_by_kind


def _choose(
    row: dict[Any, Any],
    marks: pd.DataFrame | None,
    donors: DigitVectors,
    changes_digit: bool,
    changes_polarity: bool,
    rng: np.random.Generator,
) -> dict[int, int | None]:
    if marks is None or row["kind"] != KIND:
        return {}
    sides = [*zip(row["first"], row["second"], strict=True)]
    tokens: dict[int, int | None] = {}
    for position, partner in [*sides, *((b, a) for a, b in sides)]:
        mark = marks.loc[position]
        digit = marks.loc[partner if changes_digit else position, "char"]
        polarity = POLARITIES[(mark["polarity"] == POLARITIES[0]) == changes_polarity]
        cell = (str(digit), int(mark["place"]), int(mark["n_digits"]), polarity)
        tokens[position] = donors.draw(cell, rng)
    return tokens


def measure_donors(
    model: Model, swaps: pd.DataFrame, donors: DigitVectors, seed: int = 0
) -> pd.DataFrame:
    """One row per swap of polarity and kind of donor: what the model makes of the two answers.

    Columns are those of :func:`tprpapers.swaps.exchanges.measure_swaps`; ``at`` is the kind of
    donor, vectors are ``role``, of all layers and heads at once.
    """
    pairs, predicted = encode_swaps(model, swaps)
    donors_by_kind = choose_donors(swaps, donors, seed)
    able = np.array([bool(tokens) for tokens in next(iter(donors_by_kind.values()))], bool)
    tables = []
    for rows in pairs.by_length(BATCH):
        batch = [pairs.batch(rows, model.config.pad), predicted.batch(rows, model.config.pad)]
        (source, answer), (_, counterfactual) = ([x.to(model.device) for x in ids] for ids in batch)
        tokens_by_kind = [[donors_by_kind[name][i] for i in rows.tolist()] for name in DONORS]
        variants = [_variant(model, donors, tokens, source.shape[1]) for tokens in tokens_by_kind]
        scores = score_variants(model, source, [answer, counterfactual], variants)
        batch_swaps = swaps.iloc[rows.tolist()]
        tables += [
            tabulate(batch_swaps, scores, number, vectors="role", place=name)[able[rows.numpy()]]
            for number, name in enumerate(DONORS)
        ]
    return pd.concat(tables, ignore_index=True)


def _variant(
    model: Model, donors: DigitVectors, tokens_by_swap: Sequence[dict[int, int]], length: int
) -> Variant:
    """The edits that put the chosen tokens' roles at their positions, site by site."""
    offset = int(require_vocabulary(model).source_start)
    places = [
        (row, position + offset, token)
        for row, tokens_by_position in enumerate(tokens_by_swap)
        for position, token in tokens_by_position.items()
    ]
    rows, positions, tokens = torch.tensor(places, dtype=torch.long).reshape(-1, 3).unbind(1)
    where = torch.zeros(len(tokens_by_swap), length, dtype=torch.bool)
    where[rows, positions] = True
    return {
        site: edits.patch(_spread(roles, rows, positions, tokens, where), positions=where)
        for site, roles in donors.vectors.items()
    }


def _spread(
    roles: Tensor, rows: Tensor, positions: Tensor, tokens: Tensor, where: Tensor
) -> Tensor:
    values = roles.new_zeros(*where.shape, *roles.shape[1:])
    values[rows, positions] = roles[tokens]
    return values
