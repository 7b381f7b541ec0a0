"""The loss of jiang's training recipe."""

import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor


def smoothed_loss(
    logits: Float[Tensor, "batch seq vocab"],
    labels: Int[Tensor, "batch seq"],
    pad: int,
    smoothing: float = 0.1,
) -> Float[Tensor, ""]:
    """Mean over labels ≠ pad of KL(q ‖ p): q = 1 − ε on the label, ε / (V − 2) elsewhere, 0 on pad.

    Source: utils.py of jiang's code; from the cross-entropy with q it differs by q's entropy.
    """
    vocab = logits.shape[-1]
    logs = logits[labels != pad].log_softmax(-1)
    q = logs.new_full(logs.shape, smoothing / (vocab - 2))
    q[:, pad] = 0.0
    q.scatter_(1, labels[labels != pad][:, None], 1.0 - smoothing)
    return F.kl_div(logs, q, reduction="sum") / len(logs)
