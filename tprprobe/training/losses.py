"""The losses of training: cross-entropy, or jiang's with label smoothing."""

import math

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def summed_loss(
    logits: Float[Tensor, "batch seq vocab"],
    labels: Int[Tensor, "batch seq"],
    pad: int,
    smoothing: float = 0.0,
) -> Float[Tensor, ""]:
    """The sum over labels ≠ pad of −log p, or with smoothing ε of KL(q ‖ p). Source: utils.py of jiang's code, q being 1 − ε on the label."""
    if not smoothing:
        logits, labels = logits.float().flatten(0, 1), labels.flatten()
        return F.cross_entropy(logits, labels, ignore_index=pad, reduction="sum")
    labels, logs = labels[labels != pad], logits[labels != pad].float().log_softmax(-1)
    right, wrong = 1.0 - smoothing, smoothing / (logits.shape[-1] - 2)
    entropy = -right * math.log(right) - smoothing * math.log(wrong)
    label_logs = logs.gather(1, labels[:, None])[:, 0]
    wrong_logs = logs.sum(-1) - label_logs - logs[:, pad]
    return -(right * label_logs + wrong * wrong_logs + entropy).sum()
