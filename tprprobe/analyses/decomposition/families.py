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

from tprprobe.analyses.decomposition.block_products import Block
from tprprobe.analyses.decomposition.interactions import bind_rows
from tprprobe.analyses.decomposition.pair_counts import Pairs, sizes, starts_of

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
Vectors = Float64[np.ndarray, "pair d_model"]


def make_block(
    name: str, part: int, parts: Sequence[Pairs], embedding: Embedding | None = None
) -> Block:
    """The columns of a block that no fit is needed for; rows are the pairs of all parts."""
    pairs = parts[part]
    if name == FILLER:
        basis = _indicator(pairs.filler_of, len(pairs.fillers))
    elif name == ROLE:
        basis = _indicator(pairs.role_of, len(pairs.roles))
    elif name == PAIR:
        basis = csr_array(eye_array(len(pairs), format="csr"))
    elif embedding is None:
        raise ValueError(f"the block {name} needs an embedding")
    elif name == STATIC:
        basis = embedding[pairs.filler_of]
    else:
        basis = spread(embedding[pairs.filler_of], pairs.role_of, len(pairs.roles))
    return Block(name, part, fill_rows(basis, part, parts))


def bound_block(factors: tuple[np.ndarray, np.ndarray], part: int, parts: Sequence[Pairs]) -> Block:
    """The columns f ⊗ r of the pairs of a part."""
    pairs = parts[part]
    basis = bind_rows(factors[0][pairs.filler_of], factors[1][pairs.role_of])
    return Block(BINDING, part, fill_rows(basis, part, parts))


def fill_rows(basis: Any, part: int, parts: Sequence[Pairs]) -> Any:
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


def _indicator(of: Int[np.ndarray, " pair"], n: int) -> csr_array:
    return csr_array((np.ones(len(of)), of, np.arange(len(of) + 1)), (len(of), n))


def spread(rows: Embedding, role_of: Int[np.ndarray, " pair"], roles: int) -> csr_array:
    """e(f) in the columns of the role: [pair, role · d_embedding]."""
    width = rows.shape[1]
    columns = role_of[:, None] * width + np.arange(width)
    starts = np.arange(0, rows.size + 1, width)
    return csr_array((rows.ravel(), columns.ravel(), starts), (len(rows), roles * width))


@dataclass(frozen=True, eq=False)
class Factors:
    """f of every filler, r of every role, and W: ``Σ f_j r_k W[j, k]`` is a pair's binding."""

    fillers: Float64[np.ndarray, "filler d_filler"]
    roles: Float64[np.ndarray, "role_ d_role"]
    readout: Float64[np.ndarray, "d_filler d_role d_model"]

    @property
    def ranks(self) -> tuple[int, int]:
        """d_filler and d_role."""
        return self.fillers.shape[1], self.roles.shape[1]

    def vectors(self, pairs: Pairs) -> Vectors:
        """W (f ⊗ r) of pairs, seen or not."""
        bound = bind_rows(self.fillers[pairs.filler_of], self.roles[pairs.role_of])
        return bound @ self.readout.reshape(bound.shape[1], -1)


@dataclass(frozen=True, eq=False)
class PartFit:
    """V of one part of a design: the coefficients of its blocks, by name, and what they are of."""

    pairs: Pairs
    width: int
    coefficients: Mapping[str, Float64[np.ndarray, "column d_model"]]
    factors: Factors | None = None
    embedding: Embedding | None = None

    def vectors_of(self, other: Pairs) -> Vectors:
        """V of pairs of the same fillers and roles, seen or not."""
        found = np.zeros((len(other), self.width))
        for name, of in self.coefficients.items():
            if name == FILLER:
                found += of[other.filler_of]
            elif name == ROLE:
                found += of[other.role_of]
            elif name == PAIR:
                known, at = self.pairs.find(other.codes)
                found[known] += of[at[known]]
            elif name != BINDING:
                found += make_block(name, 0, [other], self.embedding).basis @ of
        return found if self.factors is None else found + self.factors.vectors(other)

    @property
    def parameters(self) -> int:
        """Free numbers; of factors less the two changes of basis that change no V."""
        free = sum(of.size for name, of in self.coefficients.items() if name != BINDING)
        if (of := self.factors) is None:
            return free
        bound = of.fillers.size + of.roles.size + of.readout.size
        return free + bound - sum(n * n for n in of.ranks)


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
    def vectors(self) -> Vectors:
        """V of the pairs of the first part: a TPR, the fillers and roles of which have a constant dimension more."""
        return self.parts[0].vectors_of(self.pairs)

    def vectors_of(self, other: Pairs) -> Vectors:
        """V of other pairs of the first part's fillers and roles."""
        return self.parts[0].vectors_of(other)

    @property
    def factors(self) -> Factors | None:
        """Those of the first part."""
        return self.parts[0].factors

    @property
    def parameters(self) -> int:
        return sum(each.parameters for each in self.parts)

    @property
    def rank(self) -> str:
        """Dimensions of fillers × dimensions of roles, where these are limited; by part."""
        ranks = [each.factors.ranks if each.factors else (0, 0) for each in self.parts]
        limited = any(BINDING in part.coefficients for part in self.parts)
        return ", ".join("×".join(map(str, each)) for each in ranks) if limited else ""

    @property
    def dimensions(self) -> int:
        """The dimensions that its predictions can have: of its bindings, where these are limited."""
        width = len(self.bias)
        if self.factors is not None:
            return min(width, int(np.prod(self.factors.ranks)))
        return min(width, self.parameters // width)

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
