"""The unbinding swap: the word that S_t gives when it is unbound with another position's vector.

The word at t is argmax W_x S_t u_t. If u_t' asks a plan for what u_t' stands for, S_t u_t' gives the word
of t'; if the plan holds only what is next, it gives the word of t.
Source: huang Eq. 3 and Sec. 2 (Ŝ_t as the TPR of the words to come).
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.interventions.edits import exchange, swap
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import PlacedEdit, intervene
from tprprobe.statistics import bootstrap_mean

EXCHANGED = {  # what is exchanged: the sites of it
    "nothing": (),
    "unbinding": ("word.unbinding",),
    "tpr": ("sentence.tpr",),
    "both": ("word.unbinding", "sentence.tpr"),
}


@torch.no_grad()
def swap_unbindings(
    model: Model,
    source: Float[Tensor, "sample d_features"],
    target: Int[Tensor, "sample target_seq"],
    seed: int = 0,
) -> pd.DataFrame:
    """One row per caption, position of its drawn pair and exchange: the word written there.

    ``target`` are captions, start symbol first, padded. Two positions with different words are drawn of
    every caption (those without are left out); its words are read by teacher forcing, as an exchange
    changes nothing that follows. Columns: caption, position, exchanged (nothing, unbinding, tpr, both);
    own, other (whether the word of this position, or of the other one, is written).
    """
    pairs = _draw(target[:, 1:], {model.config.pad, model.config.eos}, seed)
    captions = torch.tensor([caption for caption, _, _ in pairs])
    first, second = ([pair[side] for pair in pairs] for side in (1, 2))
    some, words = source[captions], target[captions]
    order = exchange([[t] for t in first], [[t] for t in second], target.shape[1] - 1)
    rows = torch.arange(len(pairs))
    parts = []
    for name, sites in EXCHANGED.items():
        edits: Mapping[str, PlacedEdit] = {site: swap(order) for site in sites}
        with intervene(model, edits):
            written = model(some, words[:, :-1]).argmax(-1)
        for here, there in ((first, second), (second, first)):
            own, other = words[rows, torch.tensor(here) + 1], words[rows, torch.tensor(there) + 1]
            said = written[rows, here]
            columns = {"caption": captions.tolist(), "position": here, "exchanged": name}
            columns |= {"own": said.eq(own).tolist(), "other": said.eq(other).tolist()}
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def _draw(words: Tensor, ends: set[int], seed: int) -> list[tuple[int, int, int]]:
    """Two random positions with different words of every caption that has some."""
    rng, pairs = np.random.default_rng(seed), []
    for caption, row in enumerate(words.tolist()):
        real = [at for at, word in enumerate(row) if word not in ends]
        for first in rng.permutation(real):
            others = [at for at in real if row[at] != row[first]]
            if others:
                pairs.append((caption, int(first), int(rng.choice(others))))
                break
    return pairs


def summarize_unbindings(rows: pd.DataFrame, seed: int = 0) -> pd.DataFrame:
    """One row per exchange: shares of own, other and neither word, with 95 % intervals over captions."""
    parts = []
    rows = rows.assign(neither=~(rows["own"] | rows["other"]))
    for name, group in rows.groupby("exchanged", sort=False):
        row: dict[str, Any] = {"exchanged": name, "captions": group["caption"].nunique()}
        for column in ("own", "other", "neither"):
            found = bootstrap_mean(
                group[column].to_numpy(float), group["caption"].to_numpy(), seed=seed
            )
            row |= found.columns(column)
        parts.append(row)
    return pd.DataFrame(parts)
