"""Behavior when a model's states are replaced by their decompositions: does it need what they leave out?"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Literal

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from tprprobe.analyses.decomposition import Decomposition
from tprprobe.data import as_data
from tprprobe.data.batching import Ragged
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_examples
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.interventions.batched_edits import score_variants
from tprprobe.interventions.edits import patch
from tprprobe.interventions.placement import Edit
from tprprobe.interventions.surgeries import draw_directions
from tprprobe.models.answers import write_answers
from tprprobe.models.protocol import Language, Readable, require_head, require_vocabulary
from tprprobe.site.attachment import Attached
from tprprobe.site.patterns import side_of
from tprprobe.statistics import bootstrap_mean, wilson
from tprprobe.store.layout import SAMPLE, SIDES

BATCH = 64
UNEDITED, DECOMPOSITION, MEAN, RANDOM = "unedited", "decomposition", "mean", "random"
REMAINDER, AS_MUCH = "remainder", "random as much"
NAMES = (UNEDITED, DECOMPOSITION, MEAN, RANDOM, REMAINDER, AS_MUCH)
Vectors = Float64[np.ndarray, "token d_model"]


@dataclass(frozen=True, eq=False)
class TokenStates:
    """The vectors of all tokens at a site and their decompositions, a row a token, samples in one piece;
    a row a sample where ``starts``, the first rows of samples, is None.
    """

    fit: Decomposition
    shape: tuple[int, ...]
    starts: Int[np.ndarray, " sample_and_1"] | None
    vectors: Float64[np.ndarray, "token d_model"]
    encoded: Float64[np.ndarray, "token d_model"]

    @property
    def site(self) -> str:
        return self.fit.site

    def place(
        self, values: Float64[np.ndarray, "token d_model"], samples: Sequence[int]
    ) -> tuple[Tensor, Bool[Tensor, "sample position"] | None]:
        """Values of some samples, and where there are tokens (None where samples have one vector each)."""
        if self.starts is None:
            padded = torch.as_tensor(values[list(samples)], dtype=torch.float32)
            return padded.reshape(len(samples), *self.shape), None
        lengths = np.diff(self.starts)[list(samples)]
        is_token = np.arange(lengths.max()) < lengths[:, None]
        padded = np.zeros((*is_token.shape, values.shape[1]), np.float32)
        padded[is_token] = np.concatenate([values[slice(*self.starts[i : i + 2])] for i in samples])
        values_of_tokens = torch.as_tensor(padded).reshape(*is_token.shape, *self.shape)
        return values_of_tokens, torch.as_tensor(is_token)


def read_states(
    model: Language, data: Dataset, fits: Sequence[Decomposition]
) -> Iterator[TokenStates]:
    """The states at every fit's site while a model reads the examples; at a site of the decoder, while
    it reads what it has itself written.
    """
    sides = {side_of(fit.site) for fit in fits}
    if len(sides) > 1:
        raise InputError("fits of both sides: give those of encoder or decoder")
    target: Literal["reference", "generated"] = "reference" if sides == {SIDES[0]} else "generated"
    with TemporaryDirectory(prefix="tprprobe-states-") as folder:
        sites = [fit.site for fit in fits]
        store = extract(model, data, sites, Path(folder) / "store", 0, target, control=False)
        for fit in fits:
            of_samples = store.side(fit.site) not in SIDES
            if (fit.plan.unit == SAMPLE) != of_samples:
                raise InputError(
                    f"{fit.site}: a model can replace vectors of tokens, or the only vector of a sample: "
                    "decompose the site with the unit that it has"
                )
            units = fit.plan.read(store, fit.site, min_documents=1)
            sample, shape = units.tokens["sample"].to_numpy(), store.specs[fit.site].shape
            starts = None if of_samples else np.searchsorted(sample, np.arange(len(data) + 1))
            vectors = store.read(fit.site).reshape(len(units), -1).astype(np.float64)
            yield TokenStates(fit, shape, starts, vectors, fit.encode(units.tokens))


def substitute(
    model: Readable,
    data: Dataset | str | os.PathLike[str] | Iterable[str],
    fit: Decomposition | Sequence[Decomposition],
    seed: int = 0,
) -> pd.DataFrame:
    """Answers of a model while the vectors of a fit's site are replaced (those of all fits' sites at once).

    Args:
        model: The model, with a head; not an attached module, whose decoder :func:`decompose` takes.
        data: Examples with answers, or what :func:`load_data` makes data of.
        fit: One decomposition, or one per site. At a site of the decoder, states are replaced while the model reads its own
            answer.
        seed: Seed of random directions.

    Returns:
        One row per edit: ``unedited``; ``decomposition`` (the vectors that the fit gives), ``mean`` and ``random`` (the vectors,
        moved as far in a random direction), which show if the decomposition is enough; ``remainder`` (the vectors without
        it) and ``random as much``, which show if it is needed. See [columns](decomposition.md#columns-of-substitutions).

    Raises:
        InputError: An attached module, a fit of samples at a site of tokens, or of roles that the data do not have.

    Source: McCoy et al. 2019, substitution accuracy; Elazar et al. 2021, amnesic probing.

    Examples:
        >>> tp.substitute(model, data[:2], fit)["edit"].to_list()
        ['unedited', 'decomposition', 'mean', 'random', 'remainder', 'random as much']
    """
    if isinstance(model, Attached) and not isinstance(model, Language):
        raise InputError(f"{model.name} is an attached module: pass decoder= to tp.decompose")
    data = as_data(data)
    fits = [fit] if isinstance(fit, Decomposition) else list(fit)
    if not fits:
        raise InputError("no fit to substitute: give one or several of tp.decompose")
    states = list(read_states(require_head(model, "a substitution"), data, fits))
    vocabulary, pad = require_vocabulary(model), model.config.pad
    pairs = encode_examples(list(data), vocabulary)
    written_ids = write_answers(model, pairs, np.zeros(len(pairs), bool))
    own_answers, ends = Ragged.from_lists(written_ids), pairs.target.offsets.tolist()
    reference = (pairs.target.values[slice(*ends[i : i + 2])].tolist() for i in range(len(pairs)))
    right = np.array(
        [list(ids)[: len(t)] == t for ids, t in zip(written_ids, reference, strict=True)]
    )
    rng, of_source = np.random.default_rng(seed), side_of(fits[0].site) == SIDES[0]
    replaced = [(item, replace_vectors(item.vectors, item.encoded, rng)) for item in states]
    shape = len(NAMES), len(pairs)
    scores_by_name = {name: np.zeros(shape) for name in ("right", "same", "chance")}
    for rows in pairs.by_length(BATCH, model):
        source, target = (item.to(model.device) for item in pairs.batch(rows, pad))
        own_targets, row_index = own_answers.padded(rows, pad).to(model.device), rows.numpy()
        edits: dict[str, dict[str, Edit]] = {name: {} for name in NAMES}
        for item, by_name in replaced:
            for name, vectors in by_name.items():
                values, is_token = item.place(vectors, rows.tolist())
                edits[name][item.site] = patch(values, positions=is_token)
        targets = [target, own_targets] if of_source else [own_targets]
        scores = score_variants(model, source, targets, [edits[name] for name in NAMES])
        repeats_answer = scores.is_written[:, -1].numpy()
        scores_by_name["same"][:, row_index] = repeats_answer
        scores_by_name["right"][:, row_index] = (
            scores.is_written[:, 0].numpy() if of_source else repeats_answer & right[row_index]
        )
        scores_by_name["chance"][:, row_index] = scores.log_probability[:, -1].exp().numpy()
    return pd.DataFrame([_row(name, i, scores_by_name) for i, name in enumerate(NAMES)])


def replace_vectors(
    vectors: Vectors, encoded: Vectors, rng: np.random.Generator
) -> dict[str, Vectors]:
    """What takes the place of vectors that a decomposition gives as ``encoded``, by the name of the edit."""
    middle = encoded.mean(0)
    return {
        DECOMPOSITION: encoded,
        MEAN: np.broadcast_to(vectors.mean(0), vectors.shape),
        RANDOM: vectors + draw_directions(encoded - vectors, rng),
        REMAINDER: vectors - encoded + middle,
        AS_MUCH: vectors + draw_directions(encoded - middle, rng),
    }


def _row(name: str, i: int, values: Mapping[str, np.ndarray]) -> Mapping[str, object]:
    n = values["right"].shape[1]
    row = {"edit": name, "n": n}
    row |= wilson(int(values["right"][i].sum()), n).columns("accuracy")
    row |= wilson(int(values["same"][i].sum()), n).columns("agreement")
    return row | bootstrap_mean(values["chance"][i], np.arange(n)).columns("probability")
