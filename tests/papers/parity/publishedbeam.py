"""The beam search of transformers 2.9.0, transcribed: candidates, hypotheses and their scores.

A hypothesis' score is its log-probability over its length (start symbol included, end symbol not);
2 × beam candidates a step; one that ends counts only among the first ``beam``; a sample is done when
it has ``beam`` hypotheses and none alive can be better than the worst of them.
"""

from typing import Any

import torch
from torch import Tensor


@torch.no_grad()
def published_beam(
    model: Any, source: Tensor, beam: int, max_length: int, min_length: int
) -> Tensor:
    """The best hypotheses with their start symbol, padded."""
    eos, pad, batch = model.config.eos, model.config.pad, len(source)
    memory = model.encode(source)[torch.arange(batch).repeat_interleave(beam)]
    ids = torch.full((batch * beam, 1), model.config.sos)
    scores = torch.full((batch, beam), -1e9)
    scores[:, 0] = 0.0
    cache, is_done = None, [False] * batch
    hypotheses: list[list[tuple[float, Tensor]]] = [[] for _ in range(batch)]
    while ids.shape[1] < max_length and not all(is_done):
        logits, cache = model.decode(ids[:, -1:], memory, cache)
        logs = logits[:, -1].log_softmax(-1)
        if ids.shape[1] < min_length:
            logs[:, eos] = -torch.inf
        total = (logs.unflatten(0, (batch, beam)) + scores[..., None]).flatten(1)
        best, candidates = total.topk(2 * beam)
        survivors: list[tuple[float, int, int]] = []
        for b in range(batch):
            if is_done[b]:
                survivors += [(0.0, pad, 0)] * beam
                continue
            alive = []
            for rank, (score, candidate) in enumerate(
                zip(best[b].tolist(), candidates[b].tolist(), strict=True)
            ):
                row, token = b * beam + candidate // logs.shape[-1], candidate % logs.shape[-1]
                if token != eos:
                    alive.append((score, token, row))
                elif rank < beam:
                    hypotheses[b] = better(hypotheses[b], score, ids[row], beam)
                if len(alive) == beam:
                    break
            worst = min((score for score, _ in hypotheses[b]), default=0.0)
            is_done[b] = len(hypotheses[b]) >= beam and worst >= best[b].max().item() / ids.shape[1]
            survivors += alive
        if all(is_done):
            break
        scores = torch.tensor([score for score, _, _ in survivors]).unflatten(0, (batch, beam))
        row_ids = torch.tensor([row for _, _, row in survivors])
        ids = torch.cat([ids[row_ids], torch.tensor([[token] for _, token, _ in survivors])], 1)
        cache = cache[row_ids]
    for b, row in ((b, b * beam + i) for b in range(batch) if not is_done[b] for i in range(beam)):
        hypotheses[b] = better(hypotheses[b], scores.flatten()[row].item(), ids[row], beam)
    best_ids = [
        max(candidates_of_row, key=lambda pair: pair[0])[1] for candidates_of_row in hypotheses
    ]
    out = torch.full((batch, min(max(map(len, best_ids)) + 1, max_length)), pad)
    for b, hypothesis in enumerate(best_ids):
        out[b, : len(hypothesis)] = hypothesis
        if len(hypothesis) < out.shape[1]:
            out[b, len(hypothesis)] = eos
    return out


def better(
    hypotheses: list[tuple[float, Tensor]], total: float, ids: Tensor, beam: int
) -> list[tuple[float, Tensor]]:
    """The ``beam`` best of the hypotheses and a new one, scored by its mean log-probability."""
    return sorted([*hypotheses, (total / len(ids), ids)], key=lambda pair: -pair[0])[:beam]
