"""Many variants of one batch at once: scores of given targets under each of them.

Variants are rows, those of a sample together. What lies below the first edited layer of the encoder is
computed once, and targets are scored by teacher forcing: nothing is decoded.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from tprprobe.interventions.edits import ByVariant
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import PlacedEdit, capture, find_sites, hold, intervene
from tprprobe.site.patterns import layer_of, select, side_of

Variant = Mapping[str, PlacedEdit]  # an edit by site or pattern
ROWS = 1024  # of a forward pass, at most
HIDDEN = re.compile(r"encoder\.\d+\.hidden")
NOTHING_EDITED = 10**6  # the first edited layer of what edits no encoder's


@dataclass(frozen=True)
class Scores:
    """The log-probability of every target under every variant, and whether it is written greedily."""

    log_probability: Float[Tensor, "variant target sample"]
    written: Bool[Tensor, "variant target sample"]


@torch.no_grad()
def score_variants(
    model: Model,
    source: Shaped[Tensor, "sample ..."],
    targets: Sequence[Int[Tensor, "sample _"]],
    variants: Sequence[Variant],
) -> Scores:
    """Scores of the targets (start symbol first, padded) for the sources, under every variant.

    Raises:
        InputError: a pattern matches no site.
    """
    names = list(find_sites(model))
    plans = [
        {name: edit for pattern, edit in variant.items() for name in select(pattern, names)}
        for variant in variants
    ]
    depths = [first_layer(plan) for plan in plans]
    below = _Below(model, source)
    order = sorted(range(len(plans)), key=depths.__getitem__)
    shape = (len(plans), len(targets), len(source))
    scores = Scores(torch.empty(shape), torch.empty(shape, dtype=torch.bool))
    for depth, group in groupby(order, key=depths.__getitem__):
        for chunk in _chunks(list(group), max(1, ROWS // len(source))):
            found = _score(model, below, targets, [plans[i] for i in chunk], depth)
            scores.log_probability[chunk] = found.log_probability
            scores.written[chunk] = found.written
    return scores


def first_layer(plan: Mapping[str, Any]) -> int:
    """The first edited encoder layer; -1 for sites below the layers, a million if nothing is edited
    there.
    """
    encoder = [name for name in plan if side_of(name) == "source" and not is_memory(name)]
    layers = [-1 if (layer := layer_of(name)) is None else layer for name in encoder]
    return min(layers, default=NOTHING_EDITED)


def is_memory(name: str) -> bool:
    """True for a site of what a decoder computes from the encoder's output."""
    return name.startswith("decoder.") and side_of(name) == "source"


class _Below:
    """The unedited encoder's work on a batch: all layers' outputs, and the memory."""

    def __init__(self, model: Model, source: Tensor):
        self.source = source
        layers = [name for name in find_sites(model) if HIDDEN.fullmatch(name)]
        with capture(model, layers) as acts:
            self.memory = model.encode(source)
        self.hidden = {name.removesuffix(".hidden"): each for name, each in acts.items()}

    def outputs(self, depth: int, rows: Tensor) -> dict[str, Tensor]:
        """The outputs of the layers below that layer, for these rows."""
        below = [name for name in self.hidden if (layer_of(name) or 0) < depth]
        return dict.fromkeys(below, self.hidden[below[-1]][rows]) if below else {}


def _score(
    model: Model, below: _Below, targets: Sequence[Tensor], plans: Sequence[Variant], depth: int
) -> Scores:
    n, samples = len(plans), len(below.source)
    rows = torch.arange(samples, device=below.source.device).repeat_interleave(n)
    edits: dict[str, PlacedEdit] = {
        name: ByVariant(tuple(plan.get(name) for plan in plans))
        for name in dict.fromkeys(name for plan in plans for name in plan)
    }
    with intervene(model, edits):
        if depth < NOTHING_EDITED:
            with hold(model, below.outputs(depth, rows)):
                memory = model.encode(below.source[rows])
        else:
            memory = below.memory[rows] if any(map(is_memory, edits)) else below.memory
        found = [_read(model, target[rows], memory) for target in targets]
    columns = (torch.stack(each) for each in zip(*found, strict=True))  # [target, sample * variant]
    return Scores(*(each.unflatten(1, (samples, n)).permute(2, 0, 1) for each in columns))


def _read(model: Model, target: Tensor, memory: Any) -> tuple[Tensor, Tensor]:
    """The log-probability of every row's target, and whether each of its symbols is the most
    probable.
    """
    logits, _ = model.decode(target[:, :-1], memory)
    wanted, real = target[:, 1:], target[:, 1:] != model.config.pad
    best = (logits.argmax(-1) == wanted) | ~real
    chosen = logits.log_softmax(-1).gather(-1, wanted[..., None])[..., 0]
    return chosen.masked_fill(~real, 0.0).sum(1).cpu(), best.all(1).cpu()


def _chunks(items: list[int], size: int) -> Iterator[list[int]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
