"""Decompositions: schemes beside controls, what is like what, what is left over, and one filler changed."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.dashboard.statements import Link, Statement, number, top
from tprprobe.dashboard.view import Dots, Squares, View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.decomposition import load_decompositions
from tprprobe.figures.role_fits import residual_bars, scheme_table, similarity_map
from tprprobe.figures.strips import SIGNS
from tprprobe.files.jsonfiles import read_json
from tprprobe.statistics import interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE

FAMILIES = {"bag": "fillers alone", "additive": "+ roles", "factored": "+ bindings"}
FAMILIES |= {"saturated": "+ a vector a pair"}
STEPS = {"bag": "fillers alone", "additive": "roles", "factored": "bindings"}  # of a sentence
MOST = 40  # fillers or roles of a map, the commonest
STEP = ["roles", "step", "r2", "r2_low", "r2_high", "gain", "gain_low", "gain_high"]
STEP += ["learnt", "learnt_low", "learnt_high", "twin", "rank", "n", "n_fit"]


def read_scores(folder: Path) -> pd.DataFrame:
    """The scores of a finished decomposition."""
    return load_decompositions([folder])


def list_families(scores: pd.DataFrame) -> pd.DataFrame:
    """The nested fits of these scores without controls, by site and scheme, from fillers alone upwards; ``step`` in words."""
    own = scores[(scores["control"] == "") & scores["family"].isin(FAMILIES)]
    own = own.assign(step=own["family"].map(FAMILIES), order=own["family"].map([*FAMILIES].index))
    return own.sort_values(["roles", "order"], kind="stable").drop_duplicates(
        ["site", "roles", "family"]
    )


def show_steps(scores: pd.DataFrame, site: str, roles: str) -> View:
    """What fillers, then roles, then bindings explain of a site's vectors, and the same fit of controls, with intervals.

    Raises:
        InputError: no decomposition of that site by these roles.
    """
    found = scores[(scores["site"] == site) & (scores["roles"] == roles)]
    if found.empty:
        known = ", ".join(scores["site"].unique())
        raise InputError(f"no decomposition of {site!r} by {roles!r}: give one of {known}")
    own = list_families(found)
    last = next(iter(own.loc[own["family"] != "saturated", "family"][::-1]), "")
    controls = found[(found["control"] != "") & (found["family"] == last)].sort_values("r2")
    named = [own.assign(name=own["step"], group="vectors")]
    named += [
        controls.assign(name=controls["control"] + f" ({last})", group="controls, the same fit")
    ]
    rows = pd.concat(named).rename(columns={"r2": "value", "r2_low": "low", "r2_high": "high"})
    table = scheme_table(found)
    dots = Dots(rows[["name", "group", "value", "low", "high"]], "R²")
    return View(
        f"{site}, roles {roles}: R², held out",
        found,
        dots,
        table.draw,
        table.caption.splitlines()[-1],
    )


def list_steps(scores: pd.DataFrame, site: str) -> pd.DataFrame:
    """A row per scheme and step: roles, step, R² and what it gains over the step below (and of that what is learnt)."""
    own = list_families(scores[scores["site"] == site])
    known = [each for each in STEP if each in own and own[each].replace("", np.nan).notna().any()]
    return own[known].reset_index(drop=True)


def find_scheme(scores: pd.DataFrame) -> Any:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    own = scores[scores["control"] == ""]
    has_roles = own[~own["family"].isin(["bag", "roles"]) & (own["n_roles"] > 1)]
    asked = has_roles[has_roles["family"] == "factored"]
    return top(next(each for each in (asked, has_roles, own) if len(each)), "r2")


def tell_decomposition(scores: pd.DataFrame, site: str, roles: str = "") -> Statement:
    """What fillers, then roles, then bindings explain of a state, step by step, and controls of the last step."""
    of_site = scores[scores["site"] == site]
    roles = roles or str(find_scheme(of_site)["roles"])
    of_scheme = of_site[of_site["roles"] == roles]
    own, controls = (of_scheme[(of_scheme["control"] == "") == is_own] for is_own in (True, False))
    rows = {row["family"]: row for row in own.to_dict("records")}
    steps = [name for name in STEPS if name in rows] or list(rows)[:1]
    told = [_tell_step(rows[name], name, is_first=name == steps[0]) for name in steps]
    text = f"{site}, roles ‘{roles}’, held out: {'; '.join(told)}."
    same = controls[controls["family"] == steps[-1]].sort_values("r2").to_dict("records")
    if same:
        beside = ", ".join(f"{row['control']} {row['r2']:.3f}" for row in same)
        text += f" The same fit ({steps[-1]}) of controls: {beside}."
    return Statement(
        text, (Link(f"Show ‘{roles}’", "decomposition", {"of": site, "scheme": roles}),)
    )


def _tell_step(row: dict[Any, Any], name: str, is_first: bool) -> str:
    """One step: its R², what it adds to the step below, and how much of that is learnt."""
    word, r2 = STEPS.get(name, name), f"R² {number(row, 'r2')}"
    if is_first:
        return f"{word} {r2}"
    if np.isnan(row.get("gain", np.nan)):
        return f"with {word} {r2}"
    gain = read_interval(row, "gain")
    surely = "add" if gain.low > 0 else "lose" if gain.high < 0 else "add nothing sure,"
    has_twin = not np.isnan(row.get("learnt", np.nan))
    learnt = (
        f", of which learnt (beyond the {row['twin']} twin) {number(row, 'learnt', '+.3f')}"
        if has_twin
        else ""
    )
    return f"{word} {surely} {interval_text(gain, '+.3f')} ({r2}){learnt}"


def fit_roles(store: Store, folder: Path, site: str, roles: str, rank: str) -> Decomposition:
    """The decomposition of a site that a finished run's settings describe, fitted to all its samples."""
    options = read_json(folder / DECOMPOSITIONS.file)["options"]
    return fit_scheme(store, site, roles, **(options | {"rank": rank or "auto"}))


