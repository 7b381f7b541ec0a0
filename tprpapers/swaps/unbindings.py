"""The unbinding swap: the word that S_t gives when it is unbound with another position's vector.

The word at t is argmax W_x S_t u_t. If u_t' asks a plan for what u_t' stands for, S_t u_t' gives the word
of t'; if the plan holds only what is next, it gives the word of t.
Source: huang Eq. 3 and Sec. 2 (Ŝ_t as the TPR of the words to come).
"""

import os
from collections.abc import Mapping
from functools import partial

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprpapers.huang.unbinding.retrievals import EXCHANGES, ROWS, summarize_unbindings
from tprpapers.kinds import UNBINDINGS
from tprpapers.swaps.substitutions import own_captions
from tprpapers.swaps.swap_recipes import SwapRecipe
from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.files.runs import KeptRun, keep_table, kept
from tprprobe.interventions.edits import exchange, swap
from tprprobe.interventions.folders import measure_parts, open_run
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import PlacedEdit, find_sites, intervene

SITES = ((), ("word.unbinding",), ("sentence.tpr",), ("word.unbinding", "sentence.tpr"))
EXCHANGED = dict(zip(EXCHANGES, SITES, strict=True))
TABLE = UNBINDINGS.file
AT_ONCE = 500  # captions of a part


def run_unbindings(
    model: Model,
    data: Dataset,
    recipe: SwapRecipe,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
) -> pd.DataFrame:
    """The table of ``summarize_unbindings`` of the captions that a TPGN writes greedily of n images.

    ``out`` is a new folder: unbindings.csv, unbindings.parquet (every word) and, until it is done, the
    parts of the run, which goes on with ``resume``.

    Raises:
        InputError: a model without unbinding vectors, a folder of another run.
    """
    if "word.unbinding" not in find_sites(model):
        raise InputError(f"{model.name} unbinds no words: swaps = ['unbinding'] is of a TPGN")
    with kept(out) as folder:
        return keep_table(
            open_run(folder, model, data, recipe, resume),
            (ROWS, TABLE),
            partial(_measure_parts, model, data, recipe.seed),
            partial(summarize_unbindings, seed=recipe.seed),
        )


def _measure_parts(model: Model, data: Dataset, seed: int, run: KeptRun) -> pd.DataFrame:
    def measure(start: int) -> pd.DataFrame:
        pairs = own_captions(model, data[start : start + AT_ONCE])
        source, target = pairs.batch(torch.arange(len(pairs)), model.config.pad)
        rows = swap_unbindings(model, source, target, seed)
        return rows.assign(caption=rows["caption"] + start)

    starts = range(0, len(data), AT_ONCE)
    return measure_parts(run, [partial(measure, start) for start in starts], "swapping")


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
    changes nothing that follows. Columns: caption, position, steps (from this position to the other one:
    below 0, that word was written before), exchanged (nothing, unbinding, tpr, both); own, other
    (whether the word of this position, or of the other one, is written).
    """
    pairs = _draw(target[:, 1:], {model.config.pad, model.config.eos}, seed)
    captions = torch.tensor([caption for caption, _, _ in pairs])
    positions_a, positions_b = ([pair[side] for pair in pairs] for side in (1, 2))
    samples, words = source[captions], target[captions]
    order = exchange([[t] for t in positions_a], [[t] for t in positions_b], target.shape[1] - 1)
    rows = torch.arange(len(pairs))
    tables = []
    for name, sites in EXCHANGED.items():
        edits: Mapping[str, PlacedEdit] = {site: swap(order) for site in sites}
        with intervene(model, edits):
            predictions = model(samples, words[:, :-1]).argmax(-1)
        for positions, partner_positions in (
            (positions_a, positions_b),
            (positions_b, positions_a),
        ):
            own_words, partner_words = (
                words[rows, torch.tensor(positions) + 1],
                words[rows, torch.tensor(partner_positions) + 1],
            )
            word = predictions[rows, positions]
            columns = {"caption": captions.tolist(), "position": positions, "exchanged": name}
            columns["steps"] = [t - s for s, t in zip(positions, partner_positions, strict=True)]
            columns |= {
                "own": word.eq(own_words).tolist(),
                "other": word.eq(partner_words).tolist(),
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _draw(words: Tensor, ends: set[int], seed: int) -> list[tuple[int, int, int]]:
    """Two random positions with different words of every caption that has some."""
    rng, pairs = np.random.default_rng(seed), []
    for caption, row in enumerate(words.tolist()):
        real = [position for position, word in enumerate(row) if word not in ends]
        for position in rng.permutation(real):
            partners = [partner for partner in real if row[partner] != row[position]]
            if partners:
                pairs.append((caption, int(position), int(rng.choice(partners))))
                break
    return pairs
