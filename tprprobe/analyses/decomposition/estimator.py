"""Tensor-product decomposition as an estimator of scikit-learn, for pairs and vectors in memory."""

from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.sparse import csr_array, issparse
from sklearn.base import BaseEstimator
from sklearn.utils import Tags, check_random_state
from sklearn.utils.validation import check_array, check_is_fitted

from tprprobe.analyses.decomposition.designs import Design
from tprprobe.analyses.decomposition.operation_scores import UnitParts, complete_table
from tprprobe.analyses.decomposition.operation_tables import find_operations
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits
from tprprobe.analyses.decomposition.unit_vectors import UnitVectors, fit_moments
from tprprobe.errors import InputError, unknown
from tprprobe.estimators.bindings import families
from tprprobe.estimators.bindings.factors import Ranks
from tprprobe.estimators.bindings.families import PartFit, RoleFit
from tprprobe.estimators.bindings.pairs import Pairs, count_pairs, find_pairs, lookup_names
from tprprobe.estimators.bindings.selection import read_rank
from tprprobe.evaluation.splits import Provenance, divide_documents
from tprprobe.store.dask_workers import in_one_thread

Vectors = Float64[np.ndarray, "row d_model"]


class TPDecomposition(BaseEstimator):
    """Vectors as sums of role–filler bindings, e ≈ b + Σ W (f ⊗ r): an estimator of scikit-learn.

    Args:
        rank: As in :func:`decompose`.
        family: As in :func:`decompose`, but for ``operator``.
        withheld: The share of pairs that is withheld to choose the rank, for pairs that no vector has; with 0 the
            rank is chosen on held-out vectors.
        random_state: The seed of random choices.
        operation: The operation that binds, instead of a family: ``hadamard``, ``convolution`` and others, as in
            :func:`compare_operations`. The fitted one is ``operation_``, with ``bind``, ``fillers_`` and ``roles_``.

    Attributes:
        fillers_: The vector f of every filler; their names are ``filler_names_``.
        roles_: The vector r of every role; their names are ``role_names_``.
        readout_: W [d_filler, d_role, d_model]. Other families than the product have unit vectors as fillers and
            roles, and W is their table of V.
        intercept_: b.

    Source: McCoy et al. 2019 (arXiv:1812.08718).

    Examples:
        >>> rng = np.random.default_rng(0)
        >>> table = rng.normal(size=(3, 2, 4))
        >>> pairs = [[(int(f), role) for role, f in enumerate(rng.integers(3, size=2))] for _ in range(40)]
        >>> vectors = np.array([sum(table[f, role] for f, role in each) for each in pairs])
        >>> fit = tp.TPDecomposition(rank=2, random_state=0).fit(pairs, vectors)
        >>> fit.encode([[(0, 0), (1, 1)]]).shape
        (1, 4)
    """

    def __init__(
        self,
        rank: str | int | Ranks = "auto",
        family: str = families.FACTORED,
        withheld: float = 0.1,
        random_state: int | np.random.RandomState | None = None,
        operation: str | None = None,
    ):
        self.rank = rank
        self.family = family
        self.withheld = withheld
        self.random_state = random_state
        self.operation = operation

    @in_one_thread
    def fit(self, pairs: Any, vectors: Any) -> "TPDecomposition":
        """The estimator, fitted.

        Args:
            pairs: The (filler, role) pairs of every vector, or a table whose columns are roles and whose cells are fillers (None
                or NaN: none).
            vectors: The vectors [row, d_model].

        Returns:
            Itself.

        Raises:
            InputError: An unknown family, or different numbers of pairs and vectors.
        """
        names = [name for name in families.FAMILIES if name != families.OPERATOR]
        if self.family not in names:
            raise unknown("family", self.family, names)
        filler, role, members = read_pairs(pairs)
        if vectors is None:
            raise InputError("fit needs vectors: requires y to be passed, but the target y is None")
        e, n = _check_vectors(vectors), len(members.indptr) - 1
        if len(e) != n:
            raise InputError(f"{n} lists of pairs, but {len(e)} vectors: give as many")
        rng = np.random.default_rng(check_random_state(self.random_state).randint(2**31))
        occurring, occurrences = find_pairs(filler, [pd.Categorical(role)])
        counts = count_pairs(members, occurring, occurrences)
        fit = self._fit_family if self.operation is None else self._fit_operation
        self._fit = fit(occurring, counts, e, rng)
        self._set_factors(occurring)
        return self

    def _fit_family(
        self, pairs: Pairs, counts: csr_array, e: Vectors, rng: np.random.Generator
    ) -> RoleFit:
        """The fit of the family, whose choices are made on held-out rows and pairs."""
        rows, vectors = np.arange(len(e)), UnitVectors.of(e)
        split = np.zeros(len(e), bool), divide_documents(rows, rng)[1]
        origin, shares = Provenance(rows, rows.astype(np.uint64)[:, None]), (0.0, self.withheld)
        design = Design.divide([pairs], counts, origin, split, shares, rng)
        regressions = fit_moments(vectors, [(counts, design.fitting)])
        return SchemeFits(design, vectors, regressions, read_rank(self.rank)).fit(self.family)

    def _fit_operation(
        self, pairs: Pairs, counts: csr_array, e: Vectors, rng: np.random.Generator
    ) -> RoleFit:
        """The fit whose table V[f, r] an operation completes."""
        [kind] = find_operations([str(self.operation)]).values()
        unit_parts = UnitParts([pairs], counts, [np.ones(len(e), bool)])
        seed = int(rng.integers(2**31))
        self.operation_, table = complete_table(unit_parts, UnitVectors.of(e), kind, seed)
        cells, flat = Pairs.product(pairs.fillers, pairs.roles), table.reshape(-1, e.shape[1])
        mean = np.asarray(counts.mean(0)).reshape(-1) @ table[pairs.filler_of, pairs.role_of]
        part_fit = PartFit(cells, e.shape[1], {families.PAIR: flat})
        return RoleFit("", [part_fit], e.mean(0) - mean, {})

    def _set_factors(self, pairs: Pairs) -> None:
        n_fillers, n_roles, part_fit = len(pairs.fillers), len(pairs.roles), self._fit.parts[0]
        self.filler_names_ = np.asarray(pairs.fillers, object)
        self.role_names_ = np.asarray(pairs.roles, object)
        self.n_features_in_, self.intercept_ = n_roles, self._fit.bias
        if self.family == families.PRODUCT and part_fit.bases:
            self.fillers_, self.roles_ = part_fit.bases
            self.readout_ = part_fit.coefficients[families.BINDING].reshape(*part_fit.ranks, -1)
            return
        table = part_fit.predict(Pairs.product(pairs.fillers, pairs.roles))
        self.fillers_, self.roles_ = np.eye(n_fillers), np.eye(n_roles)
        self.readout_ = table.reshape(n_fillers, n_roles, -1)

    def encode(self, pairs: Any) -> np.ndarray:
        """The vectors of pairs; a filler or role that was not fitted adds nothing.

        Args:
            pairs: As in :meth:`fit`.

        Returns:
            The vectors [row, d_model].

        Raises:
            InputError: A table with other columns than the fitted one.
        """
        check_is_fitted(self)
        width = pairs.shape[1] if isinstance(pairs, np.ndarray) and pairs.ndim == 2 else None
        if width not in (None, self.n_features_in_):
            raise InputError(
                f"X has {width} features, but TPDecomposition is expecting "
                f"{self.n_features_in_} features as input: give the columns of the fit"
            )
        filler, role, members = read_pairs(pairs)
        part_fit, pair_names = self._fit.parts[0], self._fit.pairs
        codes = lookup_names(pair_names.fillers, filler), lookup_names(pair_names.roles, role)
        return part_fit.encode(members, [codes]) + self.intercept_

    def unbind(self, vectors: Any) -> np.ndarray:
        """The filler vector at every role, by least squares of least norm.

        Args:
            vectors: The vectors [row, d_model].

        Returns:
            [row, role, d_filler]; 0 where a role is empty.
        """
        check_is_fitted(self)
        e = np.asarray(vectors, np.float64).reshape(len(vectors), -1) - self.intercept_
        binding = np.einsum("rj,kjd->rkd", self.roles_, self.readout_)
        inverse = np.linalg.pinv(binding.reshape(-1, e.shape[1]), rcond=1e-6)
        return (e @ inverse).reshape(len(e), *binding.shape[:2])

    def project_out(self, vectors: Any) -> np.ndarray:
        """Vectors without all that is a sum of fitted bindings: what a binding that was never fitted may have.

        Args:
            vectors: The vectors [row, d_model], or differences of vectors.

        Returns:
            Their parts at right angles to every fitted V[f, r].
        """
        check_is_fitted(self)
        return self._fit.project_out(_check_vectors(vectors))

    def score(self, pairs: Any, vectors: Any) -> float:
        """R² over all numbers of the vectors: 1 − Σ|e − ê|² / Σ|e − ē|².

        Args:
            pairs: As in :meth:`fit`.
            vectors: The vectors [row, d_model].

        Returns:
            R²; 1 is perfect.
        """
        e = _check_vectors(vectors)
        errors, variation = np.sum((e - self.encode(pairs)) ** 2), np.sum((e - e.mean(0)) ** 2)
        return float(1 - errors / variation) if variation else 0.0

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.categorical = tags.input_tags.string = tags.input_tags.allow_nan = True
        return tags


