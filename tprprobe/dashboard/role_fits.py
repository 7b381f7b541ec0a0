"""Decompositions: schemes beside controls, what is like what, what is left over, and one filler changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import plotly.graph_objects as go
import torch
from jaxtyping import Float64
from torch import Tensor

from tprprobe.analyses.decomposition import Decomposition, fit_scheme
from tprprobe.analyses.decomposition.sequence_units import members_of
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.dashboard.findings import R2, show_dots
from tprprobe.dashboard.safe_text import plotted
from tprprobe.dashboard.theme import colours, dress, look
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError, unknown
from tprprobe.figures.catalogue.decomposition import load_decompositions
from tprprobe.figures.role_fits import residual_bars, scheme_table, similarity_map
from tprprobe.figures.strips import SIGNS as SHORT
from tprprobe.files.jsonfiles import read_json
from tprprobe.interventions.edits import Edit, Place
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import intervene
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE, SIDES

LEFT = "|e − ê|² / |e − ē|²"
MOST = 40  # fillers or roles of a map, the commonest


def read_decompositions(folders: dict[str, Path]) -> pd.DataFrame:
    """The scores of finished decompositions."""
    return load_decompositions(folders.values())


def show_schemes(scores: pd.DataFrame, site: str, dark: bool = False) -> View:
    """R² of every scheme at a site by family, and beside its controls, with intervals.

    Raises:
        InputError: no decomposition of that site.
    """
    of_site = scores[scores["site"] == site]
    if of_site.empty:
        raise InputError(
            f"no decomposition of {site!r}: give one of {', '.join(scores['site'].unique())}"
        )
    told = of_site["control"].where(of_site["control"] != "", of_site["family"])
    rows = pd.DataFrame(
        {"name": of_site["roles"] + ": " + told, "group": of_site["roles"], "value": of_site["r2"]}
        | {"low": of_site["r2_low"], "high": of_site["r2_high"]}
    )
    view = show_dots(rows, f"Role schemes of {site}: R², held out", R2, dark)
    note = scheme_table(of_site).caption.splitlines()[-1]
    return View(view.title, view.chart, lambda: scheme_table(of_site).draw(), of_site, note)


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
    shown = [plotted(each, 12) for each in names]
    chart = go.Figure(
        go.Heatmap(
            z=likeness, zmin=-1, zmax=1, zmid=0, x=shown, y=shown,
            colorscale="RdBu", reversescale=True, colorbar={"thickness": 10, "len": 0.6},
            hovertemplate="%{y}, %{x}: %{z:.2f}<extra></extra>",
        )
    )  # fmt: skip
    dress(chart, 420, dark, "zoom")
    chart.update_xaxes(type="category", constrain="domain", tickangle=-60)
    chart.update_yaxes(type="category", autorange="reversed", constrain="domain", scaleanchor="x")
    table = pd.DataFrame(likeness, columns=pd.Index(names)).assign(symbol=names)
    title = f"Likeness of {of} in {fit.site} by {fit.scheme.name}"
    return View(title, chart, partial(similarity_map, likeness, names, title), table)


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
        """What the vectors gain if another filler is bound at the role of a token.

        Raises:
            InputError: no such token, or a filler that the decomposition does not know.
        """
        if not 0 <= position < len(self.tokens):
            raise InputError(f"no token {position}: this sample has 0 to {len(self.tokens) - 1}")
        known = self.fit.fit.pairs.fillers
        if filler not in known:
            raise unknown("filler", filler, map(str, known))
        roles = [str(term[position]) for term in self.fit.scheme.label(self.tokens)]
        old = str(self.tokens["filler"].iloc[position])
        of_roles = [role for role in roles if role in self.fit.fit.pairs.roles]
        new, gone = (self.fit.bindings([(each, r) for r in of_roles]) for each in (filler, old))
        sample = np.zeros(len(self.tokens), int)
        members = members_of(sample, self.fit.plan.unit, self.fit.plan.scope)[0]
        at_token = np.zeros((len(self.tokens), self.encoded.shape[1]))
        at_token[position] = (new - gone).sum(0)
        return members @ at_token


def first_change(states: SampleStates) -> tuple[int, int]:
    """The token that is changed first (a digit, else the middle one), and the number of the filler that it
    becomes: the next one.
    """
    tokens = states.tokens["filler"].astype(str).tolist()
    digits = [i for i, token in enumerate(tokens) if token.isdigit()]
    position = digits[0] if digits else len(tokens) // 2
    return position, next_filler(states, position)


def next_filler(states: SampleStates, position: int) -> int:
    """The number of the filler behind that of a token; behind a digit's the next digit's."""
    own, known = (
        str(states.tokens["filler"].iloc[position]),
        list(map(str, states.fit.fit.pairs.fillers)),
    )
    among = [i for i, each in enumerate(known) if each.isdigit() == own.isdigit()] or [0]
    at = among.index(known.index(own)) if own in known else -1
    return among[(at + 1) % len(among)]


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


def read_tokens(fit: Decomposition, tokens: Sequence[str]) -> SampleStates:
    """The states that a decomposition gives the tokens of any text.

    Raises:
        InputError: roles that only a store's columns tell.
    """
    table = pd.DataFrame({"sample": 0, "position": range(len(tokens)), "token": list(tokens)})
    table = table.assign(filler=table["token"])
    try:
        encoded = fit.encode(table)
    except KeyError as error:
        raise InputError(
            f"the roles {fit.scheme.name} need the column {error} of a store"
        ) from None
    return SampleStates(fit, table, encoded, encoded, encoded.mean(0))


def show_residuals(states: SampleStates, dark: bool = False) -> View:
    """What a decomposition leaves of every token's vector of a sample (or of the sample's one vector)."""
    left = states.residual
    whole = states.fit.plan.unit == SAMPLE
    names = ["the sample"] if whole else [str(each) for each in states.tokens["filler"]]
    rows = pd.DataFrame({"position": range(len(left)), "token": names, "residual": left})
    chart = _bars(rows, LEFT, dark)
    line = {"dash": "dot", "width": 1, "color": look(dark).soft}
    chart.add_hline(1, line=line, annotation_text="the mean", annotation_position="top left")
    title = (
        f"What the decomposition leaves of every vector, sample {states.tokens['sample'].iloc[0]}"
    )
    return View(title, chart, partial(residual_bars, rows, title, LEFT), rows)


def _bars(rows: pd.DataFrame, label: str, dark: bool) -> go.Figure:
    chart = go.Figure(
        go.Bar(
            x=rows["position"], y=rows["residual"], marker={"color": colours(6)[-1]},
            text=[plotted(SHORT.get(each) or each, 6) for each in rows["token"]], textposition="outside",
            cliponaxis=False, constraintext="none", textangle=0,
            hovertext=[plotted(each) for each in rows["token"]],
            hovertemplate="%{hovertext} at %{x}: %{y:.0%}<extra></extra>",
        )
    )  # fmt: skip
    dress(chart, 280, dark, "zoom")
    chart.update_xaxes(title="token", dtick=5)
    chart.update_yaxes(title=label, tickformat=".0%", rangemode="tozero")
    return chart


def show_change(states: SampleStates, position: int, filler: str, dark: bool = False) -> View:
    """How far every vector of a sample moves if another filler is bound at the role of a token.

    Raises:
        InputError: as of :meth:`SampleStates.change`.
    """
    by = states.change(position, filler)
    size = np.linalg.norm(states.vectors - states.mean, axis=1)
    moved = np.linalg.norm(by, axis=1) / np.maximum(size, 1e-12)
    whole = states.fit.plan.unit == SAMPLE
    names = ["the sample"] if whole else [str(each) for each in states.tokens["filler"]]
    rows = pd.DataFrame({"position": range(len(moved)), "token": names, "residual": moved})
    chart = _bars(rows, "|change| / |e − ē|", dark)
    old = states.tokens["filler"].iloc[position]
    title = f"Encoded again with {filler!r} in place of {old!r} at {position}: how far vectors move"
    return View(title, chart, partial(residual_bars, rows, title, "|change| / |e − ē|"), rows)


def answer_changed(
    model: Model, store: Store, states: SampleStates, position: int, filler: str
) -> pd.DataFrame:
    """What the model of a store writes for a sample: as it is, with another filler bound in the decomposition,
    and as far away in a random direction; and of the sample with that token in place of the other.

    Raises:
        InputError: the site is not of the encoder, or as of :meth:`SampleStates.change`.
    """
    side = store.side(states.fit.site)
    if side != SIDES[0] or states.fit.plan.unit == SAMPLE:
        raise InputError(f"{states.fit.site}: only tokens of the encoder are changed here")
    vocabulary = require_vocabulary(model)
    by = states.change(position, filler)
    drawn = np.random.default_rng(0).normal(size=by.shape)
    norms = [np.linalg.norm(each, axis=1, keepdims=True) for each in (by, drawn)]
    shape = store.specs[states.fit.site].shape
    source = torch.as_tensor(states.tokens["id"].to_numpy(copy=True)).long()[None]
    other = source.clone()
    other[0, position] = list(vocabulary.symbols).index(filler)
    asked: Sequence[tuple[str, Tensor, Any]] = (
        ("as it is", source, None),
        ("the filler changed in the state", source, by),
        ("as far in a random direction", source, drawn * norms[0] / norms[1]),
        ("the symbol changed in the text", other, None),
    )
    rows = []
    for told, ids, change in asked:
        edits = (
            {} if change is None else {states.fit.site: add_change(change.reshape(len(by), *shape))}
        )
        with intervene(model, edits):
            written = generate(model, ids.to(model.device)).tolist()[0]
        rows.append({"state": told, "answer": vocabulary.decode(written)})
    return pd.DataFrame(rows)


def add_change(change: np.ndarray) -> Edit:
    """An edit that adds a change to the vectors of a sample, whatever axes they have behind their tokens."""
    by = torch.as_tensor(change, dtype=torch.float32)

    def move(x: Tensor, _: Place) -> Tensor:
        return x + by.to(x).reshape(x.shape[1:])

    return Edit(move)
