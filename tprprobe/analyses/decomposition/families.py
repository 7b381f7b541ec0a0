"""Nested families of fits: what a pair's vector V[f, r] may be, block by block, each with its penalty.

roles      c_r: a bag of roles
bag        a_f: a bag of fillers
additive   a_f + c_r: no binding
factored   + W (f ⊗ r), few dimensions: systematic binding, also of pairs never seen together
saturated  + a free vector a pair: the most that these roles and fillers explain
product    W (f ⊗ r) alone, the model of McCoy et al. 2019
operator   U e(f) + c_r + A_r e(f), e(f) given: binding that extends to fillers never seen

Each of bag, additive, factored, saturated contains the one before: with an infinite penalty on its last
block it is that one. Main effects are a TPR, too, whose fillers and roles have a constant dimension.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float64, Int
from scipy.sparse import csr_array, eye_array, issparse, vstack

from tprprobe.analyses.decomposition.block_products import Block, sizes
from tprprobe.analyses.decomposition.designs import (
    Occurrences,
    Pairs,
    count_pairs,
    occurring,
    starts_of,
)

BAG, ADDITIVE, FACTORED, SATURATED = "bag", "additive", "factored", "saturated"
ROLES, PRODUCT, OPERATOR = "roles", "product", "operator"
FAMILIES = (ROLES, BAG, ADDITIVE, FACTORED, SATURATED, PRODUCT, OPERATOR)
BELOW = {ADDITIVE: BAG, FACTORED: ADDITIVE, SATURATED: FACTORED}  # "": the mean
FILLER, ROLE, BINDING = "filler", "role", "binding"
PAIR, STATIC, ACTED = "pair", "static", "acted"
BLOCKS: Mapping[str, tuple[str, ...]] = {
    ROLES: (ROLE,),
    BAG: (FILLER,),
    ADDITIVE: (FILLER, ROLE),
    FACTORED: (FILLER, ROLE, BINDING),
    SATURATED: (FILLER, ROLE, BINDING, PAIR),
    PRODUCT: (BINDING,),
    OPERATOR: (STATIC, ROLE, ACTED),
}

Embedding = Float64[np.ndarray, "filler d_embedding"]
Factor = Float64[np.ndarray, "_symbol _rank"]
Bases = tuple[Factor, Factor]  # f of every filler, r of every role
Vectors = Float64[np.ndarray, "pair d_model"]


def make_block(
    name: str,
    part: int,
    parts: Sequence[Pairs],
    embedding: Embedding | None = None,
    bases: Bases | None = None,
) -> Block:
    """The columns of a block of a part's pairs; its rows are the pairs of all parts."""
    pairs = parts[part]
    if name == FILLER:
        basis = _spread(np.ones((len(pairs), 1)), pairs.filler_of, len(pairs.fillers))
    elif name == ROLE:
        basis = _spread(np.ones((len(pairs), 1)), pairs.role_of, len(pairs.roles))
    elif name == PAIR:
        basis = csr_array(eye_array(len(pairs), format="csr"))
    elif name == BINDING and bases is not None:
        basis = bind_rows(bases[0][pairs.filler_of], bases[1][pairs.role_of])
    elif embedding is None:
        raise ValueError(f"the block {name} needs an embedding")
    elif name == STATIC:
        basis = embedding[pairs.filler_of]
    else:
        basis = _spread(embedding[pairs.filler_of], pairs.role_of, len(pairs.roles))
    return Block(name, part, _fill_rows(basis, part, parts))


def _spread(rows: Float64[np.ndarray, "pair d"], of: Int[np.ndarray, " pair"], n: int) -> csr_array:
    """Rows of numbers in the columns of their symbol of n: [pair, symbol · d]."""
    width = rows.shape[1]
    columns = of[:, None] * width + np.arange(width)
    starts = np.arange(0, rows.size + 1, width)
    return csr_array((rows.ravel(), columns.ravel(), starts), (len(rows), n * width))


def bind_rows(
    one: Float64[np.ndarray, "pair d_filler"], other: Float64[np.ndarray, "pair d_role"]
) -> Float64[np.ndarray, "pair bound"]:
    """f ⊗ r, row by row."""
    return (one[:, :, None] * other[:, None, :]).reshape(len(one), one.shape[1] * other.shape[1])


