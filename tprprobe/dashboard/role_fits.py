"""A decomposition, fitted: which fillers and roles are alike, what is left over of a sample, and one filler changed."""

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition import Decomposition
from tprprobe.analyses.decomposition.sample_states import SampleStates, compare_symbols, take_part
from tprprobe.analyses.decomposition.sample_states import fit_roles as fit_roles
from tprprobe.analyses.decomposition.sample_states import read_sample as read_sample
from tprprobe.dashboard.view import View
from tprprobe.figures.scenes import Squares
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.token_texts import sign as sign

MAX_SYMBOLS = 40  # fillers or roles of a map, the commonest


def summarize_part(store: Store, site: str) -> str:
    """How much of a store is fitted; empty if all of it is."""
    n_fitted, total = (len(tokens.tokens_of(site)) for tokens in (take_part(store, site), store))
    text = f"Fitted to {n_fitted:,} of {total:,} vectors, whole samples drawn at random."
    return text if n_fitted < total else ""


def show_similarity(fit: Decomposition, axis: str = "fillers") -> View:
    """How like fillers are over all roles, or roles over all fillers, of the commonest."""
    symbols, likeness = compare_symbols(fit, axis, MAX_SYMBOLS)
    title = f"Similarity of {axis} in {fit.site} by {fit.scheme.name}"
    table = pd.DataFrame(likeness, columns=pd.Index(symbols)).assign(symbol=symbols)
    labels = [*map(sign, symbols)]
    return View(title, table, Squares(likeness, labels, labels, signed=True, bar="cosine"))


def show_residuals(states: SampleStates) -> View:
    """What a decomposition leaves of every token's vector of a sample (or of the sample's one vector)."""
    title = f"The part of every vector that the decomposition does not explain, sample {states.tokens['sample'].iloc[0]}"
    return _show_tokens(states, states.residual, title, "|e − ê|² / |e − ē|²")


def show_change(states: SampleStates, position: int, filler: str) -> View:
    """How far every vector of a sample moves if another filler stands at a token."""
    size = np.linalg.norm(states.vectors - states.mean, axis=1)
    moved = np.linalg.norm(states.change(position, filler), axis=1) / np.maximum(size, 1e-12)
    before = states.tokens["filler"].iloc[position]
    title = f"Encoded again with ‘{sign(filler)}’ in place of ‘{sign(before)}’ at {position}: how far vectors move"
    return _show_tokens(states, moved, title, "|change| / |e − ē|")


def _show_tokens(
    states: SampleStates, values: Float64[np.ndarray, " unit"], title: str, label: str
) -> View:
    """A square a token, with its percent."""
    is_sample = states.fit.plan.unit == SAMPLE
    tokens = ["the sample"] if is_sample else [*map(sign, states.tokens["filler"])]
    rows = pd.DataFrame({"position": range(len(values)), "token": tokens, "residual": values})
    texts = np.char.mod("%.0f", 100 * values)[None]
    columns = [f"{i} {token}" for i, token in enumerate(tokens)]
    scene = Squares(values[None], [""], columns, ("", ""), texts, texts)
    return View(title, rows, scene, f"percent of {label}")
