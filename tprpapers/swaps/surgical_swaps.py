"""Surgery on the states of questions: two symbols change places in the decomposition, not in the question.

The state of a token gains what a decomposition gives it in the counterfactual question, less what it gives
in the question itself. What the decomposition leaves out stays. If states are sums of bindings, the
model then gives the counterfactual's answer. Controls: as far in a random direction; and the same
fillers at wrong roles, the ones whose vectors are least like.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from torch import Tensor

from tprpapers.swaps.exchanges import ALL, BATCH, encode_swaps, tabulate
from tprpapers.worlds.mathematics.questions import Question
from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.data.dataset import Dataset
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.families import PAIR, PartFit, RoleFit
from tprprobe.estimators.bindings.pairs import Pairs
from tprprobe.extraction import extract
from tprprobe.interventions.batched_edits import Variant, score_variants
from tprprobe.interventions.decomposed_states import TokenStates, read_states
from tprprobe.interventions.placement import Edit, Place
from tprprobe.interventions.surgeries import find_wrong_roles
from tprprobe.models.protocol import Model
from tprprobe.site.patterns import layer_of

SURGERY, LAYERS = "surgery", "encoder.*.hidden"
DIRECTION, ROLE = "surgery, random direction", "surgery, wrong roles"
PLACES = (SURGERY, DIRECTION, ROLE)
Changes = dict[str, Float64[np.ndarray, "token d_model"]]


@dataclass(frozen=True)
class Texts(Dataset[Any]):
    """Texts with their answers."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, texts: Sequence[str], answers: Sequence[str]) -> "Texts":
        pairs = tuple(zip(texts, answers, strict=True))
        return cls("texts", "texts", 0, range(len(pairs)), pairs)

    def read(self, rows: range) -> Iterator[Any]:
        return (Question(*self.pairs[row], "texts") for row in rows)


def measure_surgeries(
    model: Model, swaps: pd.DataFrame, fits: Sequence[Decomposition], seed: int = 0
) -> pd.DataFrame:
    """One row per swap, site and control, and of several sites all at once: what the model makes of the
    two answers.

    Columns are those of :func:`tprpapers.swaps.exchanges.measure_swaps`; ``vectors`` is what the sites
    hold (``hidden``), ``at`` one of PLACES. Where sites are edited at once, the changed tokens are given
    in each what its own fit says; what the others make of them is the model's.

    Raises:
        InputError: counterfactuals of other lengths, or as of ``substitute``.
    """
    wrong = [displace(fit) for fit in fits]
    originals, counterfactuals = (
        list(read_states(model, Texts.of(swaps[text].tolist(), swaps[answer].tolist()), [*fits, *wrong]))
        for text, answer in (("text", "answer"), ("counterfactual", "predicted"))
    )  # fmt: skip
    if any(
        _lengths(original) != _lengths(counterfactual)
        for original, counterfactual in zip(originals, counterfactuals, strict=True)
    ):
        raise InputError("surgery needs counterfactuals of as many tokens as their questions")
    rng, n = np.random.default_rng(seed), len(fits)
    differences = [
        counterfactual.encoded - original.encoded
        for original, counterfactual in zip(originals, counterfactuals, strict=True)
    ]
    changes = [
        {SURGERY: difference, DIRECTION: turn(difference, rng), ROLE: displaced}
        for difference, displaced in zip(differences[:n], differences[n:], strict=True)
    ]
    surgeries = [(place, [i]) for i in range(n) for place in PLACES]
    surgeries += [(place, list(range(n))) for place in PLACES if n > 1]
    pairs, predicted = encode_swaps(model, swaps)
    tables = []
    for rows in pairs.by_length(BATCH):
        (source, answer), (_, counterfactual_answer) = (
            texts.batch(rows, model.config.pad) for texts in (pairs, predicted)
        )
        samples, batch_swaps = rows.tolist(), swaps.iloc[rows.tolist()]
        variants: list[Variant] = [
            {
                originals[i].site: _edit(originals[i], changes[i][place], samples, len(sites) > 1)
                for i in sites
            }
            for place, sites in surgeries
        ]
        device = model.device
        answers = [answer.to(device), counterfactual_answer.to(device)]
        scores = score_variants(model, source.to(device), answers, variants)
        for number, (place, sites) in enumerate(surgeries):
            layer = layer_of(originals[sites[0]].site) if len(sites) == 1 else None
            kind = originals[sites[0]].site.rpartition(".")[2]
            layer_index = ALL if layer is None else layer
            tables.append(tabulate(batch_swaps, scores, number, kind, layer_index, place=place))
    return pd.concat(tables, ignore_index=True)


def decompose_layers(model: Model, data: Dataset, roles: str, seed: int = 0) -> list[Decomposition]:
    """The decompositions of all layers' outputs in a model's encoder, fitted to these examples.

    Raises:
        InputError: as of :func:`tprprobe.decompose`, or a model without layers.
    """
    with TemporaryDirectory(prefix="tprprobe-surgery-") as folder:
        store = extract(model, data, LAYERS, Path(folder) / "store", 0, control=False)
        return [fit_scheme(store, site, roles, seed=seed) for site in store.sites]


def turn(
    change: Float64[np.ndarray, "token d_model"], rng: np.random.Generator
) -> Float64[np.ndarray, "token d_model"]:
    """Random directions, as long as the changes."""
    directions = rng.normal(size=change.shape)
    lengths = [np.linalg.norm(vectors, axis=1, keepdims=True) for vectors in (change, directions)]
    return directions * lengths[0] / lengths[1]


def displace(fit: Decomposition) -> Decomposition:
    """The fit in which every role has the vectors of the role whose vectors are least like its own."""
    bindings, wrong_roles = fit.fit.pairs, find_wrong_roles(fit)
    pairs = Pairs.product(bindings.fillers, bindings.roles)
    vectors = fit.bindings(
        [(filler, wrong_roles[str(role)]) for filler in bindings.fillers for role in bindings.roles]
    )
    binding_part = PartFit(pairs, vectors.shape[1], {PAIR: vectors})
    displaced_fit = RoleFit(
        "saturated", [binding_part, *fit.fit.parts[1:]], fit.fit.bias, fit.fit.penalties
    )
    return replace(fit, fits={fit.scheme.name: displaced_fit})


def _edit(
    states: TokenStates,
    change: Float64[np.ndarray, "token d_model"],
    samples: Sequence[int],
    is_pinned: bool,
) -> Edit:
    """The edit that adds a change; where it is pinned, to the state that the unedited model has there."""
    delta, positions = states.place(change, samples)
    base, _ = states.place(states.vectors, samples)

    def move(x: Tensor, place: Place) -> Tensor:
        return (base.to(x) if is_pinned else x) + delta.to(x)

    if positions is None:
        return Edit(move)
    return Edit(move, positions=delta.flatten(2).abs().amax(-1) > 0)


def _lengths(states: TokenStates) -> list[int]:
    """Where the tokens of every sample begin; empty where samples have one vector each."""
    return [] if states.starts is None else states.starts.tolist()
