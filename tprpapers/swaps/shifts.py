"""Shifts: the part of a vector that tells numerators from denominators, exchanged alone.

A role vector is the sum of what says which digit it was computed for and of what says where the digit
stands. The second part is estimated as a difference of classes on other questions: the mean of
numerators minus that of denominators among digits that are equal in digit, place and number of
digits. A swap then moves numerators by minus and denominators by plus that difference, at every digit
of the pair. Controls are the wrong sign and a random direction of equal norm; the line above is a
direction of equal norm that was learned by gradient to change other questions' answers, as in
distributed alignment search (Geiger et al. 2024, arXiv:2303.02536).
"""

from collections.abc import Mapping, Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tprpapers.swaps.digit_vectors import DigitVectors, label_digits
from tprpapers.swaps.donor_roles import KIND
from tprpapers.swaps.exchanges import ALL, BATCH, encode_swaps, tabulate
from tprpapers.swaps.number_pairs import encoder_vectors
from tprprobe.gold.structure import POLARITIES
from tprprobe.interventions import edits
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import intervene
from tprprobe.site.patterns import layer_of

SHIFTED = ("role", "filler", "query", "key", "hidden")  # kinds of vectors; hidden: layer by layer
DIFFERENCE, WRONG_SIGN, RANDOM_DIRECTION, LEARNED_DIRECTION = (
    "difference",
    "wrong sign",
    "random direction",
    "learned direction",
)
STEPS, RATE = 200, 0.05  # of learning a direction: Adam, in units of the direction's mean size
Directions = Mapping[str, Tensor]  # of a site: [*shape]


def class_differences(digits: DigitVectors) -> Directions:
    """Numerators' minus denominators' mean vector within cells of equal digits, averaged over cells.

    Cells weigh by the precision of their difference, n₁n₂/(n₁ + n₂).
    """
    numerator, denominator = POLARITIES
    pairs = [
        (tokens, digits.cells[*cell[:3], denominator])
        for cell, tokens in digits.cells.items()
        if cell[3] == numerator and (*cell[:3], denominator) in digits.cells
    ]
    weights = torch.tensor([len(a) * len(b) / (len(a) + len(b)) for a, b in pairs])
    weights = weights / weights.sum()
    return {
        site: torch.stack([x[a].mean(0) - x[b].mean(0) for a, b in pairs])
        .mul(weights.view(-1, *[1] * (x.ndim - 1)))
        .sum(0)
        for site, x in digits.vectors.items()
    }


def random_directions(like: Directions, seed: int = 0) -> Directions:
    """Normal directions with the norm of the given ones, head by head."""
    generator = torch.Generator().manual_seed(seed)
    samples = {
        site: torch.randn(direction.shape, generator=generator) for site, direction in like.items()
    }
    return {site: _as_long_as(sample, like[site]) for site, sample in samples.items()}


def learn_directions(
    model: Model, swaps: pd.DataFrame, start: Directions, seed: int = 0, steps: int = STEPS
) -> Directions:
    """Directions as long as ``start`` along which a shift makes these swaps' new answers likely.

    They are learned by gradient from ``start``, all sites at once, to lower the cross-entropy of the
    new answers. To be measured on swaps of other questions.
    """
    pairs, predicted = encode_swaps(model, swaps)
    signs = _signs(model, swaps, int(pairs.source.lengths.max()))
    directions = {site: direction.clone().requires_grad_() for site, direction in start.items()}
    optimizer = torch.optim.Adam(
        [
            {"params": [direction], "lr": RATE * float(direction.detach().square().mean().sqrt())}
            for direction in directions.values()
        ]
    )
    generator = torch.Generator().manual_seed(seed)
    for _ in range(steps):
        rows = torch.randperm(len(swaps), generator=generator)[:BATCH]
        source, _ = pairs.batch(rows, model.config.pad)
        _, counterfactual = predicted.batch(rows, model.config.pad)
        with intervene(model, _variant(directions, signs[rows], 1.0)):
            logits = model(source, counterfactual[:, :-1])
        loss = torch.nn.functional.cross_entropy(
            logits.flatten(0, 1), counterfactual[:, 1:].flatten(), ignore_index=model.config.pad
        )
        gradients = torch.autograd.grad(loss, list(directions.values()))
        for direction, gradient in zip(directions.values(), gradients, strict=True):
            direction.grad = gradient
        optimizer.step()
        with torch.no_grad():
            for site, direction in directions.items():
                direction.copy_(_as_long_as(direction, start[site]))
    return {site: direction.detach() for site, direction in directions.items()}