def _fill_rows(basis: Any, part: int, parts: Sequence[Pairs]) -> Any:
    """A basis with rows of 0 added for the pairs of the other parts."""
    if len(parts) == 1:
        return basis
    rows = starts_of(parts)
    if issparse(basis):
        zeros = [csr_array((n, sizes(basis)[1])) for n in (rows[part], rows[-1] - rows[part + 1])]
        return csr_array(vstack([zeros[0], basis, zeros[1]], format="csr"))
    found = np.zeros((rows[-1], sizes(basis)[1]))
    found[rows[part] : rows[part + 1]] = basis
    return found


@dataclass(frozen=True, eq=False)
class PartFit:
    """V of one part of a design: the coefficients of its blocks, by name, and what they are of."""

    pairs: Pairs
    width: int
    coefficients: Mapping[str, Float64[np.ndarray, "column d_model"]]
    bases: Bases | None = None
    embedding: Embedding | None = None

    def vectors_of(self, other: Pairs) -> Vectors:
        """V of pairs of the same fillers and roles, seen or not."""
        found, rows = (
            np.zeros((len(other), self.width)),
            {FILLER: other.filler_of, ROLE: other.role_of},
        )
        for name, of in self.coefficients.items():
            if name in rows:
                found += of[rows[name]]
            elif name == PAIR:
                known, at = self.pairs.find(other.codes)
                found[known] += of[at[known]]
            else:
                found += make_block(name, 0, [other], self.embedding, self.bases).basis @ of
        return found

    def encode(self, members: csr_array, found: Sequence[Occurrences]) -> Vectors:
        """What the part gives to units, V of the pairs of their tokens added up; a pair with −1 adds nothing."""
        pairs = occurring(self.pairs.fillers, self.pairs.roles, found)
        return count_pairs(members, pairs, found) @ self.vectors_of(pairs)

    @property
    def ranks(self) -> tuple[int, int]:
        """The dimensions of fillers and of roles that are bound."""
        return (self.bases[0].shape[1], self.bases[1].shape[1]) if self.bases else (0, 0)

    @property
    def parameters(self) -> int:
        """Free numbers; of factors less the two changes of basis that change no V."""
        free = sum(of.size for of in self.coefficients.values())
        bound = sum(of.size for of in self.bases or ())
        return free + bound - sum(n * n for n in self.ranks)


@dataclass(frozen=True, eq=False)
class RoleFit:
    """A fit: the parts of its design, and the intercept b."""

    family: str
    parts: Sequence[PartFit]
    bias: Float64[np.ndarray, " d_model"]
    penalties: Mapping[str, float]

    @property
    def pairs(self) -> Pairs:
        """The pairs of the first part."""
        return self.parts[0].pairs

    @property
    def parameters(self) -> int:
        return sum(each.parameters for each in self.parts)

    @property
    def rank(self) -> str:
        """Dimensions of fillers × dimensions of roles, where these are limited; by part."""
        limited = any(BINDING in part.coefficients for part in self.parts)
        ranks = ("×".join(map(str, each.ranks)) for each in self.parts)
        return ", ".join(ranks) if limited else ""

    @property
    def dimensions(self) -> int:
        """The dimensions that its predictions can have: of its bindings, where these are limited."""
        width, first = len(self.bias), self.parts[0]
        return min(width, int(np.prod(first.ranks)) if first.bases else self.parameters // width)

    def predict(self, counts: csr_array) -> Float64[np.ndarray, "unit d_model"]:
        """X V + b of counts of the pairs of all parts; only V of pairs that these have is made."""
        held = np.unique(counts.indices)
        return csr_array(counts[:, held]) @ self._rows(held) + self.bias

    @property
    def table(self) -> Vectors:
        """V of the pairs of all parts."""
        return self._rows(np.arange(sum(len(each.pairs) for each in self.parts)))

    def _rows(self, numbers: Int[np.ndarray, " pair"]) -> Vectors:
        """Rows of ``table``, rising."""
        starts = starts_of([each.pairs for each in self.parts])
        of_part = np.split(numbers, np.searchsorted(numbers, starts[1:-1]))
        rows = [
            part.vectors_of(part.pairs.take(each - start))
            for part, each, start in zip(self.parts, of_part, starts, strict=False)
        ]
        return np.concatenate(rows)
