"""The network of span-convolution probes: its first weights, dropout, logits and losses, of many probes side by side."""

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from jaxtyping import Bool, Float
from torch import Tensor, nn
from torch.nn.functional import one_hot

from tprprobe.estimators.probes.linear import cross_entropy
from tprprobe.estimators.probes.spans import Shape, Spans

DROPOUT, EPS = 0.3, 1e-5


def predict_labels(
    logits: Float[Tensor, "*target label"], loss: str
) -> Bool[Tensor, "*target label"]:
    """The labels that are predicted: the likeliest one, or all that are likelier than not."""
    if loss == "sigmoid":
        return logits >= 0
    return one_hot(logits.argmax(-1), logits.shape[-1]).bool()


def losses(
    logits: Float[Tensor, "*probe target label"],
    marks: Float[Tensor, "*probe target label"],
    loss: str,
) -> Float[Tensor, "*probe target"]:
    """The loss of every target in nats: cross-entropy averaged over labels, or of the softmax."""
    if loss == "softmax":
        return cross_entropy(logits, marks)
    by_label = nn.functional.binary_cross_entropy_with_logits(logits, marks, reduction="none")
    return by_label.mean(-1)


def edge_logits(
    shape: Shape,
    weights: Mapping[str, Tensor],
    windows: Sequence[Float[Tensor, "_state window"]],
    spans: Sequence[Spans],
    dropout: Float[Tensor, "probe target hidden"] | None = None,
) -> Float[Tensor, "probe target label"]:
    """The logits of every label, from the states of all targets' spans (see :class:`Batch`).

    Projection and hidden layer are one map: Σ_t a_t (W x_t + b) = W Σ_t a_t x_t + b, as the shares a_t add up to one.
    """
    h, hidden = shape.hidden, weights["hidden_bias"][:, None]
    for i, (x, span) in enumerate(zip(windows, spans, strict=True)):
        project, bias, attend = (
            weights[f"{name}{i}_{kind}"]
            for name, kind in (("project", "weight"), ("project", "bias"), ("attend", "weight"))
        )
        into = weights["hidden_weight"][:, i * h : (i + 1) * h]
        query = (project @ attend[..., None]).squeeze(-1)
        hidden = hidden + bias[:, None] @ into + attend_states(x, span, query) @ (project @ into)
    hidden = nn.functional.layer_norm(hidden.tanh(), (h,), eps=EPS)
    hidden = hidden * weights["norm_weight"][:, None] + weights["norm_bias"][:, None]
    if dropout is not None:
        hidden = hidden * dropout
    return torch.baddbmm(weights["output_bias"][:, None], hidden, weights["output_weight"])


def attend_states(
    x: Float[Tensor, "_all_states window"], spans: Spans, query: Float[Tensor, "probe window"]
) -> Float[Tensor, "probe target window"]:
    """Σ_t softmax(query · x)_t x_t over the states of every target."""
    vectors = x[spans.first].expand(len(query), -1, -1)
    if not len(spans.several):
        return vectors
    states = x[spans.states]
    scores = query @ states.T
    owner = spans.owner.expand(len(query), -1)
    highest = scores.new_full((len(query), len(spans.several)), -torch.inf)
    highest = highest.scatter_reduce(1, owner, scores.detach(), "amax")
    powers = torch.exp(scores - highest.gather(1, owner))[..., None]
    shares = powers / spans.sum(powers)[:, spans.owner]
    return vectors.index_copy(1, spans.several, spans.sum(shares * states))


def draw_weights(shape: Shape, seed: int) -> Float[Tensor, " parameter"]:
    """torch's own initialization of Linear, Conv1d and LayerNorm, from a local generator."""
    generator = torch.Generator().manual_seed(seed)
    tensors, fan_in = [], 1
    for name, size in shape.sizes().items():
        if name.startswith("norm"):
            tensors.append(torch.full(size, float(name.endswith("weight"))))
            continue
        fan_in = size[0] if name.endswith("weight") else fan_in
        tensors.append((2 * torch.rand(size, generator=generator) - 1) / fan_in**0.5)
    return torch.cat([tensor.flatten() for tensor in tensors])


def draw_dropout(
    seed: int, step: int, n_targets: int, hidden: int
) -> Float[Tensor, "target hidden"]:
    """The dropout mask of a batch's hidden units, a function of seed and step alone."""
    state = int(np.random.SeedSequence([seed, step]).generate_state(1)[0])
    generator = torch.Generator().manual_seed(state)
    return (torch.rand(n_targets, hidden, generator=generator) >= DROPOUT).float() / (1 - DROPOUT)
