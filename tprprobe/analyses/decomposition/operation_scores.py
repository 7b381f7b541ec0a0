"""Which operation binds? Every operation completes the table V[f, r] of some units, judged by that of other units.

Both tables have a free vector for every pair. An operation sees the first without a share of its pairs; what it
says of these is compared with the second, whose noise is another one, so that it cancels.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from scipy.sparse import csr_array

from tprprobe.analyses.decomposition.unit_vectors import UnitVectors, fit_moments
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.block_products import Grams
from tprprobe.estimators.bindings.families import FILLER, PAIR, ROLE, make_block
from tprprobe.estimators.bindings.operations_base import Operation, complete
from tprprobe.estimators.bindings.pairs import Pairs, select_units
from tprprobe.estimators.bindings.ridge import Regression, sum_blocks
from tprprobe.evaluation.intervals import REPLICATES
from tprprobe.evaluation.splits import Provenance, stand_first
from tprprobe.statistics import FEWEST_GROUPS, bounds, divide, replicate_totals

N_PARTS, N_FOLDS = 3, 6  # of units, and of pairs: a fold is judged by the units of one part
PENALTIES = {FILLER: 1e-3, ROLE: 1e-3, PAIR: 1e-2}  # small, for a table that is hardly shrunk
MIN_UNITS, MIN_PARTNERS = 6, 2  # units of a pair of the table, pairs of a filler or role of it
MAX_FILLERS, MAX_ROLES = 300, 40  # the commonest are in the table

Sums = Float[np.ndarray, "filler role_ term"]  # what every operation explains, and what there is
Vectors = Float[np.ndarray, "pair d_model"]


@dataclass(frozen=True, eq=False)
class UnitParts:
    """Units with vectors in parts, no group in two of them; the first part of ``pairs`` makes the table."""

    pairs: Sequence[Pairs]
    counts: csr_array
    fitted: Sequence[Bool[np.ndarray, " unit"]]  # the units of every part

    @classmethod
    def divide(
        cls, pairs: Sequence[Pairs], counts: csr_array, origin: Provenance, seed: int
    ) -> "UnitParts":
        """Random parts of whole documents; a sequence is in one of them alone."""
        n_documents = origin.documents.max() + 1
        order = np.random.default_rng((seed, 2)).permutation(n_documents)
        unit_part = order[origin.documents] % N_PARTS
        is_single = stand_first(unit_part, origin.sequences)
        return cls(pairs, counts, [(unit_part == i) & is_single for i in range(N_PARTS)])

    def tables(self, vectors: UnitVectors) -> list[tuple[Vectors, Vectors]]:
        """For every part, V of the pairs by the units of all others, and by its own units."""
        regressions = self.fit_moments(vectors)
        tables = []
        for i, regression in enumerate(regressions):
            indices = [j for j in range(len(regressions)) if j != i]
            rows = np.any([self.fitted[j] for j in indices], axis=0)
            fitted = self.solve_table(rows, [regressions[j] for j in indices])
            tables.append((fitted, self.solve_table(self.fitted[i], [regression])))
        return tables

    def fit_moments(self, vectors: UnitVectors) -> list[Regression]:
        """The regression on the units of every part."""
        return fit_moments(vectors, [(self.counts, rows) for rows in self.fitted])

    def solve_table(self, rows: Bool[np.ndarray, " unit"], parts: Sequence[Regression]) -> Vectors:
        """V of the pairs of the first part of the design by these units, which are those of the regressions."""
        n_parts, n = len(self.pairs), max(1, sum(unit_part.n for unit_part in parts))
        blocks = [make_block(name, i, self.pairs) for name in PENALTIES for i in range(n_parts)]
        cross = np.sum([unit_part.cross for unit_part in parts], 0)
        mean = np.sum([unit_part.n * unit_part.mean for unit_part in parts], 0) / n
        regression = Regression(Grams(select_units(self.counts, rows)), cross, mean)
        solution = regression.solve(blocks, [PENALTIES[block.name] for block in blocks])
        return sum_blocks(blocks, solution)[: len(self.pairs[0])]

    @cached_property
    def cells(self) -> Int[np.ndarray, " cell"]:
        """The pairs of the table: those of fillers and roles that have several, seen often."""
        pairs = self.pairs[0]
        n_units = np.bincount(self.counts.indices, minlength=len(pairs))[: len(pairs)]
        is_used, size = n_units >= MIN_UNITS, -1
        while size != is_used.sum():
            size = is_used.sum()
            for symbols, limit in ((pairs.filler_of, MAX_FILLERS), (pairs.role_of, MAX_ROLES)):
                order = np.argsort(-np.bincount(symbols, n_units * is_used), kind="stable")
                rank = np.argsort(order)
                has_partners = np.bincount(symbols, is_used) >= MIN_PARTNERS
                is_used &= (has_partners & (rank < limit))[symbols]
        return np.flatnonzero(is_used)

    @property
    def index(self) -> tuple[Int[np.ndarray, " cell"], Int[np.ndarray, " cell"]]:
        """The row and column of every cell."""
        pairs = self.pairs[0].take(self.cells)
        axes = (pairs.filler_of, pairs.role_of)
        rows, columns = (np.unique(symbols, return_inverse=True)[1] for symbols in axes)
        return rows, columns


def complete_table(
    parts: UnitParts, vectors: UnitVectors, kind: type[Operation], seed: int
) -> tuple[Operation, Float[np.ndarray, "filler role_ d_model"]]:
    """An operation fitted to all units, and V of every filler at every role as it completes the table."""
    [regression], pairs = parts.fit_moments(vectors), parts.pairs[0]
    vectors_of_pairs = parts.solve_table(parts.fitted[0], [regression])
    n_units = np.bincount(parts.counts.indices, minlength=len(pairs))
    shape, cells = (len(pairs.fillers), len(pairs.roles)), (pairs.filler_of, pairs.role_of)
    weights, table = np.zeros(shape), np.zeros((*shape, vectors.width))
    weights[cells] = n_units / (n_units + 1)
    mean = np.average(vectors_of_pairs, 0, weights[cells])
    table[cells] = vectors_of_pairs - mean
    operation, completed = complete(kind, table, weights, seed)
    return operation, completed + mean


def sum_up(
    parts: UnitParts, vectors: UnitVectors, operations: Sequence[type[Operation]], seed: int
) -> tuple[Sums, list[tuple[str, str]]]:
    """By cell, 2⟨v, p⟩ − |p|² of every operation's p and ⟨v, v'⟩, v and v' being two estimates of its vector less
    the mean; and every operation's title with the form that it took, fold by fold.
    """
    cells, (rows, columns) = parts.cells, parts.index
    tables = [(fitted[cells], tested[cells]) for fitted, tested in parts.tables(vectors)]
    precision = _measure_precision(np.stack([tested for _, tested in tables]))
    shape = rows.max() + 1, columns.max() + 1
    fold_of = _divide_cells(rows, np.random.default_rng((seed, 3)))
    sums, forms = np.zeros((*shape, len(operations) + 1)), list[tuple[str, str]]()
    for fold in range(N_FOLDS):
        fitted, tested = tables[fold % N_PARTS]
        is_new = fold_of == fold
        weights, table = np.zeros(shape), np.zeros((*shape, fitted.shape[1]))
        weights[rows, columns] = np.where(is_new, 0, precision)
        mean = np.average(fitted, 0, weights[rows, columns])
        table[rows, columns] = np.where(is_new[:, None], 0, fitted - mean)
        new_cells, truth = (rows[is_new], columns[is_new]), tested[is_new] - mean
        products = []
        for operation in operations:
            fitted_operation, completed = complete(operation, table, weights, seed)
            predicted = completed[new_cells]
            products.append(np.sum((2 * truth - predicted) * predicted, 1))
            forms.append((operation.title, fitted_operation.form))
        products.append(np.sum(truth * (fitted[is_new] - mean), 1))
        sums[new_cells] = np.stack(products, 1) * precision[is_new, None]
    return sums, forms


def _measure_precision(
    tables: Float[np.ndarray, "part cell d_model"],
) -> Float[np.ndarray, " cell"]:
    """The share of signal in a cell's vector, from its spread over independent parts."""
    noise = tables.var(0, ddof=1).mean(1) / N_PARTS
    middle = tables.mean(0)
    signal = ((middle - middle.mean(0)) ** 2).mean() - noise.mean()
    signal = max(float(signal), 0.01 * float(noise.mean()), 1e-12)
    return signal / (signal + noise)


