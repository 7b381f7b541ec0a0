"""Losses of edge probes and their gradients, written out.

What autograd would keep of a batch, several arrays of targets × hidden units for every probe, does not fit in a
cache. Here targets go forward and back a block at a time, and attention and its gradients are of spans of several
states only.
"""

from collections.abc import Mapping, Sequence

import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.analyses.probing.pooling import Pooled, Spans
from tprprobe.analyses.probing.probes import EPS, EdgeProbes
from tprprobe.analyses.probing.settings import Loss

BLOCK = 1024  # targets whose hidden units stay in a core's cache

Gradients = Mapping[str, Tensor]  # by the parameters' names


def edge_gradients(
    probes: EdgeProbes,
    grads: Gradients,
    windows: Sequence[Float[Tensor, "probe _state window"]],
    spans: Sequence[Spans],
    kept: Float[Tensor, "probe target hidden"],
    marks: Float[Tensor, "probe target label"],
    loss: Loss,
) -> Float[Tensor, " probe"]:
    """The mean loss of every probe over the targets; its gradients are written into ``grads``.

    With x̂ = layer_norm(tanh z), dropout d, and γ and β of the norm, logits are (d x̂) (γ O) + d (β O) + o.
    """
    w = dict(probes.named_parameters())
    n, hidden = kept.shape[1:]
    gamma, beta = w["norm_weight"][..., None], w["norm_bias"][..., None]
    scaled, shifted = gamma * w["output_weight"], beta * w["output_weight"]
    pooled = [probes.pool(s, x, of) for s, (x, of) in enumerate(zip(windows, spans, strict=True))]
    maps, bias = probes.maps()
    back = marks.new_empty(len(marks), n, hidden)  # the gradient by z
    seen, masked = torch.zeros_like(scaled), torch.zeros_like(scaled)  # (d x̂)ᵀ δ and dᵀ δ
    total = marks.new_zeros(len(marks))
    grads["output_bias"].zero_()
    for start in range(0, n, BLOCK):
        rows = slice(start, start + BLOCK)
        z = torch.baddbmm(bias, pooled[0].vectors[:, rows], maps[0])
        for part, by in zip(pooled[1:], maps[1:], strict=True):
            z.baddbmm_(part.vectors[:, rows], by)
        t, d = z.tanh_(), kept[:, rows]
        normed, mean, deviation = torch.ops.aten.native_layer_norm(t, (hidden,), None, None, EPS)
        y = normed.mul_(d)
        logits = torch.baddbmm(w["output_bias"][:, None], y, scaled).baddbmm_(d, shifted)
        each, delta = _loss_gradient(logits, marks[:, rows], loss, n)
        total += each
        seen.baddbmm_(y.mT, delta)
        masked.baddbmm_(d.mT, delta)
        grads["output_bias"].add_(delta.sum(1))
        g = torch.bmm(delta, scaled.mT).mul_(d)
        g = torch.ops.aten.native_layer_norm_backward(
            g, t, (hidden,), mean, deviation, None, None, (True, False, False)
        )[0]
        torch.ops.aten.tanh_backward.grad_input(g, t, grad_input=back[:, rows])
    grads["output_weight"].copy_(gamma * seen + beta * masked)
    grads["norm_weight"].copy_((w["output_weight"] * seen).sum(-1))
    grads["norm_bias"].copy_((w["output_weight"] * masked).sum(-1))
    grads["hidden_bias"].copy_(back.sum(1))
    for span, of in enumerate(spans):
        _add_span(probes, grads, span, pooled[span], of, back, maps[span])
    return total


def _add_span(
    probes: EdgeProbes,
    grads: Gradients,
    span: int,
    pooled: Pooled,
    spans: Spans,
    back: Float[Tensor, "probe target hidden"],
    whole: Float[Tensor, "probe window hidden"],
) -> None:
    """Writes the gradients of the layers that one span goes through.

    A constant added to all scores changes no share: the bias of attention has no gradient.
    """
    project, bias = probes.layer("project", span)
    attend, _ = probes.layer("attend", span)
    into, hidden = probes.into(span), back.shape[-1]
    product, sums = pooled.vectors.mT @ back, grads["hidden_bias"]
    part = grads["hidden_weight"][:, span * hidden : (span + 1) * hidden]
    part.copy_(torch.baddbmm(bias[..., None] * sums[:, None], project.mT, product))
    by_project = product @ into.mT
    query = torch.zeros_like(attend)
    if len(spans.many):
        moved = (back[:, spans.many] @ whole.mT)[:, spans.owner]
        moved = pooled.shares * (pooled.states * moved).sum(-1)
        moved -= pooled.shares * spans.sum(moved)[:, spans.owner]
        by_query = pooled.states.mT @ moved[..., None]
        by_project.baddbmm_(by_query, attend[:, None])
        query = (project.mT @ by_query).squeeze(-1)
    grads[f"project{span}_weight"].copy_(by_project)
    grads[f"project{span}_bias"].copy_((into @ sums[..., None]).squeeze(-1))
    grads[f"attend{span}_weight"].copy_(query)
    grads[f"attend{span}_bias"].zero_()


def _loss_gradient(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    loss: Loss,
    n_targets: int,
) -> tuple[Float[Tensor, " probe"], Float[Tensor, "probe target label"]]:
    """The sums of the losses over n_targets, and the gradient by the logits (see :func:`losses`)."""
    if loss == "sigmoid":
        each = torch.nn.functional.binary_cross_entropy_with_logits(logits, marks, reduction="none")
        n = n_targets * logits.shape[-1]
        return each.sum((1, 2)) / n, (logits.sigmoid() - marks) / n
    shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
    logs = logits.log_softmax(-1)
    delta = logs.exp() * shares.sum(-1, keepdim=True) - shares
    return -(shares * logs).sum((1, 2)) / n_targets, delta / n_targets
