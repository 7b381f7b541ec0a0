"""The completion of a table V[f, r] by a binding operation: V = (a_f +) c_r + bind(f, r), in the form that fits."""

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float64

from tprprobe.estimators.bindings.operations import Additive
from tprprobe.estimators.bindings.operations_base import (
    Operation,
    Table,
    Weights,
    bind_all,
)
from tprprobe.estimators.bindings.pairs import draw_pairs

INNER_SHARE = 0.2  # of the seen pairs, to choose a form by
ROUNDS = 3  # by turns of main effects and the operation
WIDTH = 48  # principal components, in which operations are fitted that ask for no basis

Cells = Bool[np.ndarray, "filler role_"]


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
) -> tuple[Form, Table]:
    """The form of an operation that errs least on pairs withheld within the seen ones, and its completed table.

    Args:
        kind: The class of the operation.
        table: The vectors of pairs, less their mean.
        weights: How much is known of every pair; 0 for an unseen one.
        seed: Seed of the withheld pairs.

    Returns:
        The form, fitted to all seen pairs, and the table.
    """
    axes = _principal_axes(table, weights)
    inner = draw_cells(weights > 0, INNER_SHARE, np.random.default_rng(seed))
    visible = np.where(inner, 0, weights)

    def error(form: Form) -> float:
        return float(np.sum((weights * inner)[..., None] * (form.fit(table, visible) - table) ** 2))

    operations = kind.candidates(table.shape)
    forms = [
        Form(operation, False, axes if operation.is_basis_free else None)
        for operation in operations
    ]
    forms += [replace(form, has_fillers=True) for form in (min(forms, key=error),)]
    best = min(forms, key=error)
    return best, best.fit(table, weights)


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