def measure_shifts(
    model: Model,
    swaps: pd.DataFrame,
    directions: Mapping[str, Directions],
    doses: Sequence[float],
) -> pd.DataFrame:
    """One row per swap of polarity, kind of vectors, direction and dose: what the model makes of the
    two answers.

    Columns are those of :func:`tprpapers.swaps.exchanges.measure_swaps`; ``at`` is the name of
    the direction and its dose, ``layer`` the layer of hidden states and -1 (all) of the others.
    """
    swaps = swaps[swaps["kind"] == KIND]
    pairs, predicted = encode_swaps(model, swaps)
    shifts = [
        (vectors, layer, f"{name} × {dose:g}", sites, dose)
        for name, sites_directions in directions.items()
        for (vectors, layer), sites in _grouped(sites_directions).items()
        for dose in doses
    ]
    tables = []
    for rows in pairs.by_length(BATCH):
        (source, answer), (_, counterfactual) = (
            texts.batch(rows, model.config.pad) for texts in (pairs, predicted)
        )
        batch_swaps = swaps.iloc[rows.tolist()]
        signs = _signs(model, batch_swaps, source.shape[1])
        variants = [_variant(sites, signs, dose) for *_, sites, dose in shifts]
        scores = score_variants(model, source, [answer, counterfactual], variants)
        tables += [
            tabulate(batch_swaps, scores, number, vectors, layer, place=label)
            for number, (vectors, layer, label, *_) in enumerate(shifts)
        ]
    return pd.concat(tables, ignore_index=True)


def name_directions(
    model: Model, digits: DigitVectors, swaps: pd.DataFrame, seed: int = 0
) -> dict[str, Directions]:
    """The difference of classes, its controls, and (of roles) what is learned on other swaps."""
    differences = class_differences(digits)
    roles = {
        site: direction
        for site, direction in differences.items()
        if encoder_vectors(site) == SHIFTED[0]
    }
    directions = {
        DIFFERENCE: differences,
        WRONG_SIGN: {site: -direction for site, direction in differences.items()},
        RANDOM_DIRECTION: random_directions(differences, seed),
    }
    if roles and len(swaps):
        directions[LEARNED_DIRECTION] = learn_directions(model, swaps, roles, seed)
    return directions


def _grouped(directions: Directions) -> Mapping[tuple[str, int], Directions]:
    """The sites that are shifted together: of one kind, hidden states also of one layer."""
    groups: dict[tuple[str, int], dict[str, Tensor]] = {}
    for site, direction in directions.items():
        vectors = str(encoder_vectors(site))
        layer = int(layer_of(site) or 0) if vectors == "hidden" else ALL
        groups.setdefault((vectors, layer), {})[site] = direction
    return groups


def _variant(
    directions: Directions, signs: Float[Tensor, "sample position"], dose: float
) -> Variant:
    return {site: edits.shift(dose * direction, signs) for site, direction in directions.items()}


def _signs(model: Model, swaps: pd.DataFrame, length: int) -> Float[Tensor, "sample position"]:
    """−1 at the pair's numerator's digits, 1 at its denominator's, 0 elsewhere."""
    offset = int(require_vocabulary(model).source_start)
    gold = label_digits(list(swaps["text"])).set_index(["question", "position"])["polarity"]
    signs = torch.zeros(len(swaps), length)
    for row, (positions_a, positions_b) in enumerate(
        zip(swaps["first"], swaps["second"], strict=True)
    ):
        for position in (*positions_a, *positions_b):
            signs[row, position + offset] = -1.0 if gold[row, position] == POLARITIES[0] else 1.0
    return signs


def _as_long_as(direction: Tensor, reference: Tensor) -> Tensor:
    """The direction with the other's norm, head by head."""
    return direction * (reference.norm(dim=-1, keepdim=True) / direction.norm(dim=-1, keepdim=True))
