"""A decomposition fitted again: which fillers and roles are alike in it, and the vectors that it gives to one sample."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Float64, Int

from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.errors import InputError, unknown
from tprprobe.files.jsonfiles import read_json
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.samples import Thinned, count_drawn, take, thin


def fit_roles(store: Store, folder: Path, site: str, roles: str, rank: str) -> Decomposition:
    """The decomposition of a site, fitted again with the settings of a finished run; of a large store, to some of its samples."""
    options = read_json(folder / DECOMPOSITIONS.file)["options"]
    thinned = take_part(store, site)
    return fit_scheme(thinned, site, roles, **(options | {"rank": rank or "auto"}))


def take_part(store: Store, site: str, *samples: int) -> Store:
    """The part of a store that is fitted, whole samples drawn at random, and these samples."""
    thinned = thin(store, store.select(site)[0], count_drawn(store, site))
    if not samples or not isinstance(thinned, Thinned):
        return thinned
    return take(store, np.union1d(thinned.sample_ids, samples))


def compare_symbols(
    fit: Decomposition, axis: str, max_symbols: int
) -> tuple[list[str], Float[np.ndarray, "symbol symbol"]]:
    """The commonest fillers (or roles), and how like their vectors are over all roles (or fillers): cosine, centered."""
    if axis not in ("fillers", "roles"):
        raise unknown("axis", axis, ("fillers", "roles"))
    pairs = fit.fit.pairs
    fillers = _commonest(pairs.fillers, pairs.filler_of, max_symbols)
    roles = _commonest(pairs.roles, pairs.role_of, max_symbols)
    table = fit.bindings([(filler, role) for filler in fillers for role in roles])
    table = table.reshape(len(fillers), len(roles), -1)
    vectors, symbols = (table, fillers) if axis == "fillers" else (table.swapaxes(0, 1), roles)
    flat = vectors.reshape(len(symbols), -1)
    flat = flat - flat.mean(0)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    return symbols, flat @ flat.T


def _commonest(names: pd.Index, symbols: Int[np.ndarray, " pair"], n: int) -> list[str]:
    """The names of the symbols of most pairs, words before numbers."""
    order = np.argsort(-np.bincount(symbols, minlength=len(names)), kind="stable")[:n]
    return sorted(map(str, names[order]), key=lambda name: (name.isdecimal(), name.zfill(9)))


@dataclass(frozen=True, eq=False)
class SampleStates:
    """One sample's tokens, its vectors at a site, and those that a decomposition gives it."""

    fit: Decomposition
    tokens: pd.DataFrame
    vectors: Float64[np.ndarray, "unit d_model"]
    encoded: Float64[np.ndarray, "unit d_model"]
    mean: Float64[np.ndarray, " d_model"]

    @property
    def residual(self) -> Float64[np.ndarray, " unit"]:
        """|e − ê|² / |e − ē|² of every unit; 1 is what the mean leaves."""
        errors = np.sum((self.vectors - self.encoded) ** 2, 1)
        return errors / np.maximum(np.sum((self.vectors - self.mean) ** 2, 1), 1e-12)

    def change(self, position: int, filler: str) -> Float64[np.ndarray, "unit d_model"]:
        """What the vectors gain if the sample is encoded again with another filler at a token."""
        if not 0 <= position < len(self.tokens):
            raise InputError(f"no token {position}: this sample has 0 to {len(self.tokens) - 1}")
        names = self.fit.fit.pairs.fillers
        if filler not in names:
            raise unknown("filler", filler, map(str, names))
        fillers = self.tokens["filler"].astype(object).to_numpy(copy=True)
        fillers[position] = filler
        changed = self.tokens.assign(**{"filler": fillers, self.fit.plan.fillers: fillers})
        return self.fit.encode(changed) - self.encoded


def read_sample(store: Store, fit: Decomposition, sample: int) -> SampleStates:
    """The states of a sample."""
    units = fit.plan.read(take_part(store, fit.site, sample), fit.site)
    rows = np.flatnonzero(units.tokens["sample"].to_numpy() == sample)
    if not len(rows):
        raise InputError(f"no sample {sample} at {fit.site}: choose another")
    numbers = pd.factorize(units.tokens["sample"])[0]
    unit_rows = rows if fit.plan.unit != SAMPLE else numbers[rows[:1]]
    vectors = units.vectors.load()
    tokens = units.tokens.iloc[rows].reset_index(drop=True)
    return SampleStates(fit, tokens, vectors[unit_rows], fit.encode(tokens), vectors.mean(0))
