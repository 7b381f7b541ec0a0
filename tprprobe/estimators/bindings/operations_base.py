"""What a binding operation is, and operations whose table has few dimensions.

Sources: Tucker 1966 (outer product of a rank), Dempster, Laird and Rubin 1977 (expectation–maximization).
"""

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float64

RIDGE = 0.02  # penalty, in units of the mean square of what is regressed on
FILLINGS = 5  # of the unseen part of a table
RANKS = (1, 2, 3, 4, 6, 8, 12, 16)

Array = np.ndarray
Table = Float64[np.ndarray, "filler role_ d"]
Weights = Float64[np.ndarray, "filler role_"]


class Operation:
    """An operation, which ``candidates`` makes in every form that is to be tried on a table of this shape.

    Attributes:
        title: Its name in tables.
        is_basis_free: Whether it stays what it is when vectors are rotated; it is then fitted in the largest
            principal components of the table.
    """

    title: ClassVar[str]
    is_basis_free: ClassVar[bool]
    form: str = ""
    fillers_: Any
    roles_: Any

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence["Operation"]:
        """The forms that are tried: one, if the operation has no rank and no choice of a basis."""
        return [cls()]

    @classmethod
    def is_case_of(cls, other: type["Operation"]) -> bool:
        """Whether another operation can bind all that it binds."""
        return False

    def fit(self, table: Table, weights: Weights) -> "Operation":
        """Itself, with the vectors of fillers and roles whose bindings are nearest the table."""
        raise NotImplementedError

    def bind(self, filler: Array, role: Array) -> Float64[np.ndarray, "*batch d"]:
        """The binding of vectors of fillers and of roles, along their last axes."""
        raise NotImplementedError


def as_operation(kind: type, name: str) -> type[Operation]:
    """The class, with what an operation has beside ``fit`` and ``bind`` where it does not say it itself."""
    if issubclass(kind, Operation):
        return kind
    stated = {
        "title": getattr(kind, "title", name),
        "is_basis_free": getattr(kind, "is_basis_free", False),
    }
    return type(kind.__name__, (kind, Operation), stated)


class LowRank(Operation):
    """What has factors of a complete table: the unseen part is filled by their product again and again, from
    where an earlier fit has ended.

    Source: Dempster, Laird and Rubin 1977 (expectation–maximization).
    """

    is_basis_free, is_fitted = True, False

    def fit(self, table: Table, weights: Weights) -> "Operation":
        share = weights[..., None] / max(weights.max(), 1e-12)
        completed = share * table + (1 - share) * (bind_all(self) if self.is_fitted else 0)
        for _ in range(FILLINGS):
            self.factorize(completed)
            self.is_fitted = True
            completed = share * table + (1 - share) * bind_all(self)
        return self

    def factorize(self, table: Table) -> None:
        """Sets the vectors of fillers and of roles to those of a complete table."""
        raise NotImplementedError


class RoleMatrix(LowRank):
    """A_r f, a matrix a role: fillers have few dimensions, so that the table has this rank."""

    title = "matrix a role"

    def __init__(self, rank: int = 1):
        self.form, self.rank = str(rank), rank

    @classmethod
    def candidates(cls, shape: tuple[int, int, int]) -> Sequence[Operation]:
        return [cls(rank) for rank in RANKS if rank < shape[0]]

    def factorize(self, table: Table) -> None:
        self.fillers_ = left_singular_vectors(table.reshape(len(table), -1))[:, : self.rank]
        self.roles_ = np.tensordot(self.fillers_, table, (0, 0)).swapaxes(0, 1)

    def bind(self, filler: Array, role: Array) -> Array:
        return (filler[..., None, :] @ role)[..., 0, :]


def bind_all(operation: Operation) -> Table:
    """The bindings of every filler with every role."""
    roles = operation.roles_[None]
    return operation.bind(operation.fillers_[:, None], roles)


def left_singular_vectors(matrix: Array) -> Array:
    """The axes of rows of largest singular values, by the Gram matrix."""
    return np.linalg.eigh(matrix @ matrix.T)[1][:, ::-1]
