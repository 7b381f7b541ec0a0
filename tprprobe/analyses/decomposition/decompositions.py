"""The decomposition of a site's vectors into roles and fillers: fits, scores, controls, re-encoding."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition.choices import AUTO, read_rank
from tprprobe.analyses.decomposition.designs import design, gather
from tprprobe.analyses.decomposition.families import FACTORED, RoleFit
from tprprobe.analyses.decomposition.interactions import Ranks
from tprprobe.analyses.decomposition.pair_counts import Pairs, number
from tprprobe.analyses.decomposition.role_schemes import Roles, RoleScheme, read_scheme
from tprprobe.analyses.decomposition.scheme_fits import SchemeFits
from tprprobe.analyses.decomposition.scheme_scores import Decoder
from tprprobe.analyses.decomposition.scheme_tables import (
    DecompositionPlan,
    arrange,
    decompose_scheme,
    embed,
)
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.errors import InputError, unknown
from tprprobe.files.notebook import as_html
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.opening import takes_paths

Sequences = Sequence[Sequence[object]] | pd.DataFrame


@dataclass(frozen=True, eq=False)
class Decomposition:
    """The decomposition of a site by one role scheme or several.

    ``scores`` is the tidy table of :func:`decompose`; ``fits`` has the fit of every scheme to all
    sequences, by name. What is asked of the decomposition itself is asked of its first scheme.
    """

    site: str
    plan: DecompositionPlan
    scores: pd.DataFrame
    fits: Mapping[str, RoleFit]

    def __getitem__(self, roles: str) -> "Decomposition":
        """The same of one scheme."""
        name = read_scheme(roles).name
        if name not in self.fits:
            raise unknown("scheme of roles", roles, self.fits)
        scores = self.scores[self.scores["roles"] == name].reset_index(drop=True)
        return Decomposition(self.site, self.plan, scores, {name: self.fits[name]})

    def _repr_html_(self) -> str:
        shown = self.scores[["roles", "family", "control", "rank", "r2", "r2_low", "r2_high"]]
        return as_html(
            f"{self.site} as a sum of bindings", shown, interval=("r2", "r2_low", "r2_high")
        )

    @property
    def fit(self) -> RoleFit:
        """The fit of the first scheme: its pairs, their vectors, the intercept, its factors."""
        return next(iter(self.fits.values()))

    @property
    def scheme(self) -> RoleScheme:
        """The first scheme."""
        return next(each for each in self.plan.schemes if each.name in self.fits)

    def bindings(
        self, pairs: Sequence[tuple[object, object]]
    ) -> Float64[np.ndarray, "binding d_model"]:
        """V of (filler, role) pairs, a row each.

        Raises:
            InputError: a filler or role that the fit does not have.
        """
        of = self.fit.pairs
        codes: list[np.ndarray] = []
        for kind, names, given in zip(
            ("filler", "role"), (of.fillers, of.roles), zip(*pairs, strict=True), strict=True
        ):
            found = number(names, [str(each) for each in given])
            if (found < 0).any():
                raise unknown(kind, given[int(np.argmin(found))], map(str, names))
            codes.append(found)
        return self.fit.vectors_of(Pairs(of.fillers, of.roles, *codes))

    def encode(self, sequences: Sequences) -> Float64[np.ndarray, "sequence d_model"]:
        """The vectors that the fit gives to sequences of fillers, a row a sequence (a row a token where
        tokens are decomposed).

        Sequences are lists of fillers, or a table of tokens with ``sample``, the fillers and every
        column that roles are made of. A filler or role that no sequence had adds nothing.
        """
        tokens = table_of(sequences, self.plan.fillers)
        sample = pd.factorize(tokens["sample"])[0]
        members = members_of(sample, self.plan.unit, self.plan.scope)
        encoded = np.zeros((members[0].shape[0], len(self.fit.bias))) + self.fit.bias
        for part, of_unit in zip(self.fit.parts, members, strict=True):
            at_token = np.zeros((len(tokens), len(self.fit.bias)))
            filler = number(part.pairs.fillers, tokens["filler"].to_numpy(object))
            for term in self.scheme.label(tokens):
                role = number(part.pairs.roles, np.asarray(term, object))
                known = np.flatnonzero((filler >= 0) & (role >= 0))
                asked = Pairs(part.pairs.fillers, part.pairs.roles, filler[known], role[known])
                at_token[known] += part.vectors_of(asked)
            encoded += of_unit @ at_token
        return encoded


def table_of(sequences: Sequences, fillers: str = "token") -> pd.DataFrame:
    """Sequences of fillers as a table of tokens with the columns ``sample`` and ``filler``."""
    if isinstance(sequences, pd.DataFrame):
        of = fillers if fillers in sequences else "filler"
        if of not in sequences or "sample" not in sequences:
            raise InputError(f"a table of sequences has the columns sample and {fillers}")
        return sequences.assign(filler=sequences[of].astype(str).to_numpy(object))
    lists = [list(map(str, each)) for each in sequences]
    sample = np.repeat(np.arange(len(lists)), [len(each) for each in lists])
    flat = np.array([each for row in lists for each in row], object)
    return pd.DataFrame({"sample": sample, "filler": flat})


def plan_decomposition(
    store: Store,
    site: str,
    roles: Roles | Sequence[Roles],
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    family: str = FACTORED,
    rank: str | int | Ranks = AUTO,
    withheld: float = 0.1,
    embedding: str | Mapping[str, Any] | None = None,
    decoder: Decoder | None = None,
    seed: int = 0,
) -> DecompositionPlan:
    """The plan of the keywords of :func:`decompose`; nothing is fitted yet."""
    given = [roles] if isinstance(roles, str) or callable(roles) else list(roles)
    side = store.side(store.select(site)[0])
    return DecompositionPlan(
        tuple(map(read_scheme, given)),
        fillers,
        unit or (SAMPLE if side == SAMPLE else "token"),
        scope,
        family,
        read_rank(rank),
        withheld,
        embedding,
        decoder,
        seed,
    )


@takes_paths
def decompose(
    store: Store,
    site: str,
    roles: Roles | Sequence[Roles] = "left",
    fillers: str = "token",
    unit: str | None = None,
    scope: str = "self",
    family: str = FACTORED,
    rank: str | int | Ranks = AUTO,
    withheld: float = 0.1,
    embedding: str | Mapping[str, Any] | None = None,
    decoder: Decoder | None = None,
    seed: int = 0,
) -> Decomposition:
    """The vectors of a site as sums of role–filler bindings, e ≈ b + Σ V[f, r], held out and beside
    controls.

    roles      a scheme: ``left right left*right wickel tree bag length before after`` (built in),
               ``expression`` (arithmetic), ``POS dependency svo`` (labelled words), a column of the
               tokens, products ``a*b`` and sums ``a+b`` of these, or a function of a sequence of
               fillers that gives a role a filler; or a list of schemes
    fillers    the column of fillers
    unit       what a vector is of: ``sample`` (of tokens' sites the last token's) or ``token``, which
               is made of itself, of the tokens up to it, or of all of its sample (``scope`` self,
               before, all)
    family     roles, bag, additive, factored or saturated, each of which contains those before; product
               (bindings alone) or operator (needs ``embedding``)
    rank       of the factored: auto, a number, or one for fillers and one for roles; auto is the
               smallest that errs least, but for chance, on sequences held out of the fitting part
    withheld   the share of pairs that is withheld to be predicted
    embedding  e(f) of the operator: a vector by filler, or the site whose mean by filler it is
    decoder    a function of vectors and their sequences that says which sequences it reads back

    ``scores`` has a row per scheme, family and control: nothing, ``shuffled roles`` (within a sequence),
    ``shuffled fillers`` (across), ``random vectors`` (normal, of the same covariance), ``pca`` (of
    as many dimensions as the fit has, where these are not all), ``permuted`` and ``untrained`` (the
    twins that the store has), ``itself`` (the vectors, where there is a decoder).
    gain       the difference of R² to the family ``over`` (below) which it is, paired, on the same sequences;
    learnt     the same less the gain of the ``twin`` (permuted or untrained weights), where the store has one
    r2, substitution  on a quarter of the sequences, never fitted; with ``_low`` and ``_high``,
               95 % intervals over sequences (documents)
    …_withheld  of a fit without the withheld pairs, on held-out sequences that have one
    n, n_withheld, n_fit  units that these are of
    Source: McCoy et al. 2019 (arXiv:1812.08718), whose substitution accuracy this is, by closed form.

    Raises:
        InputError: no such site, column, scheme or family; attention maps; too few sequences.
    """
    keywords = (fillers, unit, scope, family, rank, withheld, embedding, decoder, seed)
    plan = plan_decomposition(store, site, roles, *keywords)
    units, schemes = plan.read(store, site), plan.schemes
    found = [decompose_scheme(units, store.twins, scheme, plan) for scheme in schemes]
    table = pd.concat([table for _, table in found], ignore_index=True)
    scores = arrange(table, decoder is not None)
    fits = {scheme.name: fit for scheme, (fit, _) in zip(schemes, found, strict=True)}
    return Decomposition(units.site, plan, scores, fits)


def fit_scheme(store: Store, site: str, roles: Roles, **options: Any) -> Decomposition:
    """The decomposition of a site by one scheme, fitted to all its units, without scores.

    ``options`` are those of :func:`decompose`.

    Raises:
        InputError: as of :func:`decompose`.
    """
    plan = plan_decomposition(store, site, roles, **options)
    units, [scheme] = plan.read(store, site), plan.schemes
    real = next(iter(design(units, scheme, plan.withheld, plan.seed)))
    embedding = embed(units, real.pairs, plan.embedding)
    fits = SchemeFits(real, units.vectors, gather(units.vectors, [real])[0], plan.ranks, embedding)
    fit = fits.fit_all(plan.family)
    return Decomposition(units.site, plan, pd.DataFrame(), {scheme.name: fit})
