"""Roles taken from other questions: does the model follow the polarity that they say, or the digit?

An exchange of two numbers' roles moves two things at once, which digit a role was computed for and
which side of the division it stood on. Roles of other questions' digits part them: a donor has the
digit that stands at its place or the partner's, and the polarity of its place or the other one.
Donors have the place and the number of digits of where they go to.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor

from tprprobe.data.pairs import encode_texts
from tprprobe.extraction.passes import read_block
from tprprobe.gold import annotate
from tprprobe.gold.expressions import POLARITIES
from tprprobe.interventions import edits
from tprprobe.interventions.exchanges import BATCH, encode_swaps, tabulate
from tprprobe.interventions.variants import Variant, score_variants
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites
from tprprobe.site.patterns import select

KIND, ROLES = "polarity", "encoder.*.role"
DONORS = {  # which digit and which polarity a donor has: of its place, or of the pair's other number
    "same digit, same polarity": (False, False),
    "same digit, other polarity": (False, True),
    "other digit, same polarity": (True, False),
    "other digit, other polarity": (True, True),
}
Cell = tuple[str, int, int, str]  # digit, place, digits of the number, polarity


@dataclass(frozen=True, eq=False)
class Donors:
    """The roles of digits of other questions, grouped by the gold structure of the digit."""

    roles: dict[str, Tensor]  # of a site: [token, head, d_head]
    cells: dict[Cell, Int[np.ndarray, " token"]]

    def draw(self, cell: Cell, rng: np.random.Generator) -> int | None:
        """A random token of a group; None if the group is empty."""
        tokens = self.cells.get(cell)
        return None if tokens is None else int(rng.choice(tokens))


def read_donors(model: Model, questions: Sequence[str]) -> Donors:
    """The roles that a model's encoder gives to the digits of these questions.

    Raises:
        InputError: the vocabulary lacks a symbol.
    """
    vocabulary = require_vocabulary(model)
    pairs = encode_texts(list(questions), ["0"] * len(questions), vocabulary)
    sites = select(ROLES, list(find_sites(model)))
    rows = read_block(model, pairs, sites, model.config.pad).rows
    gold = _digits(questions)
    starts = pairs.source.offsets[:-1].numpy()[gold["question"].to_numpy(int)]
    token = starts + gold["position"].to_numpy(int) + int(vocabulary.source_start)
    keys = zip(gold["char"], gold["place"], gold["n_digits"], gold["polarity"], strict=True)
    cells: dict[Cell, list[int]] = {}
    for key, at in zip(keys, token.tolist(), strict=True):
        cells.setdefault(key, []).append(at)
    kept = {site: torch.from_numpy(each) for site, each in rows.items()}
    return Donors(kept, {key: np.array(each) for key, each in cells.items()})


def _digits(questions: Sequence[str]) -> pd.DataFrame:
    gold = annotate(questions)
    gold = gold[(gold["kind"] == "digit") & gold["polarity"].notna()]
    return gold.astype({"char": str, "place": int, "n_digits": int, "polarity": str})


def choose_donors(
    swaps: pd.DataFrame, donors: Donors, seed: int = 0
) -> dict[str, list[dict[int, int]]]:
    """For every kind of donor and every swap, the token whose roles go to each position of the
    pair.

    A swap for which some kind has no donor is left out of all of them (empty).
    """
    rng = np.random.default_rng(seed)
    gold = dict(iter(_digits(list(swaps["text"])).groupby("question")))
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
    donors: Donors,
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
    model: Model, swaps: pd.DataFrame, donors: Donors, seed: int = 0
) -> pd.DataFrame:
    """One row per swap of polarity and kind of donor: what the model makes of the two answers.

    Columns are those of :func:`tprprobe.interventions.exchanges.measure_swaps`; ``at`` is the kind of
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
    return next(model.parameters()).device


def _variant(
    model: Model, donors: Donors, chosen: Sequence[dict[int, int]], length: int
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
        for site, roles in donors.roles.items()
    }


def _spread(roles: Tensor, rows: Tensor, at: Tensor, tokens: Tensor, where: Tensor) -> Tensor:
    values = roles.new_zeros(*where.shape, *roles.shape[1:])
    values[rows, at] = roles[tokens]
    return values
