"""Finished decompositions: what every step explains, beside controls; which fillers and roles are alike, and one sample taken apart."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float64

from tprprobe.analyses.decomposition import Decomposition, describe_binding
from tprprobe.analyses.decomposition.sample_states import SampleStates, compare_symbols, take_part
from tprprobe.analyses.decomposition.sample_states import fit_roles as fit_roles
from tprprobe.analyses.decomposition.sample_states import read_sample as read_sample
from tprprobe.analyses.kinds import DECOMPOSITIONS
from tprprobe.analyses.kinds import OPERATIONS as OPERATIONS
from tprprobe.dashboard.statements import Link, Statement, number, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Dots, Squares
from tprprobe.files.kinds import Kind
from tprprobe.statistics import Row, interval_text, read_interval
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.token_texts import sign as sign

FAMILIES = {"bag": "fillers alone", "additive": "+ roles", "factored": "+ bindings"}
FAMILIES |= {"saturated": "+ a vector for every pair"}
STEPS = {"bag": "fillers alone", "additive": "roles", "factored": "bindings"}  # of a sentence
STEP = ["roles", "step", "r2", "r2_low", "r2_high", "gain", "gain_low", "gain_high"]
STEP += ["share", "share_low", "share_high", "learned", "learned_low", "learned_high", "twin"]
STEP += ["rank", "n", "n_fit"]
MAX_SYMBOLS = 40  # fillers or roles of a map, the commonest


def read_scores(folders: Iterable[Path], kind: Kind = DECOMPOSITIONS) -> pd.DataFrame:
    """The scores of finished decompositions, with the name of each; or the tables of another kind of them."""
    tables = [kind.load(path).assign(name=path.name) for path in folders]
    empty = pd.DataFrame(columns=["site", "roles"])
    return pd.concat(tables, ignore_index=True) if tables else empty


def show_operations(operations: pd.DataFrame) -> View:
    """R² of the vectors of unseen pairs by operation, of one site and scheme; the title says which is named."""
    from tprprobe.analyses.decomposition import summarize_operations  # with all that fits
    from tprprobe.figures.role_fits import operation_dots

    [title] = summarize_operations(operations)
    scene = operation_dots(operations)
    return View(title, operations, scene, scene.note)


def list_families(scores: pd.DataFrame) -> pd.DataFrame:
    """The nested fits of these scores without controls, by site and scheme, from fillers alone upwards; ``step`` in words."""
    fits = scores[(scores["control"] == "") & scores["family"].isin(FAMILIES)]
    family = fits["family"]
    fits = fits.assign(step=family.map(FAMILIES), order=family.map([*FAMILIES].index))
    fits = fits.sort_values(["roles", "order"], kind="stable")
    return fits.drop_duplicates(["site", "roles", "family"])


def show_steps(scores: pd.DataFrame, site: str, roles: str) -> View:
    """What fillers, then roles, then bindings explain of a site's vectors, and the same fit of controls, with intervals."""
    of_scheme = scores[(scores["site"] == site) & (scores["roles"] == roles)]
    if of_scheme.empty:
        sites = ", ".join(scores["site"].unique())
        raise InputError(f"no decomposition of {site!r} by {roles!r}: give one of {sites}")
    fits = list_families(of_scheme)
    family = next(iter(fits.loc[fits["family"] != "saturated", "family"][::-1]), "")
    is_control = (of_scheme["control"] != "") & (of_scheme["family"] == family)
    controls = of_scheme[is_control].sort_values("r2")
    fits = fits.assign(name=fits["step"], group="vectors")
    controls = controls.assign(name=controls["control"], group="controls, the same fit")
    rows = measured(pd.concat([fits, controls]), "r2")
    dots = Dots(rows[["name", "group", "value", "low", "high"]], "R²", percent=False)
    return View(f"{site_label(site)}, roles ‘{roles}’: R², held out", of_scheme, dots)


def list_steps(scores: pd.DataFrame, site: str) -> pd.DataFrame:
    """A row per scheme and step: roles, step, R² and what it gains over the step below (and of that what is learned)."""
    fits = list_families(scores[scores["site"] == site])
    known = fits.columns[fits.replace("", np.nan).notna().any()]
    return fits[[name for name in STEP if name in known]].round(6).reset_index(drop=True)


def find_scheme(scores: pd.DataFrame) -> pd.Series:
    """The row of the best scheme that has roles; where there is none, of the best bag."""
    fits = scores[scores["control"] == ""]
    with_roles = fits[~fits["family"].isin(["bag", "roles"]) & (fits["n_roles"] > 1)]
    factored = with_roles[with_roles["family"] == "factored"]
    return top(next(rows for rows in (factored, with_roles, fits) if len(rows)), "r2")


def summarize_decomposition(scores: pd.DataFrame, site: str, roles: str = "") -> Statement:
    """What fillers, then roles, then bindings explain of a state, step by step, and controls of the last step."""
    of_site = scores[scores["site"] == site]
    roles = roles or str(find_scheme(of_site)["roles"])
    of_scheme = of_site[of_site["roles"] == roles]
    is_real = of_scheme["control"] == ""
    rows = {row["family"]: row for row in of_scheme[is_real].to_dict("records")}
    steps = [name for name in STEPS if name in rows] or list(rows)[:1]
    claims = [_summarize_step(rows[name], name, is_first=name == steps[0]) for name in steps]
    where = f"{site_label(site)}, roles ‘{roles}’"
    where = where[0].upper() + where[1:]
    binding = describe_binding(rows["factored"]) if "gain" in rows.get("factored", {}) else ""
    text = f"{where}, held out: {'; '.join(claims)}." + f" {binding}." * bool(binding)
    controls = of_scheme[~is_real & (of_scheme["family"] == steps[-1])].sort_values("r2")
    if len(controls):
        pairs = zip(controls["control"], controls["r2"], strict=True)
        values = ", ".join(f"{control} {r2:z.3f}" for control, r2 in pairs)
        text += f" The same fit of controls: {values}."
    link = Link(f"Show ‘{roles}’", "decomposition", {"of": site, "scheme": roles})
    return Statement(text, (link,), brief=f"{where}: {binding or claims[-1]}.")


def _summarize_step(row: Row, name: str, is_first: bool) -> str:
    """One step: its R², and what it adds to the step below; of bindings another sentence says that."""
    word, r2 = STEPS.get(name, name), f"R² {number(row, 'r2')}"
    if is_first:
        return f"{word} {r2}"
    if name == "factored" or np.isnan(row.get("gain", np.nan)):
        return f"with {word} {r2}"
    gain = read_interval(row, "gain")
    surely = "lose" if gain.high < 0 else "add nothing measurable," if gain.low <= 0 else "add"
    return f"{word} {surely} {interval_text(gain, '+.3f')} ({r2})"


def summarize_part(store: Store, site: str) -> str:
    """How much of a store is fitted; empty if all of it is."""
    n_fitted, total = (len(tokens.tokens_of(site)) for tokens in (take_part(store, site), store))
    text = f"Fitted to {n_fitted:,} of {total:,} vectors, whole samples drawn at random."
    return text if n_fitted < total else ""


def show_similarity(fit: Decomposition, axis: str = "fillers") -> View:
    """How like fillers are over all roles, or roles over all fillers, of the commonest."""
    symbols, likeness = compare_symbols(fit, axis, MAX_SYMBOLS)
    title = f"Similarity of {axis}: {site_label(fit.site)}, roles ‘{fit.scheme.name}’"
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
    scene = Squares(values[None], ["%"], columns, ("", ""), texts, texts)
    return View(title, rows, scene, f"percent of {label}")
