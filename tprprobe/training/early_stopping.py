"""When a run stops before its last step, as its held-out score no longer gets better, and which model it keeps."""

from collections.abc import Sequence

MARGIN = 0.01  # a loss that falls by a smaller share counts as no better

Score = tuple[float, float]  # exact match and loss on held-out pairs


def has_stalled(scores: Sequence[Score], patience: int | None) -> bool:
    """Whether the score has not got better in so many evaluations: no more exact matches and, while some answers are wrong,
    no lower loss; never without ``patience``.
    """
    best, best_match, best_loss = 0, -1.0, float("inf")
    for i, (match, loss) in enumerate(scores):
        if match > best_match or (match < 1 and loss < (1 - MARGIN) * best_loss):
            best, best_loss = i, loss
        best_match = max(best_match, match)
    return patience is not None and len(scores) - 1 - best >= patience


def is_best(scores: Sequence[Score]) -> bool:
    """Whether the last score is better than all before: more exact matches, or as many and a lower loss."""
    *earlier, (match, loss) = scores
    return all((match, -loss) > (before, -lost) for before, lost in earlier)
