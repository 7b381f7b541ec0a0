"""The decomposition of a site's vectors into roles and fillers: fits, scores, controls, re-encoding."""

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64
from numpy.typing import ArrayLike

from tprprobe.analyses.decomposition.role_schemes import (
    BUILT_IN,
    Roles,
    RoleScheme,
    read_scheme,
)
from tprprobe.analyses.decomposition.scheme_fits import (
    ALL,
    Decoder,
    DecompositionPlan,
    plan_decomposition,
)
from tprprobe.analyses.decomposition.scheme_scores import Report, decompose_scheme, no_report
from tprprobe.analyses.decomposition.score_tables import view_scores
from tprprobe.analyses.decomposition.sequence_units import JOINED
from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.estimators.bindings.block_products import shape_of
from tprprobe.estimators.bindings.factors import Ranks
from tprprobe.estimators.bindings.families import RoleFit
from tprprobe.estimators.bindings.pairs import Pairs, lookup_names
from tprprobe.estimators.bindings.selection import AUTO
from tprprobe.evaluation.results import Results, tabulate
from tprprobe.files.notebook import as_html
from tprprobe.store import Store
from tprprobe.store.dask_workers import in_one_thread
from tprprobe.store.reader import takes_paths

Sequences = Sequence[Sequence[object]] | pd.DataFrame


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The decomposition of a site by one role scheme or several.

    Attributes:
        site: The site.
        plan: The settings: schemes, units, family, rank and seed.
        results: The long table of all numbers.
        fits: The fit of every scheme to all sequences, by name. The methods here use the first.
        unwithheld: The fits to the sequences without withheld pairs, where pairs were withheld.

    Examples:
        >>> fit.encode([["1", "/", "2"], ["3"]]).shape
        (4, 96)
        >>> fit.bindings([("1", "1"), ("2", "1")]).shape
        (2, 96)
    """

    site: str
    plan: DecompositionPlan
    results: Results
    fits: Mapping[str, RoleFit]
    unwithheld: Mapping[str, RoleFit] = field(default_factory=dict)

    def __getitem__(self, roles: str) -> "Decomposition":
        """The same of one scheme."""
        name = read_scheme(roles).name
        if name not in self.fits:
            raise unknown("scheme of roles", roles, self.fits)
        unwithheld = {scheme: fit for scheme, fit in self.unwithheld.items() if scheme == name}
        results, fits = self.results.select(task=name), {name: self.fits[name]}
        return replace(self, results=results, fits=fits, unwithheld=unwithheld)

    @functools.cached_property
    def scores(self) -> pd.DataFrame:
        """The results with a row a scheme, family and control; see [columns](columns.md#decompositions)."""
        return view_scores(self.results)

    @property
    def without_withheld(self) -> "Decomposition":
        """The decomposition with fits to the sequences without withheld pairs, whose score is ``r2_withheld``.

        Raises:
            InputError: No pairs were withheld.
        """
        if not self.unwithheld:
            raise InputError("no pairs were withheld: decompose with a share such as withheld=0.1")
        return replace(self, fits=self.unwithheld)

    def _repr_html_(self) -> str:
        columns = self.scores[["roles", "family", "control", "rank", "r2", "r2_low", "r2_high"]]
        return as_html(f"{self.site} as a sum of bindings", columns)

    @property
    def fit(self) -> RoleFit:
        """The fit of the first scheme: its pairs, their vectors, the intercept, its factors."""
        return next(iter(self.fits.values()))

    @property
    def scheme(self) -> RoleScheme:
        """The first scheme."""
        return next(scheme for scheme in self.plan.schemes if scheme.name in self.fits)

    def bindings(
        self, pairs: Sequence[tuple[object, object]]
    ) -> Float64[np.ndarray, "binding d_model"]:
        """The vectors V[f, r] of filler–role pairs.

        Args:
            pairs: Fillers with their roles.

        Returns:
            One row per pair.

        Raises:
            InputError: A filler or role that the fit does not have.
        """
        fit_pairs = self.fit.pairs
        fillers, roles = ([str(name) for name in names] for names in zip(*pairs, strict=True))
        codes = lookup_fillers(fit_pairs.fillers, fillers), lookup_names(fit_pairs.roles, roles)
        if (codes[0] < 0).any():
            raise unknown("filler", fillers[int(np.argmin(codes[0]))], map(str, fit_pairs.fillers))
        if (codes[1] < 0).any():
            raise unknown("role", roles[int(np.argmin(codes[1]))], map(str, fit_pairs.roles))
        return self.fit.parts[0].predict(Pairs(fit_pairs.fillers, fit_pairs.roles, *codes))

    def encode(self, sequences: Sequences) -> Float64[np.ndarray, "sequence d_model"]:
        """The vectors that the fit gives to sequences of fillers.

        A filler that no sequence had counts as one of the rare ones that were joined; without these, and with a role that no
        sequence had, it adds nothing.

        Args:
            sequences: Lists of fillers, or a table of tokens with ``sample``, the fillers and every column that roles are made of.

        Returns:
            One row per sequence, or per token where tokens are decomposed.
        """
        tokens = tabulate_sequences(sequences, self.plan.fillers)
        kind = self.plan.kind
        assignments = self.scheme.assign(kind, tokens, kind.members(tokens))
        fillers = tokens["filler"].to_numpy(object)[assignments.token]
        encoded = np.tile(self.fit.bias, (shape_of(assignments.members[0])[0], 1))
        for part_fit, members in zip(self.fit.parts, assignments.members, strict=True):
            filler, names = lookup_fillers(part_fit.pairs.fillers, fillers), part_fit.pairs.roles
            roles = [lookup_names(names, np.asarray(r, object)) for r in assignments.roles]
            encoded += part_fit.encode(members, [(filler, role) for role in roles])
        return encoded

    def project_out(
        self, vectors: Float64[np.ndarray, "row d_model"]
    ) -> Float64[np.ndarray, "row d_model"]:
        """Vectors without all that is a sum of fitted bindings: what a binding that was never fitted may have.

        Args:
            vectors: The vectors [row, d_model], or differences of vectors.

        Returns:
            Their parts at right angles to every fitted V[f, r].
        """
        return self.fit.project_out(vectors)


def lookup_fillers(names: pd.Index, fillers: Sequence[str] | np.ndarray) -> np.ndarray:
    """The number of every filler; where rare ones were joined, theirs for one that is not known."""
    codes = lookup_names(names, fillers)
    return np.where(codes < 0, lookup_names(names, [JOINED])[0], codes)


def tabulate_sequences(sequences: Sequences, fillers: str = "token") -> pd.DataFrame:
    """Sequences of fillers as a table of tokens with the columns ``sample`` and ``filler``."""
    if isinstance(sequences, pd.DataFrame):
        column = fillers if fillers in sequences else "filler"
        if column not in sequences or "sample" not in sequences:
            raise InputError(f"a table of sequences has the columns sample and {fillers}")
        return sequences.assign(filler=sequences[column].astype(str).to_numpy(object))
    lengths = [len(sequence) for sequence in sequences]
    flat = np.array([str(filler) for sequence in sequences for filler in sequence], object)
    return pd.DataFrame({"sample": np.repeat(np.arange(len(lengths)), lengths), "filler": flat})


@takes_paths
def decompose(
    store: Store,
    site: str,
    roles: Roles | Sequence[Roles] = "left",
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    family: str = "factored",
    rank: str | int | Ranks = AUTO,
    withheld: float = 0.1,
    embedding: str | Mapping[str, ArrayLike] | None = None,
    decoder: Decoder | None = None,
    seed: int = 0,
    rare: int = 2,
    report: Report = no_report,
) -> Decomposition:
    """The vectors of a site as sums of role–filler bindings, e ≈ b + Σ V[f, r], held out and beside controls.

    Args:
        store: The store.
        site: A site of vectors; layer -1 is the last.
        roles: A scheme: ``left right left*right wickel tree bag length before after``, ``offset`` (the distance from the
            unit's token; ``offset3`` is clipped to 3), ``expression`` (arithmetic), ``POS dependency svo`` (labelled words), a
            column of the tokens, products ``a*b`` and sums ``a+b`` of these, or a function from a sequence of fillers to
            their roles; or a list of schemes.
        fillers: The column of fillers.
        unit: What a vector is of: ``token``; ``sample`` (its only vector, or its last token's); or, of the vectors of a
            sample's tokens, their ``mean`` (then made of shares of tokens instead of counts), the ``first``, the ``last``, or
            that of the last token that reads as a mark (``.``). Default: what the site has a vector of.
        scope: What the vector of a token is made of: itself (``self``), the tokens up to it (``before``), ``all`` of
            its sample, or itself and the mean of the others (``context``).
        family: ``roles``, ``bag``, ``additive``, ``factored`` or ``saturated``, each of which contains those before;
            ``product`` (bindings alone); or ``operator`` (needs ``embedding``).
        rank: The rank of the factored family: ``auto``, a number, or one for fillers and one for roles. ``auto`` is
            the smallest that errs least, but for chance, on sequences held out of the fitting part.
        withheld: The share of filler–role pairs that no fit sees, to test whether they are predicted.
        embedding: e(f) of the operator: the site whose mean by filler it is, or (in Python) a vector by filler; default:
            the input embeddings of the stack, if the store has them.
        decoder: A function of vectors and their sequences that gives 1 for every sequence that it reads back, else 0; default: none.
        seed: Seed of random choices.
        rare: Fillers in fewer documents than this are joined to one in fits; 0 joins none. Shares of variance join none.
        report: A function that gets the name of every stage of the work as it begins; default: none is called.

    Returns:
        The decomposition. Its ``scores`` have a row per scheme, family and control, measured on a quarter of the sequences
        that no fit sees; see [columns](decomposition.md#columns-of-decompositions).

    Raises:
        InputError: No such site, column, scheme or family; attention maps; or too few sequences.

    Source: McCoy et al. 2019 (arXiv:1812.08718), in closed form.

    Examples:
        >>> fit.scores[["roles", "family", "control", "r2"]].head(1).values.tolist()
        [['left', 'additive', '', ...]]
    """
    options = {"family": family, "withheld": withheld, "embedding": embedding, "decoder": decoder}
    options |= {"seed": seed, "rare": rare}
    plan = plan_decomposition(store, site, roles, fillers, unit, scope, rank, **options)
    fields = {name for scheme in plan.schemes for name in scheme.columns}
    for name in sorted(fields & BUILT_IN.keys() & {*store.labels}):
        note(
            f"roles {name}: those of tprprobe, not the store's labels {name}: give the labels another name"
        )
    units, names = plan.read(store, site), [scheme.name for scheme in plan.schemes]
    parts = [decompose_scheme(units, store.twins, scheme, plan, report) for scheme in plan.schemes]
    fits, unwithheld, tables = zip(*parts, strict=True)
    results = Results(pd.concat(tables, ignore_index=True))
    by_name = {name: fit for name, fit in zip(names, unwithheld, strict=True) if fit}
    return Decomposition(units.site, plan, results, dict(zip(names, fits, strict=True)), by_name)


@in_one_thread
def fit_scheme(store: Store, site: str, roles: Roles, **options: Any) -> Decomposition:
    """The decomposition of a site by one scheme, fitted to all its units, without scores.

    ``options`` are those of :func:`decompose`.
    """
    plan = plan_decomposition(store, site, roles, **options)
    units, [scheme] = plan.read(store, site), plan.schemes
    [fits] = plan.begin(units, scheme)
    by_name = {scheme.name: fits.fit(plan.family, ALL)}
    return Decomposition(units.site, plan, Results(tabulate([])), by_name)
