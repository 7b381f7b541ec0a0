"""Role schemes: how much of a state their bindings are, of pairs never seen too, and at what length."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.ticker import LogLocator, NullFormatter

from tprprobe.analyses.decomposition import RoleSearch, claim_binding
from tprprobe.analyses.decomposition.binding_claims import average_baseline, describe_binding
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, BELOW, FACTORED, FAMILIES
from tprprobe.figures.colors import line_colors
from tprprobe.figures.labels import site_label
from tprprobe.figures.legends import legend
from tprprobe.figures.look import current_look
from tprprobe.figures.scenes import Dots, Shares
from tprprobe.figures.style import INK, MUTED, WRONG, Drawing, Options, open_panels, tidy
from tprprobe.figures.tables import Table, write_minus
from tprprobe.statistics import measured, write_interval
from tprprobe.store.layout import TWINS

PLACE = ["name", "site"]
STEPS = ((BAG, "fillers"), (ADDITIVE, "+ roles"), (FACTORED, "+ bindings"))
COLUMNS = {  # columns of families and controls, by (family, control); the main one is the first row
    "saturated": ("saturated", ""),
    "shuffled roles": (None, "shuffled roles"),
    "shuffled fillers": (None, "shuffled fillers"),
    "random vectors": (None, "random vectors"),
    "PCA": ("", "pca"),
    "permuted": (None, "permuted"),
    "untrained": (None, "untrained"),
}
SPARE = (  # columns; the first is left out first
    *("saturated", "PCA", "random vectors", "shuffled fillers", "rank", "family", "withheld"),
    *("fillers", "+ roles", "untrained", "permuted", "shuffled roles", "+ bindings"),
)
CHOICE = "the scheme of fewest pairs among those that are not longer than the shortest (95 % interval), or by less than 1 %"
MANY = 50  # times the smallest number of an axis, from which on it has a tick per power of ten
MAX_CLAIMS = 4  # bars with a sentence each
MARKERS = "DosX^"  # of the places that are named in a panel
MIN_DISTANCE = 0.03  # of an axis: places nearer than this would lie on each other
CAPTION = (
    "[95 % interval] over documents.\n"
    "+ bindings: R² of bindings beside bags of fillers and of roles, (the gain of the step). All but shares is on sequences "
    "that nothing was fitted to; controls are of the same family and rank.\n"
    "withheld: on those with a pair that the fit has not seen, over these pairs.\n"
    "share: of the variance that is due to bindings, from no fit; no binding is claimed unless it exceeds 0 and the shuffled share, of shuffled roles.\n"
    "learned: the share less the baseline share, the mean of the baseline models; three or more decide: no binding beyond the baseline is claimed unless its interval lies above 0."
)


def scheme_table(decompositions: pd.DataFrame) -> Table:
    """A row per site and scheme: the steps from fillers to roles to bindings with their gains, the bindings' share of variance
    beside those of shuffled roles and baseline models, and controls of the same family and rank.

    The family's score is its substitution accuracy where a decoder was given, else its R²; held out. ``decompositions``
    are scores of ``decompose`` with a column name.
    """
    accuracy = decompositions.get("substitution")
    is_decoded = accuracy is not None and bool(accuracy.notna().any())
    measure, label = ("substitution", "Substitution accuracy") if is_decoded else ("r2", "R²")
    rows, ruled = [], []
    has_names = decompositions["name"].nunique() > 1
    groups = decompositions.groupby(PLACE, sort=False)
    for (name, site), of_site in groups:
        ruled.append(len(rows))
        schemes = of_site.groupby("roles", sort=False)
        rows += [
            _row(str(name), str(site), str(roles), fits, (measure, label))
            for roles, fits in schemes
        ]
    title, rules = "Role schemes beside controls", tuple(ruled[1:])
    if all(row[label].partition(" ")[0] in row["+ bindings"].split() for row in rows):
        for row in rows:  # the scores are those of the bindings
            gain = row["+ bindings"].partition(" ")[2]
            row["+ bindings"] = f"{row.pop(label)} {gain}".strip()
    origin = filter(None, [decompositions.attrs.get("origin")])
    caption = "\n".join([*origin, CAPTION])
    places: Any = {"block": ("name", "site"), "spare": SPARE}
    cells = pd.DataFrame(rows)
    cells = cells if has_names else cells.drop(columns="name")
    return Table(cells, title, caption, rules, **places).drop_empty()


def _row(
    name: str, site: str, roles: str, fits: pd.DataFrame, score: tuple[str, str]
) -> dict[str, str]:
    main, (measure, label) = fits.iloc[0], score
    texts = {"name": name, "site": site, "roles": roles, "family": str(main["family"])}
    texts |= {"rank": str(main["rank"]) or "–"}
    texts |= {step: _step(fits, family) for family, step in STEPS}
    texts |= _compare_shares(fits)
    texts |= {
        label: write_interval(main, measure),
        "withheld": write_interval(main, f"{measure}_withheld"),
    }
    for title, (family, control) in COLUMNS.items():
        rows = fits[fits["control"] == control]
        value = rows.loc[rows["family"] == (main["family"] if family is None else family), measure]
        is_finite = len(value) and np.isfinite(value.iloc[0])
        texts[title] = f"{value.iloc[0]:.3f}" if is_finite else "–"
    return texts


def _compare_shares(fits: pd.DataFrame) -> dict[str, str]:
    """The bindings' share of variance, with shuffled roles and in baseline models, and what is learned."""
    is_main = (fits["family"] == FACTORED) & (fits["control"] == "")
    rows = [
        row | {"share_baseline": average_baseline(row)} for row in fits[is_main].to_dict("records")
    ]
    names = {"share": "share", "shuffled share": "share_shuffled"}
    names |= {"baseline share": "share_baseline", "learned": "share_learned"}
    return {
        title: write_interval(rows[0], name) if rows and name in rows[0] else "–"
        for title, name in names.items()
    }


