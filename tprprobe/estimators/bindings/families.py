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

from tprprobe.estimators.bindings.block_products import Block, shape_of
from tprprobe.estimators.bindings.pairs import Occurrences, Pairs, count_pairs, starts_of

BAG, ADDITIVE, FACTORED, SATURATED = "bag", "additive", "factored", "saturated"
ROLES, PRODUCT, OPERATOR = "roles", "product", "operator"
FAMILIES = (ROLES, BAG, ADDITIVE, FACTORED, SATURATED, PRODUCT, OPERATOR)
BELOW = {ADDITIVE: BAG, FACTORED: ADDITIVE, SATURATED: FACTORED}  # others: the mean
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

ROUNDING = 1e-6  # of the largest singular value of V

Embedding = Float64[np.ndarray, "filler d_embedding"]
Factor = Float64[np.ndarray, "_symbol _rank"]
Bases = tuple[Factor, Factor]  # f of every filler, r of every role
Vectors = Float64[np.ndarray, "pair d_model"]


def make_block(
    name: str,
    part_id: int,
    pairs_by_part: Sequence[Pairs],
    embedding: Embedding | None = None,
    bases: Bases | None = None,
) -> Block:
    """The columns of a block of a part's pairs; its rows are the pairs of all parts."""
    pairs = pairs_by_part[part_id]
    if name == FILLER:
        basis = _spread(np.ones((len(pairs), 1)), pairs.filler_of, len(pairs.fillers))
    elif name == ROLE:
        basis = _spread(np.ones((len(pairs), 1)), pairs.role_of, len(pairs.roles))
    elif name == PAIR:
        basis = csr_array(eye_array(len(pairs), format="csr"))
    elif name == BINDING and bases is not None:
        f, r = bases[0][pairs.filler_of], bases[1][pairs.role_of]
        basis = (f[:, :, None] * r[:, None, :]).reshape(len(pairs), f.shape[1] * r.shape[1])
    elif embedding is None:
        raise ValueError(f"the block {name} needs an embedding")
    elif name == STATIC:
        basis = embedding[pairs.filler_of]
    else:
        basis = _spread(embedding[pairs.filler_of], pairs.role_of, len(pairs.roles))
    return Block(name, part_id, _pad_rows(basis, part_id, pairs_by_part))


def _spread(
    rows: Float64[np.ndarray, "pair d"], symbol: Int[np.ndarray, " pair"], n_symbols: int
) -> csr_array:
    """Rows of numbers in the columns of their symbol: [pair, symbol · d]."""
    width = rows.shape[1]
    columns = symbol[:, None] * width + np.arange(width)
    starts = np.arange(0, rows.size + 1, width)
    return csr_array((rows.ravel(), columns.ravel(), starts), (len(rows), n_symbols * width))


def _pad_rows(basis: Any, part_id: int, pairs_by_part: Sequence[Pairs]) -> Any:
    """A basis with rows of 0 added for the pairs of the other parts."""
    if len(pairs_by_part) == 1:
        return basis
    starts, width = starts_of(pairs_by_part), shape_of(basis)[1]
    n_above, n_below = starts[part_id], starts[-1] - starts[part_id + 1]
    above, below = csr_array((n_above, width)), csr_array((n_below, width))
    padded = vstack([above, csr_array(basis), below], format="csr")
    return csr_array(padded) if issparse(basis) else padded.toarray()


@dataclass(frozen=True, eq=False)
class PartFit:
    """V of one part of a design: the coefficients of its blocks, by name, and what they are of."""

    pairs: Pairs
    width: int
    coefficients: dict[str, Float64[np.ndarray, "column d_model"]]
    bases: Bases | None = None
    embedding: Embedding | None = None

    def predict(self, pairs: Pairs) -> Vectors:
        """V of pairs of the same fillers and roles, seen or not."""
        vectors = np.zeros((len(pairs), self.width))
        for name, coefficients in self.coefficients.items():
            if name == PAIR:
                is_seen, index = self.pairs.lookup(pairs.codes)
                vectors[is_seen] += coefficients[index[is_seen]]
            else:
                block = make_block(name, 0, [pairs], self.embedding, self.bases)
                vectors += block.basis @ coefficients
        return vectors

    def encode(self, membership: csr_array, occurrences: Sequence[Occurrences]) -> Vectors:
        """What the part gives to units, V of the pairs of their tokens added up; a pair with −1 adds nothing."""
        pairs = Pairs.occurring(self.pairs.fillers, self.pairs.roles, occurrences)
        return count_pairs(membership, pairs, occurrences) @ self.predict(pairs)

    @property
    def ranks(self) -> tuple[int, int]:
        """The dimensions of fillers and of roles that are bound."""
        return (self.bases[0].shape[1], self.bases[1].shape[1]) if self.bases else (0, 0)

    @property
    def n_parameters(self) -> int:
        """Free numbers; of factors less the two changes of basis that change no V."""
        n_free = sum(coefficients.size for coefficients in self.coefficients.values())
        n_bound = sum(factor.size for factor in self.bases or ())
        return n_free + n_bound - sum(n * n for n in self.ranks)


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
    def n_parameters(self) -> int:
        return sum(fit.n_parameters for fit in self.parts)

    @property
    def rank(self) -> str:
        """Dimensions of fillers × dimensions of roles, where these are limited; by part."""
        if not any(BINDING in fit.coefficients for fit in self.parts):
            return ""
        parts = [fit for fit in self.parts if len(fit.pairs.fillers) > 1]  # others bind nothing
        return ", ".join("×".join(map(str, fit.ranks)) for fit in parts)

    def predict(self, counts: csr_array) -> Float64[np.ndarray, "unit d_model"]:
        """X V + b of counts of the pairs of all parts; only V of pairs that these have is made."""
        ids = np.unique(counts.indices)
        return csr_array(counts[:, ids]) @ self._rows(ids) + self.bias

    @property
    def table(self) -> Vectors:
        """V of the pairs of all parts."""
        return self._rows(np.arange(sum(len(fit.pairs) for fit in self.parts)))

    def project_out(self, vectors: Vectors) -> Vectors:
        """Vectors without all that is a sum of fitted bindings: what lies at right angles to every V."""
        _, sizes, axes = np.linalg.svd(self.table, full_matrices=False)
        axes = axes[sizes > ROUNDING * sizes[0]]
        return vectors - vectors @ axes.T @ axes

    def _rows(self, ids: Int[np.ndarray, " pair"]) -> Vectors:
        """Rows of ``table``, rising."""
        starts = starts_of([fit.pairs for fit in self.parts])
        ids_by_part = np.split(ids, np.searchsorted(ids, starts[1:-1]))
        rows = [
            fit.predict(fit.pairs.take(part_ids - start))
            for fit, part_ids, start in zip(self.parts, ids_by_part, starts, strict=False)
        ]
        return np.concatenate(rows)
