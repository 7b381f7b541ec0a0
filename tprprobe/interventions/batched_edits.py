"""Many variants of one batch at once: scores of given targets under each of them.

Variants are rows, those of a sample together. Steps that nothing edited reaches are computed once,
and targets are scored by teacher forcing: nothing is decoded.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import torch
from jaxtyping import Bool, Float, Int, Shaped
from torch import Tensor

from tprprobe.interventions.placement import ByVariant
from tprprobe.models.protocol import Language, Model
from tprprobe.site.hooks import PlacedEdit, find_sites, hold, intervene, record
from tprprobe.site.patterns import select, side_of

Variant = Mapping[str, PlacedEdit]  # an edit by site or pattern
Output = Tensor | tuple[Tensor, ...]  # of a step
Place = tuple[int, int, int]  # of a site or step in its stack: layer, part of it, and whether bound
# Symbols of a forward pass, at most: on a CPU what caches hold, so that larger passes are slower.
SYMBOLS_PER_PASS = {"cpu": 2048, "cuda": 65536}
SUBLAYERS = ("self", "cross", "hidden")
WITHIN = re.compile(r"(?:encoder|decoder)\.(\d+)(?:\.(self|cross|hidden)(?:\.(\w+))?)?")
NOT_BOUND = ("read", "input", "query", "key", "value", "attention")
BELOW, BEHIND = (-1, 0, 0), (10**6, 0, 0)  # all layers


def rows_per_pass(device: torch.device, width: int) -> int:
    """How many rows of that width a forward pass is of."""
    return max(1, SYMBOLS_PER_PASS.get(device.type, SYMBOLS_PER_PASS["cuda"]) // width)


@dataclass(frozen=True)
class Scores:
    """The log-probability of every target under every variant, and whether it is written greedily."""

    log_probability: Float[Tensor, "variant target sample"]
    is_written: Bool[Tensor, "variant target sample"]


@torch.no_grad()
def score_variants(
    model: Language,
    source: Shaped[Tensor, "sample ..."],
    targets: Sequence[Int[Tensor, "sample _"]],
    variants: Sequence[Variant],
) -> Scores:
    """Scores of the targets (start symbol first, padded) for the sources, under every variant."""
    names = list(find_sites(model))
    plans = [
        {name: edit for pattern, edit in variant.items() for name in select(pattern, names)}
        for variant in variants
    ]
    starts = [first_places(plan) for plan in plans]
    unedited = _Unedited(model, source, targets)
    order = sorted(range(len(plans)), key=starts.__getitem__)
    shape = (len(plans), len(targets), len(source))
    scores = Scores(torch.empty(shape), torch.empty(shape, dtype=torch.bool))
    for start, group in groupby(order, key=starts.__getitem__):
        members, n = list(group), unedited.variants_at_once
        for chunk in (members[i : i + n] for i in range(0, len(members), n)):
            chunk_scores = _score(model, unedited, [plans[i] for i in chunk], start)
            scores.log_probability[chunk] = chunk_scores.log_probability
            scores.is_written[chunk] = chunk_scores.is_written
    return scores


def first_places(plan: Mapping[str, object]) -> tuple[Place, Place]:
    """The first place of the encoder that edits reach, and of the decoder, whose first cross-attention edits of the encoder reach."""
    sides = {name: "target" if is_memory(name) else side_of(name) for name in plan}
    encoder, decoder = (
        min((place_of(name) for name in plan if sides[name] == side), default=BEHIND)
        for side in ("source", "target")
    )
    return encoder, decoder if encoder == BEHIND else min(decoder, (0, 1, 0))


def place_of(name: str) -> Place:
    """The place of a site or step; the steps of lower places are computed before it."""
    if (name_match := WITHIN.fullmatch(name)) is None:
        return BELOW
    layer, sublayer, kind = name_match.groups()
    return int(layer), SUBLAYERS.index(sublayer or "hidden"), int(kind not in NOT_BOUND)


def is_memory(name: str) -> bool:
    """True for a site of what a decoder computes from the encoder's output."""
    return name.startswith("decoder.") and side_of(name) == "source"


def list_steps(model: Language) -> list[str]:
    """The steps that can be held: layers, attentions, what these read, and embeddings."""
    readers = [name for name, module in model.named_modules() if name and hasattr(module, "read")]
    layers = [name.rpartition(".")[0] for name in readers]
    return [*filter(None, dict.fromkeys(layers)), *readers, *(f"{name}.read" for name in readers)]


class _Unedited:
    """What the unedited model computes of a batch: the memory, and what its steps return."""

    def __init__(self, model: Language, source: Tensor, targets: Sequence[Tensor]):
        self.source, self.targets, self.decoded = source, targets, []
        steps = list_steps(model)
        with record(model, steps) as self.encoded:
            self.memory = model.encode(source)
        for target in targets:
            with record(model, steps) as outputs:
                if steps:
                    model.decode(target[:, :-1], self.memory)
            self.decoded.append(outputs)

    @property
    def variants_at_once(self) -> int:
        batches = (self.source, *self.targets)
        widths = [ids.shape[1] for ids in batches if not ids.is_floating_point()]
        return rows_per_pass(self.source.device, len(self.source) * max(widths))


def _below(outputs: Mapping[str, Output], start: Place, rows: Tensor | slice) -> dict[str, Output]:
    """The outputs, for these rows, of the steps below a place that are part of no other such step."""
    names = [name for name in outputs if place_of(name) < start]
    outermost = [name for name in names if not any(name.startswith(f"{outer}.") for outer in names)]
    return {name: _rows_of(outputs[name], rows) for name in outermost}


def _rows_of(output: Output, rows: Tensor | slice) -> Output:
    return output[rows] if isinstance(output, Tensor) else tuple(tensor[rows] for tensor in output)


def _score(
    model: Language, unedited: _Unedited, plans: Sequence[Variant], start: tuple[Place, Place]
) -> Scores:
    n, samples = len(plans), len(unedited.source)
    if n == 1:  # every row as it is: nothing is copied
        rows, edits = slice(None), plans[0]
    else:
        rows = torch.arange(samples, device=unedited.source.device).repeat_interleave(n)
        edits = {
            name: ByVariant(tuple(plan.get(name) for plan in plans))
            for name in dict.fromkeys(name for plan in plans for name in plan)
        }
    results = []
    with intervene(model, edits):
        if start[0] < BEHIND:
            with hold(model, _below(unedited.encoded, start[0], rows)):
                memory = model.encode(unedited.source[rows])
        else:
            repeats_memory = n > 1 and (any(map(is_memory, edits)) or not isinstance(model, Model))
            memory = unedited.memory[rows] if repeats_memory else unedited.memory
        for target, outputs in zip(unedited.targets, unedited.decoded, strict=True):
            with hold(model, _below(outputs, start[1], rows)):
                results.append(_read(model, target[rows], memory))
    columns = (torch.stack(tensors) for tensors in zip(*results, strict=True))  # [target, row]
    return Scores(*(tensor.unflatten(1, (samples, n)).permute(2, 0, 1) for tensor in columns))


def _read(model: Language, target: Tensor, memory: Any) -> tuple[Tensor, Tensor]:
    logits, _ = model.decode(target[:, :-1], memory)
    target_ids, real = target[:, 1:], target[:, 1:] != model.config.pad
    best = (logits.argmax(-1) == target_ids) | ~real
    logs, index = logits.float().log_softmax(-1), target_ids.clamp(min=0)[..., None]
    log_probability = logs.gather(-1, index)[..., 0]
    return log_probability.masked_fill(~real, 0.0).sum(1).cpu(), best.all(1).cpu()