def _check_vectors(vectors: Any) -> Vectors:
    e = check_array(vectors, dtype="float64", ensure_2d=False, input_name="vectors")
    return e.reshape(len(e), -1)


def read_pairs(pairs: Any) -> tuple[np.ndarray, np.ndarray, csr_array]:
    """The filler and the role of every pair, as texts, and which row has it; InputError for others."""
    if issparse(pairs):
        raise InputError("pairs: sparse input is not supported; give lists or a table")
    if isinstance(pairs, np.ndarray) and pairs.ndim == 2:
        pairs = pd.DataFrame(pairs)
    if isinstance(pairs, pd.DataFrame):
        if not pairs.size:
            raise InputError(
                f"pairs: a table with {pairs.shape[1]} feature(s) (shape={pairs.shape}) while a minimum of 1 "
                "is required: give one column for every role"
            )
        table, names = pairs.to_numpy(object), list(map(str, pairs.columns))
        filled = [zip(row, names, strict=True) for row in table]
        pairs = [[(f, r) for f, r in row if not pd.isna(f)] for row in filled]
    try:
        rows = list(pairs)
        flat = [(i, str(f), str(r)) for i, row in enumerate(rows) for f, r in row]
    except (TypeError, ValueError):
        raise InputError(
            "pairs: give a list of (filler, role) pairs for every vector, or a table with one column for "
            "every role (Expected 2D array, got another one; Reshape your data)"
        ) from None
    if not flat:
        raise InputError("pairs: found array with 0 sample(s), no pair at all: give some")
    row, filler, role = (np.array(column, object) for column in zip(*flat, strict=True))
    cells, shape = (row.astype(int), np.arange(len(flat))), (len(rows), len(flat))
    return filler, role, csr_array((np.ones(len(flat)), cells), shape)