def show_similarity(fit: Decomposition, of: str = "fillers") -> View:
    """How like the vectors of two fillers are over all roles (cosine, centered), or of two roles over all
    fillers, of the commonest.

    Raises:
        InputError: neither fillers nor roles.
    """
    if of not in ("fillers", "roles"):
        raise unknown("axis", of, ("fillers", "roles"))
    pairs, kept = fit.fit.pairs, []
    for names, own in ((pairs.fillers, pairs.filler_of), (pairs.roles, pairs.role_of)):
        common = np.argsort(-np.bincount(own, minlength=len(names)), kind="stable")[:MOST]
        found = [str(names[i]) for i in common]
        kept.append(sorted(found, key=lambda each: (each.isdecimal(), each.zfill(9))))
    every = fit.bindings([(filler, role) for filler in kept[0] for role in kept[1]])
    vectors = every.reshape(len(kept[0]), len(kept[1]), -1)
    vectors, symbols = (vectors, kept[0]) if of == "fillers" else (vectors.swapaxes(0, 1), kept[1])
    flat = vectors.reshape(len(symbols), -1)
    flat = flat - flat.mean(0)
    flat = flat / np.maximum(np.linalg.norm(flat, axis=1, keepdims=True), 1e-12)
    likeness, title = flat @ flat.T, f"Likeness of {of} in {fit.site} by {fit.scheme.name}"
    table = pd.DataFrame(likeness, columns=pd.Index(symbols)).assign(symbol=symbols)
    grid = Squares(likeness, symbols, symbols, signed=True)
    return View(title, table, grid, partial(similarity_map, likeness, symbols, title))


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
        changed = self.tokens.assign(**{"filler": fillers, self.fit.plan.fillers: fillers})
        return self.fit.encode(changed) - self.encoded


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


def show_residuals(states: SampleStates) -> View:
    """What a decomposition leaves of every token's vector of a sample (or of the sample's one vector)."""
    title = (
        f"What the decomposition leaves of every vector, sample {states.tokens['sample'].iloc[0]}"
    )
    return _show_tokens(states, states.residual, title, "|e − ê|² / |e − ē|²")


def show_change(states: SampleStates, position: int, filler: str) -> View:
    """How far every vector of a sample moves if another filler stands at a token.

    Raises:
        InputError: as of :meth:`SampleStates.change`.
    """
    size = np.linalg.norm(states.vectors - states.mean, axis=1)
    moved = np.linalg.norm(states.change(position, filler), axis=1) / np.maximum(size, 1e-12)
    old = states.tokens["filler"].iloc[position]
    title = f"Encoded again with {filler!r} in place of {old!r} at {position}: how far vectors move"
    return _show_tokens(states, moved, title, "|change| / |e − ē|")


def _show_tokens(
    states: SampleStates, values: Float64[np.ndarray, " unit"], title: str, label: str
) -> View:
    """A square a token, with its percent."""
    is_whole = states.fit.plan.unit == SAMPLE
    tokens = ["the sample"] if is_whole else [str(each) for each in states.tokens["filler"]]
    tokens = [SIGNS.get(each) or each for each in tokens]
    rows = pd.DataFrame({"position": range(len(values)), "token": tokens, "residual": values})
    texts = np.char.mod("%.0f", 100 * values)[None]
    grid = Squares(
        values[None], [""], [f"{i} {each}" for i, each in enumerate(tokens)], ("", ""), texts, texts
    )
    note = f"percent of {label}"
    return View(title, rows, grid, partial(residual_bars, rows, title, label), note)