def _step(fits: pd.DataFrame, family: str) -> str:
    """R² of a family, and its gain over the family below."""
    rows = fits[(fits["family"] == family) & (fits["control"] == "")]
    if rows.empty or "gain" not in rows:
        return "–"
    row = rows.iloc[0]
    has_gain = family in BELOW and np.isfinite(row["gain"])
    return f"{row['r2']:.3f}" + (f" ({row['gain']:+.3f})" if has_gain else "")


def step_shares(decompositions: pd.DataFrame) -> Shares:
    """A bar per site and scheme, of the R² that fillers explain, that roles add and that bindings add, beside those of a
    baseline model; a line below says whether the state binds.
    """
    groups: list[Any] = list(decompositions.groupby([*PLACE, "roles"], sort=False))
    named = _name_places(decompositions)
    is_single = decompositions["roles"].nunique() == 1
    rows, notes, names_by_claim = [], [], dict[str, list[str]]()
    for key, fits in groups:
        place = named[key[:2]]
        name = place if place and is_single else ", ".join(filter(None, [place, key[-1]]))
        families = fits[fits["family"].isin([family for family, _ in STEPS])]
        twins = [control for control in families["control"].unique() if control in TWINS]
        for control in ("", *twins[:1]):
            of_model = families[families["control"] == control].set_index("family")
            panel = "baseline model" if control else "model"
            steps = list_steps(of_model["r2"].to_dict())
            rows += [{"panel": panel, "name": name, "part": p, "value": v} for p, v in steps]
        of_model = families[families["control"] == ""]
        for row in of_model[of_model["family"] == FACTORED].to_dict("records"):
            baseline, share = average_baseline(row), f"share {row.get('share', np.nan):.3f}"
            share += f", baseline {baseline:.3f}" * bool(np.isfinite(baseline))
            notes.append(write_minus(f"{name}: {describe_binding(row)}."))
            claimed = names_by_claim.setdefault(claim_binding(row), [])
            claimed.append(write_minus(f"{name} ({share})"))
    if len(groups) > MAX_CLAIMS:
        notes = [f"{claim}: {'; '.join(names)}." for claim, names in names_by_claim.items()]
    title = "What fillers, roles and bindings add"
    origin = filter(None, [decompositions.attrs.get("origin")])
    note = "\n".join([*origin, *notes])
    return Shares(pd.DataFrame(rows), "R², held out", title=title, note=note)


def _name_places(decompositions: pd.DataFrame) -> dict[tuple[str, str], str]:
    """The folder and site of every place; of neither what all places share."""
    places = decompositions[PLACE].drop_duplicates()
    parts = [places["name"].astype(str), places["site"].map(site_label)]
    texts = zip(*(part if part.nunique() > 1 else [""] * len(part) for part in parts), strict=True)
    names = [" ".join(filter(None, text)) for text in texts]
    return dict(zip(places.itertuples(index=False, name=None), names, strict=True))


def list_steps(r2: Mapping[str, float]) -> Iterator[tuple[str, float]]:
    """What every step adds to R², from fillers to bindings, and what is left."""
    start = 0.0
    for family, label in STEPS:
        end = max(start, r2.get(family, start))
        yield label, end - start
        start = end
    yield "rest", 1 - start


def withheld_dots(decompositions: pd.DataFrame) -> Dots:
    """R² of every family that knows roles on held-out sequences, and on those with a pair that no fit has seen."""
    if not decompositions["n_withheld"].fillna(0).gt(0).any():
        raise InputError(
            "withheld: no held-out sequence of these decompositions has a withheld pair; "
            "make them with --withheld 0.1 of more sequences"
        )
    fits = decompositions[decompositions["control"] == ""]
    fits = fits[~fits["family"].isin(["", "roles", BAG])]
    fits = fits.assign(order=fits["family"].map(list(FAMILIES).index))
    fits = fits.sort_values([*PLACE, "roles", "order"], kind="stable")
    named = _name_places(fits)
    places = fits[PLACE].agg(lambda row: named[tuple(row)], axis=1)
    names = (places + ", ").where(places != "", "") + fits["roles"] + ": " + fits["family"]
    tables = [
        measured(fits, "r2", name=names, group="held-out sequences"),
        measured(fits, "r2_withheld", name=names, group="those with a withheld pair"),
    ]
    rows = pd.concat(tables, ignore_index=True).dropna(subset="value")
    return _r2_dots(rows, "Is binding systematic?", "R², 95 % interval")