def _divide_cells(
    rows: Int[np.ndarray, " cell"], rng: np.random.Generator
) -> Int[np.ndarray, " cell"]:
    """The fold of every cell; those of a filler are in as many folds as can be."""
    order = np.lexsort((rng.random(len(rows)), rows))
    fold = np.empty(len(rows), int)
    fold[order] = np.arange(len(rows)) % N_FOLDS
    return fold


def replicate_cells(sums: Sums, seed: int = 0) -> Float[np.ndarray, "replicate term"]:
    """Totals over all cells, then over those of fillers and of roles drawn with replacement, both at a time: two
    estimates of the vectors of a role share the role's noise, so that its cells are not independent.

    Source: Owen 2007, the pigeonhole bootstrap of two crossed factors.
    """
    rng = np.random.default_rng(seed)
    drawn = (rng.multinomial(n, np.full(n, 1 / n), REPLICATES) for n in sums.shape[:2])
    fillers, roles = (counts.astype(float) for counts in drawn)
    replicates = np.einsum("br,brt->bt", roles, np.tensordot(fillers, sums, 1))
    return np.concatenate([sums.sum((0, 1))[None], replicates])


def score_operations(
    parts: UnitParts, vectors: UnitVectors, operations: Sequence[type[Operation]], seed: int = 0
) -> pd.DataFrame:
    """A row an operation: R² of the vectors of pairs that it has not seen, how far it is behind the best of
    them, and whether it is named. 95 % intervals are over fillers and roles, those of ``behind`` over fillers.
    """
    rows, columns = parts.index
    sizes = len(np.unique(rows)), len(np.unique(columns))
    if sizes[0] < FEWEST_GROUPS or sizes[1] < MIN_PARTNERS:
        raise InputError(
            f"operations: {sizes[0]} fillers have {MIN_PARTNERS} pairs that {MIN_UNITS} vectors have, and {FEWEST_GROUPS} "
            "are needed: give more samples, or roles that share their fillers"
        )
    sums, forms = sum_up(parts, vectors, operations, seed)
    totals = replicate_cells(sums)
    by_filler = np.concatenate([totals[:1], replicate_totals(sums.sum(1), REPLICATES)])
    size = np.broadcast_to(np.maximum(totals[:, -1:], 0), totals[:, :-1].shape)
    r2 = divide(totals[:, :-1], size)
    behind = (by_filler[:, [np.argmax(totals[0, :-1])]] - by_filler[:, :-1]) / size[0]
    by_title = pd.DataFrame(forms, columns=["operation", "form"]).groupby("operation")["form"]
    table = pd.DataFrame({"operation": [kind.title for kind in operations]})
    table["form"] = table["operation"].map(by_title.agg(lambda form: form.mode()[0]))
    for name, values in (("r2", r2), ("behind", behind)):
        low, high = bounds(values[1:], sizes[0])
        table = table.assign(**{name: values[0], f"{name}_low": low, f"{name}_high": high})
    name = name_operation(operations, totals, by_filler, sizes[0])
    counts = {"n_fillers": sizes[0], "n_roles": sizes[1], "pairs": len(parts.cells)}
    return table.assign(is_named=table["operation"] == name, **counts)


def name_operation(
    operations: Sequence[type[Operation]],
    totals: Float[np.ndarray, "replicate term"],
    by_filler: Float[np.ndarray, "replicate term"],
    groups: int,
) -> str:
    """The title of the operation that beats all others in paired comparisons, or "". One that is more general need not be
    beaten by its special case, but has to beat it to be named.
    """

    def predicts(i: int) -> bool:
        return bool(bounds(totals[1:, i], groups)[0] > 0)

    def beats(i: int, j: int) -> bool:
        """Whether one explains more than another in 97.5 % of draws of fillers."""
        return bool(bounds(by_filler[1:, i] - by_filler[1:, j], groups)[0] > 0)

    def is_ahead(i: int, j: int) -> bool:
        return beats(i, j) or (operations[i].is_case_of(operations[j]) and not beats(j, i))

    numbers = range(len(operations))
    for i in numbers if predicts(-1) else ():  # two estimates of a vector have something in common
        if predicts(i) and all(is_ahead(i, j) for j in numbers if j != i):
            return operations[i].title
    return ""
