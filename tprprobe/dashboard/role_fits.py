"""Decompositions: schemes beside controls, what is like what, what is left over, and one filler changed."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.dashboard.layers import FAMILIES
from tprprobe.dashboard.plots import R2, plot_bars, plot_dots, plot_grid
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.decomposition import load_decompositions
from tprprobe.figures.role_fits import residual_bars, scheme_table, similarity_map
from tprprobe.figures.strips import SIGNS as SHORT
from tprprobe.files.jsonfiles import read_json
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE

LEFT = "|e − ê|² / |e − ē|²"
MOST = 40  # fillers or roles of a map, the commonest
STEP = ["roles", "step", "r2", "r2_low", "r2_high", "gain", "gain_low", "gain_high"]
STEP += ["learnt", "learnt_low", "learnt_high", "twin", "rank", "n", "n_fit"]


def read_decompositions(folders: dict[str, Path]) -> pd.DataFrame:
    """The scores of finished decompositions."""
    return load_decompositions(folders.values())


def show_steps(scores: pd.DataFrame, site: str, roles: str, dark: bool = False) -> View:
    """What fillers, then roles, then bindings explain of a site's vectors, and the same fit of controls, with intervals.

    Raises:
        InputError: no decomposition of that site by these roles.
    """
    found = scores[(scores["site"] == site) & (scores["roles"] == roles)]
    if found.empty:
        raise InputError(
            f"no decomposition of {site!r} by {roles!r}: give one of {', '.join(scores['site'].unique())}"
        )
    own = found[(found["control"] == "") & found["family"].isin(FAMILIES)]
    own = own.sort_values("family", key=lambda each: each.map([*FAMILIES].index), kind="stable")
    last = own[own["family"] != "saturated"]["family"].iloc[-1] if len(own) else ""
    controls = found[(found["control"] != "") & (found["family"] == last)].sort_values("r2")
    names = [*own["family"].map(FAMILIES), *(f"{each} ({last})" for each in controls["control"])]
    both = pd.concat([own, controls])
    rows = pd.DataFrame(
        {
            "name": names,
            "group": ["vectors"] * len(own) + ["controls, the same fit"] * len(controls),
        }
    )
    rows = rows.assign(
        value=both["r2"].to_numpy(), low=both["r2_low"].to_numpy(), high=both["r2_high"].to_numpy()
    )
    title = f"{site}, roles {roles}: R², held out"
    note = scheme_table(found).caption.splitlines()[-1]
    return View(title, lambda: scheme_table(found).draw(), found, note, plot_dots(rows, R2, dark))


def list_steps(scores: pd.DataFrame, site: str) -> pd.DataFrame:
    """A row per scheme and step: roles, step, R² and what it gains over the step below (and of that what is learnt)."""
    own = scores[(scores["site"] == site) & (scores["control"] == "")]
    own = own[own["family"].isin(FAMILIES)]
    own = own.assign(step=own["family"].map(FAMILIES), order=own["family"].map([*FAMILIES].index))
    own = own.sort_values(["roles", "order"], kind="stable")
    columns = [
        name for name in STEP if name in own and (own[name] != "").any() and own[name].notna().any()
    ]
    return own[columns].reset_index(drop=True)


def fit_roles(store: Store, folder: Path, site: str, roles: str, rank: str) -> Decomposition:
    """The decomposition of a site that a finished run's settings describe, fitted to all its samples."""
    options = read_json(folder / DECOMPOSITIONS.file)["options"]
    return fit_scheme(store, site, roles, **(options | {"rank": rank or "auto"}))


def show_similarity(fit: Decomposition, of: str = "fillers", dark: bool = False) -> View:
    """How like the vectors of two fillers are over all roles (cosine, centered), or of two roles over all
    fillers.

    Raises:
        InputError: neither fillers nor roles.
    """
    if of not in ("fillers", "roles"):
        raise unknown("axis", of, ("fillers", "roles"))
    names, likeness = compare_symbols(fit, of)
    chart = plot_grid(likeness, names, names, dark, signed=True, height=420)
    table = pd.DataFrame(likeness, columns=pd.Index(names)).assign(symbol=names)
    title = f"Likeness of {of} in {fit.site} by {fit.scheme.name}"
    return View(title, partial(similarity_map, likeness, names, title), table, "", chart)


