"""Greedy and beam decoding with a key/value cache, for any model with ``encode`` and ``decode``."""

from typing import Any

import torch
from jaxtyping import Int
from torch import Tensor


@torch.no_grad()
def generate(
    model: Any, source: Int[Tensor, "batch seq"], max_length: int = 32, beam: int = 1
) -> Int[Tensor, "batch out"]:
    """The decoded ids behind the start symbol: up to and with the end symbol, then pads.

    Greedy (``beam=1``) gives the tokens of the uncached argmax; a beam gives the hypothesis of
    the highest total log-probability among those that end, or of all where none ends.
    """
    was_training = model.training
    model.eval()
    try:
        return (
            _greedy(model, source, max_length)
            if beam == 1
            else _beam(model, source, max_length, beam)
        )
    finally:
        model.train(was_training)


def _greedy(model: Any, source: Tensor, max_length: int) -> Tensor:
    ids = model.config
    prefix = source.new_full((len(source), 1), ids.sos)
    memory, cache = model.encode(source), None
    done = torch.zeros(len(source), dtype=torch.bool, device=source.device)
    exact = True  # whether the cache equals a fresh pass: not once a live row has written a pad
    for _ in range(max_length):
        if exact:
            logits, cache = model.decode(prefix[:, -1:] if cache else prefix, memory, cache)
        else:
            logits, _ = model.decode(prefix, memory)
        following = logits[:, -1].argmax(-1).masked_fill(done, ids.pad)
        prefix = torch.cat([prefix, following[:, None]], 1)
        exact = exact and not bool(((following == ids.pad) & ~done).any())
        done |= following == ids.eos
        if done.all():
            break
    return prefix[:, 1:]


def _beam(model: Any, source: Tensor, max_length: int, beam: int) -> Tensor:
    ids, batch = model.config, len(source)
    rows = torch.arange(batch, device=source.device)[:, None]
    memory = model.encode(source)[rows.expand(-1, beam).flatten()]
    prefix = source.new_full((batch * beam, 1), ids.sos)
    score = torch.full((batch, beam), -torch.inf, device=source.device)
    score[:, 0] = 0.0
    done = torch.zeros(batch, beam, dtype=torch.bool, device=source.device)
    cache = None
    for _ in range(max_length):
        logits, cache = model.decode(prefix[:, -1:] if cache else prefix, memory, cache)
        step = logits[:, -1].log_softmax(-1).unflatten(0, (batch, beam))
        vocab = step.shape[-1]
        stay = torch.full_like(step[0, 0], -torch.inf)
        stay[ids.pad] = 0.0
        step = torch.where(
            done[..., None], stay, step.index_fill(-1, source.new_tensor([ids.pad]), -torch.inf)
        )
        score, best = (score[..., None] + step).flatten(1).topk(beam)
        origin, token = best // vocab, best % vocab
        picked = (rows * beam + origin).flatten()
        prefix = torch.cat([prefix[picked], token.flatten()[:, None]], 1)
        cache = cache[picked]
        done = done.gather(1, origin) | (token == ids.eos)
        if done.all():
            break
    ended = score.masked_fill(~done & done.any(1, keepdim=True), -torch.inf)
    return prefix.unflatten(0, (batch, beam))[rows[:, 0], ended.argmax(1), 1:]
