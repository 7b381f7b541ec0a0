"""The cost of discrete roles: loss and accuracy when every role distribution is one-hot."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float

from tprprobe.data.pairs import encode_texts
from tprprobe.interventions.edits import one_hot
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import find_sites, intervene
from tprprobe.statistics import bounds, divide, replicate_totals

WEIGHTS = "*.role_weights"
BATCH = 32
Texts = Sequence[tuple[str, str]]


def find_weights(model: Model) -> list[str]:
    """The sites of role distributions; empty for a model without a dictionary of roles."""
    return [name for name in find_sites(model) if name.endswith(WEIGHTS[1:])]


@contextmanager
def snapped(model: Model) -> Iterator[Model]:
    """A block in which all role distributions of the model are one-hot."""
    with intervene(model, {WEIGHTS: one_hot()}):
        yield model


def measure_snapping(model: Model, texts: Texts) -> pd.DataFrame:
    """Loss (nats a sub-word) and next-sub-word accuracy, as trained and with all roles one-hot.

    Columns: score, as_trained, one_hot, low and high of their difference (95 %, over texts).
    """
    sums = [_score_texts(model, texts)]
    with snapped(model):
        sums.append(_score_texts(model, texts))
    joined = np.concatenate(sums, axis=1)
    totals = np.concatenate([joined.sum(0)[None], replicate_totals(joined)])
    rows = []
    for column, score in ((0, "loss"), (1, "accuracy")):
        before, after = (divide(totals[:, column + k], totals[:, 2 + k]) for k in (0, 3))
        low, high = bounds((after - before)[1:], len(joined))
        values = {"as_trained": before[0], "one_hot": after[0], "low": low, "high": high}
        rows.append({"score": score, **values})
    return pd.DataFrame(rows)


@torch.no_grad()
def _score_texts(model: Model, texts: Texts) -> Float[np.ndarray, "text 3"]:
    """For every text: nats, sub-words predicted right, and sub-words."""
    pad = model.config.pad
    rows = []
    for start in range(0, len(texts), BATCH):
        batch = texts[start : start + BATCH]
        pairs = encode_texts(
            [a for a, _ in batch], [b for _, b in batch], require_vocabulary(model)
        )
        source, target = pairs.batch(torch.arange(len(batch)), pad)
        logits, gold = model(source, target[:, :-1]), target[:, 1:]
        is_target = gold != pad
        nats = torch.nn.functional.cross_entropy(logits.mT, gold, reduction="none") * is_target
        right = (logits.argmax(-1) == gold) & is_target
        rows.append(torch.stack([nats.sum(1), right.sum(1), is_target.sum(1)], dim=1))
    return torch.cat(rows).double().numpy()
