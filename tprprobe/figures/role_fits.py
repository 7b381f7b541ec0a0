"""Role schemes: how much of a state their bindings are, of pairs never seen too, and at what length."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from matplotlib.axes import Axes
from matplotlib.patches import Patch

from tprprobe.analyses.decomposition import RoleSearch, binds
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, BELOW, FACTORED, FAMILIES
from tprprobe.figures.dots import interval_dots
from tprprobe.figures.style import HUES, INK, MUTED, WRONG, Drawing, drawing, legend, tidy
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, measured, read_interval

PLACE = ["name", "site"]
STEPS = ((BAG, "fillers"), (ADDITIVE, "+ roles"), (FACTORED, "+ bindings"))
BESIDE = {  # columns of families and controls, by (family, control); the main one is the first row
    "saturated": ("saturated", ""),
    "shuffled roles": (None, "shuffled roles"),
    "shuffled fillers": (None, "shuffled fillers"),
    "random vectors": (None, "random vectors"),
    "PCA": ("", "pca"),
    "permuted": (None, "permuted"),
    "untrained": (None, "untrained"),
}
TWINS, PALE = ("permuted", "untrained", "rescaled"), 0.45
MARKERS = "DosX^"  # of the places that are named in a panel, what is found first
CAPTION = (
    "{} on sequences that nothing was fitted to, [95 % interval] over documents; withheld: on "
    "those that have a pair that the fit has not seen.\n"
    "fillers, + roles, + bindings: R² of a bag of fillers, of a bag of roles beside it, and of bindings beside "
    "both, (the gain of the step);\n"
    "learnt: the gain of the bindings less that in the twin. Controls are of the same family and rank."
)
NO_PCA = "PCA is left out: a fit has as many dimensions as the vectors, and all components explain everything."


def scheme_table(decompositions: pd.DataFrame) -> Table:
    """A row per site and scheme: the steps from fillers to roles to bindings with their gains, what is
    learnt, and controls of the same family and rank.

    ``score`` is the family's substitution accuracy where a decoder was given, else its R²; held out. ``decompositions``
    are scores of ``decompose`` with a column name. The caption says which scheme is the cheapest within the
    best one's interval, and which controls are left out.
    """
    known = decompositions.get("substitution")
    is_decoded = known is not None and bool(known.notna().any())
    measure = "substitution" if is_decoded else "r2"
    rows, ruled, told = [], [], []
    groups: Any = decompositions.groupby(PLACE, sort=False)
    for (name, site), of_site in groups:
        ruled.append(len(rows))
        found: Any = of_site.groupby("roles", sort=False)
        rows += [_row(name, site, roles, of_roles, measure) for roles, of_roles in found]
        told.append(summarize_cheapest(f"{name} {site}", of_site, measure))
    cells = pd.DataFrame(rows)
    empty = [str(name) for name in cells if cells[name].eq("–").all()]
    what = "Substitution accuracy" if is_decoded else "R²"
    caption = "\n".join([CAPTION.format(what), *([NO_PCA] if "PCA" in empty else []), *told])
    title = f"Role schemes beside controls: {what}"
    return Table(cells.drop(columns=empty), title, caption, tuple(ruled[1:]))


def _row(name: str, site: str, roles: str, found: pd.DataFrame, measure: str) -> dict[str, str]:
    main: Any = found.iloc[0]
    texts = {"name": name, "site": site, "roles": roles, "family": str(main["family"])}
    texts |= {"rank": str(main["rank"]) or "–"}
    texts |= {word: _step(found, family) for family, word in STEPS}
    texts["learnt"] = _score(main, "learnt") if "learnt" in main else "–"
    texts |= {"score": _score(main, measure), "withheld": _score(main, f"{measure}_withheld")}
    for title, (family, control) in BESIDE.items():
        of = found[found["control"] == control]
        value = of.loc[of["family"] == (main["family"] if family is None else family), measure]
        is_known = len(value) and np.isfinite(value.iloc[0])
        texts[title] = f"{value.iloc[0]:.3f}" if is_known else "–"
    return texts


def _step(found: pd.DataFrame, family: str) -> str:
    """R² of a family, and its gain over the family below."""
    row = found[(found["family"] == family) & (found["control"] == "")]
    if row.empty or "gain" not in row:
        return "–"
    of: Any = row.iloc[0]
    gain = f" ({of['gain']:+.3f})" if family in BELOW and np.isfinite(of["gain"]) else ""
    return f"{of['r2']:.3f}{gain}"


def _score(row: Any, name: str) -> str:
    return interval_text(read_interval(row, name)) if np.isfinite(row[name]) else "–"


def summarize_cheapest(of: str, scores: pd.DataFrame, measure: str) -> str:
    """A sentence: the scheme with the highest score, and that with the fewest pairs that reaches its interval."""
    found: Any = scores.drop_duplicates("roles")
    best: Any = found.loc[found[measure].idxmax()]
    near = found[found[measure] >= best[f"{measure}_low"]]
    cheapest: Any = near.loc[near["pairs"].astype(int).idxmin()]
    return (
        f"{of}: best {best['roles']} ({best[measure]:.3f}, {int(best['pairs'])} pairs); the cheapest within its "
        f"interval {cheapest['roles']} ({cheapest[measure]:.3f}, {int(cheapest['pairs'])} pairs)."
    )


def step_bars(decompositions: pd.DataFrame) -> Drawing:
    """A bar per site and scheme, of the R² that fillers explain, that roles add and that bindings add, with
    the last two gains as text; the paler bar below it is the twin's.
    """
    groups: list[Any] = list(decompositions.groupby([*PLACE, "roles"], sort=False))
    several = len({key[:2] for key, _ in groups}) > 1
    figure = drawing(7, 0.5 * len(groups) + 1.2)
    panel = figure.add_subplot()
    for i, (_, found) in enumerate(groups):
        families = found[found["family"].isin([name for name, _ in STEPS])]
        _draw_steps(panel, i, families[families["control"] == ""])
        twin = families["control"].isin(TWINS)
        if twin.any():
            first = families.loc[twin, "control"].iloc[0]
            _draw_steps(panel, i, families[families["control"] == first], pale=True)
    names = [" ".join(key) if several else key[-1] for key, _ in groups]
    panel.set_yticks(range(len(groups)), names, parse_math=False)
    panel.set(ylim=(len(groups) - 0.5, -0.5), xlim=(0, 1), xlabel="R², held out")
    tidy(panel, "Fillers, roles, bindings: what every step explains", grid="x")
    told = [Patch(color=color, label=word) for color, (_, word) in zip(HUES, STEPS, strict=False)]
    has_twin = decompositions["control"].isin(TWINS).any()
    told += [Patch(color=MUTED, alpha=PALE, label="twin, the same steps")] if has_twin else []
    legend(figure, told)
    return figure


def _draw_steps(panel: Axes, i: int, rows: pd.DataFrame, pale: bool = False) -> None:
    start, height, y = 0.0, (0.14 if pale else 0.34), i + (0.24 if pale else -0.06)
    texts = []
    for color, (family, word) in zip(HUES, STEPS, strict=False):
        of = rows[rows["family"] == family]
        if of.empty:
            continue
        row: Any = of.iloc[0]
        end = max(start, float(row["r2"]))
        alpha = PALE if pale else 1.0
        panel.barh(y, end - start, height, start, color=color, alpha=alpha, linewidth=0)
        if not pale:
            panel.hlines(y, row["r2_low"], row["r2_high"], color=INK, linewidth=0.8)
            texts += [f"{word.strip('+ ')} {row['gain']:+.3f}"] if family in BELOW else []
            if family == FACTORED and not binds(row.to_dict()):
                texts[-1] += " (not beyond shuffled roles)"
            if np.isfinite(row.get("learnt", np.nan)) and family == FACTORED:
                texts.append(f"learnt {row['learnt']:+.3f}")
        start = end
    if texts:
        side, align = (-4, "right") if start > 0.6 else (4, "left")
        panel.annotate(
            ", ".join(texts), (start, i - 0.36), xytext=(side, 0), textcoords="offset points",
            ha=align, va="center", fontsize=6.5, color=INK,
        )  # fmt: skip


def withheld_dots(decompositions: pd.DataFrame) -> Drawing:
    """R² of every family that knows roles on held-out sequences, and on those with a pair that no fit has seen."""
    if not decompositions["n_withheld"].fillna(0).gt(0).any():
        raise InputError(
            "withheld: no held-out sequence of these decompositions has a withheld pair; "
            "make them with --withheld 0.1 of more sequences"
        )
    own = decompositions[decompositions["control"] == ""]
    own = own[~own["family"].isin(["", "roles", BAG])]
    order = own["family"].map(list(FAMILIES).index)
    own = own.assign(order=order).sort_values([*PLACE, "roles", "order"], kind="stable")
    places = own[PLACE].agg(" ".join, axis=1)
    names = own["roles"] + ": " + own["family"]
    names = names if places.nunique() == 1 else places + ", " + names
    parts = [
        measured(own, "r2", name=names, group="held-out sequences"),
        measured(own, "r2_withheld", name=names, group="those with a withheld pair"),
    ]
    rows = pd.concat(parts, ignore_index=True).dropna(subset="value")
    return _r2_dots(rows, "Is binding systematic? R², 95 % intervals over sequences", "R²")


def _r2_dots(rows: pd.DataFrame, title: str, label: str) -> Drawing:
    """R² with intervals, from −1 on, beside a line at 0."""
    numbers = ["value", "low", "high"]
    figure = interval_dots(rows.assign(**rows[numbers].clip(lower=-1)), title, label)
    figure.axes[0].set_xlim(min(-0.02, max(-1, rows["low"].min())) * 1.05, 1.02)
    figure.axes[0].axvline(0, color=MUTED, linewidth=0.8)
    return figure


def operation_dots(operations: pd.DataFrame) -> Drawing:
    """R² of the vectors of unseen pairs by every operation, a group a site and scheme; a named one is marked."""
    marks = operations["is_named"].map({True: " (named)", False: ""})
    rows = operations.assign(
        group=operations["site"] + ", " + operations["roles"] + marks, name=operations["operation"]
    )
    title = "Which operation binds? 95 % intervals over fillers and roles"
    rows = measured(rows.dropna(subset="r2"), "r2")
    return _r2_dots(rows, title, "R² of the vectors of unseen pairs")


def search_curves(roles: Sequence[tuple[str, RoleSearch]]) -> Drawing:
    """A panel per site: bits of description against pairs of every scheme tried, and what is found.

    The line joins the shortest description of every number of pairs. Controls are told below.
    """
    figure = drawing(7, 0.4 + 3.1 * len(roles))
    panels = np.atleast_1d(figure.subplots(len(roles), 1))
    for axes, (name, found) in zip(panels, roles, strict=True):
        _draw_search(axes, found)
        tidy(axes, f"{name} {found.site}: {found.found}", grid="y")
    return figure


def _draw_search(axes: Axes, found: RoleSearch) -> None:
    tried = found.schemes[found.schemes["control"] == ""]
    tried = tried[np.isfinite(tried["bits"]) & (tried["pairs"] > 0)]
    curve = found.curve[found.curve["pairs"] > 0]
    axes.plot(curve["pairs"], curve["bits"], color=HUES[5], linewidth=1.2, drawstyle="steps-post")
    axes.plot(tried["pairs"], tried["bits"], "o", color=MUTED, markersize=2.5, alpha=0.5)
    axes.axhline(0, color=MUTED, linewidth=0.8, linestyle=":")
    for marker, (x, y, text, color) in zip(MARKERS, _places(tried), strict=False):
        axes.plot(x, y, marker, color=color, markersize=6, linestyle="", label=text)
    controls = found.controls
    told = [f"{a}: {b}" for a, b in zip(controls["control"], controls["roles"], strict=True)]
    below = f"pairs of filler and role\ncontrols find {'; '.join(told)}"
    axes.set(xscale="log", xlabel=below, ylabel="bits a vector")
    axes.legend(fontsize=6.5, frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))


def _places(tried: pd.DataFrame) -> Iterator[tuple[float, float, str, str]]:
    """What is found, then the shortest of the others; schemes that part the tokens alike lie on one place."""
    shown = tried.sort_values(["is_found", "bits"], ascending=[False, True])
    groups: Any = shown.groupby([shown["pairs"], shown["bits"].round(1)], sort=False)
    for _, same in groups:
        names = same["roles"].tolist()
        text = " = ".join(names[:2]) + (" = …" if len(names) > 2 else "")
        first = same.iloc[0]
        color = WRONG if first["is_found"] else INK
        yield first["pairs"], first["bits"], f"{text}\nR² {first['r2']:.2f}", color


def similarity_map(
    likeness: Float[np.ndarray, "symbol symbol"], names: Sequence[str], title: str
) -> Drawing:
    """The cosines of symbols' vectors as a map, from blue (−1) to red (1)."""
    size = 1.6 + 0.14 * len(names)
    figure = drawing(size + 0.8, size)
    axes = figure.subplots()
    image = axes.imshow(likeness, cmap="RdBu_r", vmin=-1, vmax=1)
    axes.set_xticks(range(len(names)), names, rotation=90, parse_math=False)
    axes.set_yticks(range(len(names)), names, parse_math=False)
    figure.colorbar(image, ax=axes, shrink=0.6).ax.tick_params(labelsize=7)
    tidy(axes, title)
    return figure


def residual_bars(rows: pd.DataFrame, title: str, label: str) -> Drawing:
    """A bar a token: what a decomposition leaves of its vector (``residual``), or how far it moves."""
    figure = drawing(max(4.0, 1.2 + 0.13 * len(rows)), 2.4)
    axes = figure.subplots()
    axes.bar(range(len(rows)), rows["residual"], color=HUES[5], width=0.8)
    axes.set_xticks(range(len(rows)), rows["token"], rotation=90, parse_math=False)
    axes.set(ylabel=label)
    tidy(axes, title)
    return figure
