"""What a binding operation is, and how one completes a table V[f, r]: V = (a_f +) c_r + bind(f, r), in the form that fits."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float64

from tprprobe.estimators.bindings.pairs import draw_pairs

RIDGE = 0.02  # penalty, in units of the mean square of what is regressed on
N_TURNS = 10  # of main effects of fillers and of roles, which converge at once
INNER_SHARE = 0.2  # of the seen pairs, to choose a form by
ROUNDS = 3  # by turns of main effects and the operation
WIDTH = 48  # principal components, in which operations are fitted that ask for no basis

Array = np.ndarray
Table = Float64[np.ndarray, "filler role_ d"]
Weights = Float64[np.ndarray, "filler role_"]
Cells = Bool[np.ndarray, "filler role_"]


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


class Additive(Operation):
    """f + r: no binding."""

    title, is_basis_free = "additive", True

    @classmethod
    def is_case_of(cls, other: type[Operation]) -> bool:
        return True  # main effects stand beside every operation

    def fit(self, table: Table, weights: Weights) -> "Operation":
        self.roles_ = np.zeros(table.shape[1:])
        for _ in range(N_TURNS):
            self.fillers_ = weighted_mean(table - self.roles_, weights, 1)
            self.roles_ = weighted_mean(table - self.fillers_[:, None], weights, 0)
        return self

    def bind(self, filler: Array, role: Array) -> Array:
        return filler + role


def bind_all(operation: Operation) -> Table:
    """The bindings of every filler with every role."""
    roles = operation.roles_[None]
    return operation.bind(operation.fillers_[:, None], roles)


def weighted_mean(table: Array, weights: Weights, axis: int) -> Array:
    """The weighted mean along fillers (0) or roles (1), shrunk as by a few unseen zeros."""
    totals = np.einsum("frd,fr->rd" if axis == 0 else "frd,fr->fd", table, weights)
    return totals / (weights.sum(axis) + RIDGE)[:, None]


@dataclass(frozen=True, eq=False)
class Form:
    """An operation beside vectors of roles, and of fillers too or not; as any sum it leaves vectors of roles open
    where every sample has all roles.
    """

    operation: Operation
    has_fillers: bool
    axes: Float64[np.ndarray, "d width"] | None

    def fit(self, table: Table, weights: Weights) -> Table:
        """The completed table."""
        reduced = table if self.axes is None else table @ self.axes
        bound = main = np.zeros_like(reduced)
        for _ in range(ROUNDS):
            residual = reduced - bound
            main = (
                bind_all(Additive().fit(residual, weights))
                if self.has_fillers
                else _by_role(residual, weights)
            )
            bound = bind_all(self.operation.fit(reduced - main, weights))
        completed = main + bound
        return completed if self.axes is None else completed @ self.axes.T


def complete(
    kind: type[Operation], table: Table, weights: Weights, seed: int = 0
) -> tuple[Operation, Table]:
    """The form of an operation that errs least on pairs withheld within the seen ones, and its completed table.

    Args:
        kind: The class of the operation.
        table: The vectors of pairs, less their mean.
        weights: How much is known of every pair; 0 for an unseen one.
        seed: Seed of the withheld pairs.

    Returns:
        The operation, fitted to all seen pairs, and the table.
    """
    axes = _principal_axes(table, weights)
    inner = draw_cells(weights > 0, INNER_SHARE, np.random.default_rng(seed))
    visible = np.where(inner, 0, weights)

    def error(form: Form) -> float:
        return float(np.sum((weights * inner)[..., None] * (form.fit(table, visible) - table) ** 2))

    forms = [
        Form(o, False, axes if o.is_basis_free else None) for o in kind.candidates(table.shape)
    ]
    forms.append(replace(min(forms, key=error), has_fillers=True))
    best = min(forms, key=error)
    return best.operation, best.fit(table, weights)


def _principal_axes(table: Table, weights: Weights) -> Float64[np.ndarray, "d width"]:
    flat = (table * np.sqrt(weights)[..., None]).reshape(-1, table.shape[2])
    return np.linalg.eigh(flat.T @ flat)[1][:, ::-1][:, :WIDTH]


def _by_role(table: Table, weights: Weights) -> Float64[np.ndarray, "1 role_ d"]:
    """The mean over the fillers of every role."""
    total = np.einsum("frd,fr->rd", table, weights)
    return (total / np.maximum(weights.sum(0), 1e-12)[:, None])[None]


def draw_cells(is_seen: Cells, share: float, rng: np.random.Generator) -> Cells:
    """A random share of the seen pairs; fillers and roles keep half of theirs."""
    cells = np.argwhere(is_seen)
    order, occurs = rng.permutation(len(cells)), np.ones(len(cells), bool)
    selection = cells[draw_pairs(order, list(cells.T), occurs, share * len(cells))]
    is_drawn = np.zeros_like(is_seen)
    is_drawn[tuple(selection.T)] = True
    return is_drawn
