"""A decomposition, fitted again: which fillers and roles are alike, what is left over of a sample, and one filler changed."""

from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.dashboard.view import Squares, View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.role_fits import residual_bars, similarity_map
from tprprobe.files.jsonfiles import read_json
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.sampling import Thinned, count_drawn, take, thin
from tprprobe.store.token_texts import sign as sign

MOST = 40  # fillers or roles of a map, the commonest


def fit_roles(store: Store, folder: Path, site: str, roles: str, rank: str) -> Decomposition:
    """The decomposition of a site that a finished run's settings describe, fitted to its samples; of a large store to some."""
    options = read_json(folder / DECOMPOSITIONS.file)["options"]
    part = _take_part(store, site)
    return fit_scheme(part, site, roles, **(options | {"rank": rank or "auto"}))


def _take_part(store: Store, site: str, *samples: int) -> Store:
    """The part of a store that is fitted, whole samples drawn at random, and these samples."""
    part = thin(store, store.select(site)[0], count_drawn(store, site))
    if not samples or not isinstance(part, Thinned):
        return part
    return take(store, np.union1d(part.kept, samples))


def summarize_part(store: Store, site: str) -> str:
    """How much of a store is fitted; empty if all of it is."""
    fitted, total = (len(each.tokens_of(site)) for each in (_take_part(store, site), store))
    some = f"Fitted to {fitted:,} of {total:,} vectors, whole samples drawn at random."
    return some if fitted < total else ""


def show_similarity(fit: Decomposition, of: str = "fillers") -> View:
    """How like the commonest fillers are over all roles, or roles over all fillers: cosine, centered."""
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
    likeness = flat @ flat.T
    title = f"Similarity of {of} in {fit.site} by {fit.scheme.name}"
    table = pd.DataFrame(likeness, columns=pd.Index(symbols)).assign(symbol=symbols)
    labels = [*map(sign, symbols)]
    grid = Squares(likeness, labels, labels, signed=True)
    return View(title, table, grid, partial(similarity_map, likeness, labels, title))


@dataclass(frozen=True, eq=False)
class SampleStates:
    """One sample's tokens, its vectors at a site, those that a decomposition gives it, and the mean of all."""

    fit: Decomposition
    tokens: pd.DataFrame
    vectors: Float64[np.ndarray, "unit d_model"]
    encoded: Float64[np.ndarray, "unit d_model"]
    mean: Float64[np.ndarray, " d_model"]


def read_sample(store: Store, fit: Decomposition, sample: int) -> SampleStates:
    """The states of a sample."""
    store = _take_part(store, fit.site, sample)
    units = fit.plan.read(store, fit.site)
    rows = np.flatnonzero(units.tokens["sample"].to_numpy() == sample)
    if not len(rows):
        raise InputError(f"no sample {sample} at {fit.site}: choose another")
    numbers = pd.factorize(units.tokens["sample"])[0]
    own = rows if fit.plan.unit != SAMPLE else numbers[rows[:1]]
    whole = np.concatenate([block for _, block in units.vectors.blocks()])
    tokens = units.tokens.iloc[rows].reset_index(drop=True)
    return SampleStates(fit, tokens, whole[own], fit.encode(tokens), whole.mean(0))


def show_residuals(states: SampleStates) -> View:
    """What a decomposition leaves of every token's vector of a sample (or of the sample's one vector); 1 is what the mean leaves."""
    title = f"The part of every vector that the decomposition does not explain, sample {states.tokens['sample'].iloc[0]}"
    left = np.sum((states.vectors - states.encoded) ** 2, 1)
    residual = left / np.maximum(np.sum((states.vectors - states.mean) ** 2, 1), 1e-12)
    return _show_tokens(states, residual, title, "|e − ê|² / |e − ē|²")


def show_change(states: SampleStates, position: int, filler: str) -> View:
    """How far every vector of a sample moves if it is encoded again with another filler at a token."""
    tokens, known = states.tokens, states.fit.fit.pairs.fillers
    if not 0 <= position < len(tokens):
        raise InputError(f"no token {position}: this sample has 0 to {len(tokens) - 1}")
    if filler not in known:
        raise unknown("filler", filler, map(str, known))
    fillers = tokens["filler"].astype(object).to_numpy(copy=True)
    old, fillers[position] = fillers[position], filler
    changed = tokens.assign(**{"filler": fillers, states.fit.plan.fillers: fillers})
    moved = np.linalg.norm(states.fit.encode(changed) - states.encoded, axis=1)
    size = np.linalg.norm(states.vectors - states.mean, axis=1)
    title = f"Encoded again with ‘{sign(filler)}’ in place of ‘{sign(old)}’ at {position}: how far vectors move"
    return _show_tokens(states, moved / np.maximum(size, 1e-12), title, "|change| / |e − ē|")


def _show_tokens(
    states: SampleStates, values: Float64[np.ndarray, " unit"], title: str, label: str
) -> View:
    """A square a token, with its percent."""
    is_whole = states.fit.plan.unit == SAMPLE
    tokens = ["the sample"] if is_whole else [*map(sign, states.tokens["filler"])]
    rows = pd.DataFrame({"position": range(len(values)), "token": tokens, "residual": values})
    texts = np.char.mod("%.0f", 100 * values)[None]
    columns = [f"{i} {each}" for i, each in enumerate(tokens)]
    grid = Squares(values[None], [""], columns, ("", ""), texts, texts)
    note = f"percent of {label}"
    return View(title, rows, grid, partial(residual_bars, rows, title, label), note)
