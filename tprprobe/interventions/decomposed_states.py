"""Behaviour when a model's states are replaced by their decompositions: does it need what they leave out?"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tprprobe.analyses.decomposition import Decomposition
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.errors import InputError
from tprprobe.gold import join
from tprprobe.gold.expressions import COLUMNS
from tprprobe.interventions.edits import patch
from tprprobe.interventions.variants import score_variants
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import capture, find_sites
from tprprobe.site.patterns import side_of
from tprprobe.statistics import bootstrap_mean, wilson
from tprprobe.store.layout import SAMPLE

BATCH, LONGEST = 64, 64
UNEDITED, DECOMPOSITION, MEAN, RANDOM = "unedited", "decomposition", "mean", "random"


def substitute(
    model: Model, data: Dataset, fit: Decomposition | Sequence[Decomposition], seed: int = 0
) -> pd.DataFrame:
    """What a model answers when the vectors of the fit's site (of all fits' sites at once) are replaced.

    One row per ``edit``: unedited; decomposition (the vectors that the fit gives to the tokens, or to the
    samples where the site has one vector each); mean (their mean, everywhere); random (the vectors, moved as
    far as the decomposition is from them, in a random direction).
    accuracy     share of examples whose answer is written greedily, with Wilson's 95 % interval
    agreement    share of the model's own unedited answers that are still written
    probability  of the model's own answer, its mean over examples with an interval over them
    Source: McCoy et al. 2019, substitution accuracy.

    Raises:
        InputError: a fit of samples at a site of tokens, or of target tokens, or of roles that the data
            do not tell.
    """
    fits = [fit] if isinstance(fit, Decomposition) else list(fit)
    for each in fits:
        _check(model, each)
    vocabulary, generator = require_vocabulary(model), torch.Generator().manual_seed(seed)
    pairs, pad = encode_pairs(data, vocabulary), model.config.pad
    texts = [str(example.source) for example in data]
    names = (UNEDITED, DECOMPOSITION, MEAN, RANDOM)
    found = {name: np.zeros((len(names), len(pairs))) for name in ("right", "same", "chance")}
    for rows in pairs.by_length(BATCH):
        source, target = (each.to(model.device) for each in pairs.batch(rows, pad))
        own = generate(model, source, LONGEST)
        own = torch.cat([own.new_full((len(own), 1), model.config.sos), own], 1)
        with torch.no_grad(), capture(model, [each.site for each in fits]) as acts:
            model.encode(source)
        table = _table(source, pad, vocabulary.symbols, [texts[i] for i in rows.tolist()], fits)
        edits: dict[str, dict[str, Any]] = {name: {} for name in names}
        for each in fits:
            for name, values in _states(each, table, acts[each.site], generator).items():
                chosen = {} if _of_samples(each) else {"positions": source != pad}
                edits[name][each.site] = patch(values, **chosen)
        scores = score_variants(model, source, [target, own], [edits[name] for name in names])
        at = rows.numpy()
        found["right"][:, at] = scores.written[:, 0].numpy()
        found["same"][:, at] = scores.written[:, 1].numpy()
        found["chance"][:, at] = scores.log_probability[:, 1].exp().numpy()
    return pd.DataFrame([_row(name, i, found) for i, name in enumerate(names)])


def _of_samples(fit: Decomposition) -> bool:
    return fit.plan.unit == SAMPLE


def _check(model: Model, fit: Decomposition) -> None:
    site = find_sites(model).get(fit.site)
    has_samples = site is not None and "seq" not in site.axes
    if _of_samples(fit) != has_samples or side_of(fit.site) != "source":
        raise InputError(
            f"{fit.site}: only vectors of source tokens, or of samples that have one each, are replaced in a "
            "model: decompose a site of the encoder with the unit that it has"
        )


def _row(name: str, i: int, found: Mapping[str, np.ndarray]) -> dict[str, Any]:
    n = found["right"].shape[1]
    chance = bootstrap_mean(found["chance"][i], np.arange(n))
    return (
        {"edit": name, "n": n}
        | wilson(int(found["right"][i].sum()), n).columns("accuracy")
        | wilson(int(found["same"][i].sum()), n).columns("agreement")
        | chance.columns("probability")
    )


def _table(
    source: Tensor,
    pad: int,
    symbols: Sequence[str],
    texts: Sequence[str],
    fits: Sequence[Decomposition],
) -> pd.DataFrame:
    """The tokens of a batch, one row each, with the gold columns that roles are made of."""
    sample, position = (each.cpu().numpy() for each in torch.nonzero(source != pad, as_tuple=True))
    token = np.array([symbols[i] for i in source.cpu().numpy()[sample, position]], object)
    question = np.array(texts, object)[sample]
    columns = {"side": "source", "sample": sample, "position": position}
    table = pd.DataFrame(columns | {"token": token, "question": question, "filler": token})
    wanted: set[str] = set().union(*(each.scheme.columns for each in fits))
    return join(table) if wanted & set(COLUMNS) else table


def _states(
    fit: Decomposition, table: pd.DataFrame, true: Tensor, generator: torch.Generator
) -> dict[str, Tensor]:
    """What takes the place of the vectors of a batch."""
    by = ("sample",) if _of_samples(fit) else ("sample", "position")
    where = table[list(by)].drop_duplicates()
    at = tuple(torch.tensor(where[name].to_numpy(copy=True)) for name in by)
    encoded, vectors = true.cpu().clone(), true.cpu()
    encoded[at] = torch.as_tensor(fit.encode(table)).to(encoded).reshape(vectors[at].shape)
    mean = vectors[at].mean(0).expand_as(vectors)
    drawn = torch.randn(vectors.shape, generator=generator).to(vectors)
    axes = tuple(range(len(by), vectors.ndim))
    far, length = (
        each.square().sum(axes, keepdim=True).sqrt() for each in (encoded - vectors, drawn)
    )
    random = vectors + drawn * far / length
    return {DECOMPOSITION: encoded, MEAN: mean, RANDOM: random}
