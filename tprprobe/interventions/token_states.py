"""Vectors of the tokens of some examples at a site (or one a sample), and those that a decomposition gives."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float64, Int
from torch import Tensor

from tprprobe.analyses.decomposition import Decomposition
from tprprobe.data.dataset import Dataset
from tprprobe.data.mathematics.questions import Question
from tprprobe.errors import InputError
from tprprobe.extraction import extract
from tprprobe.models.protocol import Language
from tprprobe.site.patterns import side_of
from tprprobe.store.layout import SAMPLE, SIDES

TEXTS = "texts"


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
        """Values of some samples, [sample, position, *shape], and where there are tokens; [sample, *shape]
        and None where samples have one vector each.
        """
        if self.starts is None:
            found = torch.as_tensor(values[list(samples)], dtype=torch.float32)
            return found.reshape(len(samples), *self.shape), None
        lengths = np.diff(self.starts)[list(samples)]
        there = np.arange(lengths.max()) < lengths[:, None]
        found = np.zeros((*there.shape, values.shape[1]), np.float32)
        found[there] = np.concatenate([values[slice(*self.starts[i : i + 2])] for i in samples])
        return torch.as_tensor(found).reshape(*there.shape, *self.shape), torch.as_tensor(there)


def read_states(
    model: Language, data: Dataset, fits: Sequence[Decomposition]
) -> Iterator[TokenStates]:
    """The states at every fit's site while a model reads the examples; at a site of the decoder, while
    it reads what it has itself written.
    """
    sides = {side_of(fit.site) for fit in fits}
    if len(sides) > 1:
        raise InputError("fits of both sides: give those of encoder or decoder")
    target: Any = "reference" if sides == {SIDES[0]} else "generated"
    with TemporaryDirectory(prefix="tprprobe-states-") as folder:
        sites = [fit.site for fit in fits]
        store = extract(model, data, sites, Path(folder) / "store", 0, target, control=False)
        for fit in fits:
            of_samples = store.side(fit.site) not in SIDES
            if (fit.plan.unit == SAMPLE) != of_samples:
                raise InputError(
                    f"{fit.site}: only vectors of tokens, or of samples that have one each, are replaced in "
                    "a model: decompose a site with the unit that it has"
                )
            units = fit.plan.read(store, fit.site, fewest=1)
            sample, shape = units.tokens["sample"].to_numpy(), store.specs[fit.site].shape
            starts = None if of_samples else np.searchsorted(sample, np.arange(len(data) + 1))
            vectors = store.read(fit.site).reshape(len(units), -1).astype(np.float64)
            yield TokenStates(fit, shape, starts, vectors, fit.encode(units.tokens))


@dataclass(frozen=True)
class Texts(Dataset[Any]):
    """Texts with their answers."""

    pairs: tuple[tuple[str, str], ...]

    @classmethod
    def of(cls, texts: Sequence[str], answers: Sequence[str]) -> "Texts":
        pairs = tuple(zip(texts, answers, strict=True))
        return cls(TEXTS, TEXTS, 0, range(len(pairs)), pairs)

    def read(self, rows: range) -> Iterator[Any]:
        return (Question(*self.pairs[row], TEXTS) for row in rows)