def compare_symbols(
    fit: Decomposition, of: str
) -> tuple[list[str], Float64[np.ndarray, "symbol symbol"]]:
    """The commonest fillers (or roles), and the cosines of their centered vectors."""
    pairs = fit.fit.pairs
    kept = []
    for names, own in ((pairs.fillers, pairs.filler_of), (pairs.roles, pairs.role_of)):
        seen = np.bincount(own, minlength=len(names))
        common = [str(names[i]) for i in np.argsort(-seen, kind="stable")[:MOST]]
        kept.append(sorted(common, key=lambda each: (each.isdecimal(), each.zfill(9))))
    every = fit.bindings([(filler, role) for filler in kept[0] for role in kept[1]])
    vectors = every.reshape(len(kept[0]), len(kept[1]), -1)
    vectors = vectors if of == "fillers" else vectors.transpose(1, 0, 2)
    flat = vectors.reshape(len(vectors), -1)
    flat = flat - flat.mean(0)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    return kept[of == "roles"], flat @ flat.T


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
        left = np.sum((self.vectors - self.encoded) ** 2, 1)
        return left / np.maximum(np.sum((self.vectors - self.mean) ** 2, 1), 1e-12)

    def change(self, position: int, filler: str) -> Float64[np.ndarray, "unit d_model"]:
        """What the vectors gain if the sample is encoded again with another filler at a token.

        Raises:
            InputError: no such token, or a filler that the decomposition does not know.
        """
        if not 0 <= position < len(self.tokens):
            raise InputError(f"no token {position}: this sample has 0 to {len(self.tokens) - 1}")
        known = self.fit.fit.pairs.fillers
        if filler not in known:
            raise unknown("filler", filler, map(str, known))
        fillers = self.tokens["filler"].astype(object).to_numpy(copy=True)
        fillers[position] = filler
        return (
            self.fit.encode(
                self.tokens.assign(**{"filler": fillers, self.fit.plan.fillers: fillers})
            )
            - self.encoded
        )


def read_sample(store: Store, fit: Decomposition, sample: int) -> SampleStates:
    """The states of a sample.

    Raises:
        InputError: there is no such sample.
    """
    units = fit.plan.read(store, fit.site)
    rows = np.flatnonzero(units.tokens["sample"].to_numpy() == sample)
    if not len(rows):
        raise InputError(f"no sample {sample} at {fit.site}: it has 0 to {store.samples - 1}")
    numbers = pd.factorize(units.tokens["sample"])[0]
    own = rows if fit.plan.unit != SAMPLE else numbers[rows[:1]]
    whole = store.read(fit.site, units.vectors.rows).reshape(len(units), -1).astype(np.float64)
    tokens = units.tokens.iloc[rows].reset_index(drop=True)
    return SampleStates(fit, tokens, whole[own], fit.encode(tokens), whole.mean(0))


def show_residuals(states: SampleStates, dark: bool = False) -> View:
    """What a decomposition leaves of every token's vector of a sample (or of the sample's one vector)."""
    title = (
        f"What the decomposition leaves of every vector, sample {states.tokens['sample'].iloc[0]}"
    )
    return _bars(states, states.residual, title, LEFT, dark)


def show_change(states: SampleStates, position: int, filler: str, dark: bool = False) -> View:
    """How far every vector of a sample moves if another filler stands at a token.

    Raises:
        InputError: as of :meth:`SampleStates.change`.
    """
    size = np.linalg.norm(states.vectors - states.mean, axis=1)
    moved = np.linalg.norm(states.change(position, filler), axis=1) / np.maximum(size, 1e-12)
    old = states.tokens["filler"].iloc[position]
    title = f"Encoded again with {filler!r} in place of {old!r} at {position}: how far vectors move"
    return _bars(states, moved, title, "|change| / |e − ē|", dark)


def _bars(
    states: SampleStates, values: Float64[np.ndarray, " unit"], title: str, label: str, dark: bool
) -> View:
    whole = states.fit.plan.unit == SAMPLE
    tokens = ["the sample"] if whole else [str(each) for each in states.tokens["filler"]]
    tokens = [SHORT.get(each) or each for each in tokens]
    rows = pd.DataFrame({"position": range(len(values)), "token": tokens, "value": values})
    drawn = rows.rename(columns={"value": "residual"})
    return View(
        title, partial(residual_bars, drawn, title, label), rows, "", plot_bars(rows, label, dark)
    )