NAMED = "95 % intervals over fillers and roles. No operation is shown to predict better than"


def operation_dots(operations: pd.DataFrame) -> Dots:
    """R² of the vectors of unseen pairs by every operation, a group a site and scheme; the note says which one is named."""
    groups = operations["site"].map(site_label) + ", " + operations["roles"]
    rows = operations.assign(group=groups, name=operations["operation"]).dropna(subset="r2")
    named_rows = rows[rows["is_named"].astype(bool)]
    claims = [f"{row['group']}: {row['operation']}." for row in named_rows.to_dict("records")]
    note = "\n".join([NAMED, *claims]) if claims else f"{NAMED} another one."
    title, label = "Which operation binds?", "R² of the vectors of unseen pairs"
    return replace(_r2_dots(measured(rows, "r2"), title, label), note=note)


def _r2_dots(rows: pd.DataFrame, title: str, label: str) -> Dots:
    numbers = ["value", "low", "high"]
    rows[numbers] = rows[numbers].clip(lower=-1)
    low = min(-0.02, rows["low"].min())
    return Dots(rows, label, (low * 1.05, 1), percent=False, title=title)


def search_curves(roles: Sequence[tuple[str, RoleSearch]]) -> Drawing:
    """A panel per site: bits of description against pairs of every scheme tried, and what is found.

    The line joins the shortest description of every number of pairs. Controls are told below.
    """
    figure, panels = open_panels(7, 0.4 + 2.6 * len(roles), len(roles))
    handles, labels = [], []
    for axes, (name, search) in zip(panels.flat, roles, strict=True):
        place = " ".join(filter(None, [name * (len(roles) > 1), site_label(search.site)]))
        _draw_search(axes, search, f"{place}: " * (len(roles) > 1))
        is_found = search.schemes["is_found"].any()
        choice = f"found: {search.found}" if is_found else "no scheme is shown"
        tidy(axes, f"{place}, {choice}", grid="y")
        for rows, row in zip((handles, labels), axes.get_legend_handles_labels(), strict=True):
            rows += row
    legend(figure, handles, labels)
    assert isinstance(figure, Drawing)
    figure.put_below([_describe_controls(search) for _, search in roles])
    return figure


def _describe_controls(search: RoleSearch) -> str:
    pairs = zip(search.controls["control"], search.controls["roles"], strict=True)
    control_roles = "; ".join(f"of {control}: {roles}" for control, roles in pairs)
    chosen = f"Orange: {CHOICE}. " * bool(search.schemes["is_found"].any())
    return f"0: no structure. {chosen}Black: the shortest at other places. What the same search finds {control_roles}."


def _draw_search(axes: Axes, search: RoleSearch, place: str) -> None:
    schemes = search.schemes[search.schemes["control"] == ""]
    schemes = schemes[np.isfinite(schemes["bits"]) & (schemes["pairs"] > 0)]
    curve = search.curve[search.curve["pairs"] > 0]
    look: Options = {"color": line_colors(1)[0], "linewidth": current_look().line_width}
    axes.plot(curve["pairs"], curve["bits"], drawstyle="steps-post", **look)
    axes.plot(schemes["pairs"], schemes["bits"], "o", color=MUTED, markersize=2.5, alpha=0.5)
    axes.axhline(0, color=MUTED, linewidth=0.8, linestyle=":")
    axes.set(xscale="log", xlabel="pairs of filler and role", ylabel="bits per vector")
    to_axes = (axes.transScale + axes.transLimits).transform
    marked = np.empty((0, 2))
    for x, y, text, color in _list_places(schemes):
        spot = to_axes((x, y))
        if len(marked) < len(MARKERS) and (np.abs(marked - spot).max(1) > MIN_DISTANCE).all():
            look = {"color": color, "markersize": 6, "linestyle": "", "label": place + text}
            axes.plot(x, y, MARKERS[len(marked)], **look)
            marked = np.vstack([marked, spot])
    low, high = axes.get_xlim()
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5) if high < MANY * low else (1,)))
    axes.xaxis.set_major_formatter("{x:,.0f}")
    axes.xaxis.set_minor_formatter(NullFormatter())


def _list_places(schemes: pd.DataFrame) -> Iterator[tuple[float, float, str, str]]:
    """What is found, then the shortest of the others; schemes that part the tokens alike lie on one place."""
    ranked = schemes.assign(length=schemes["bits"].round())
    ranked = ranked.sort_values(["is_found", "length", "pairs"], ascending=[False, True, True])
    groups = ranked.groupby([ranked["pairs"], ranked["bits"].round(1)], sort=False)
    for _, alike in groups:
        names, row = alike["roles"].tolist(), alike.iloc[0]
        text = " = ".join(names[:2]) + (" = …" if len(names) > 2 else "")
        color = WRONG if row["is_found"] else INK
        label = f"{text} ({row['pairs']:,.0f} pairs, R² {row['r2']:.2f})"
        yield row["pairs"], row["bits"], label, color
