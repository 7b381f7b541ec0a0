"""Which token's state makes the difference between two texts' answers: a row per site, a column per token, and the control."""

import re
from collections.abc import Iterator

import numpy as np
import pandas as pd

from tprprobe.errors import InputError, unknown
from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import GAP, Squares
from tprprobe.site.patterns import match
from tprprobe.store.token_texts import sign

PLACE = ["site", "position"]
MIN_WRITTEN = 0.05  # shares below are not written into their squares
MOST = 0.5  # the smallest share that is most of the difference
UNDECIDED = 0.5  # nats: odds of less than 1.65 to 1
MAX_RANGES = 4  # of layers, in a sentence
EMBEDDING, LAYER = "embedding", re.compile(r"layer \d+|embedding")
RANGE = ["kind", "verdict", "place"]  # what sites of a range share
CARRIED, WITHIN_CONTROL, BELOW = "carried", "within control", "below half"


def patching_squares(patchings: pd.DataFrame, sites: str = "*") -> Squares:
    """The share of the difference between two texts' answers that is recovered when one state is replaced.

    ``patchings`` has the rows of :func:`tprprobe.interventions.patch_positions`. Red: towards the other text; blue: away from
    it; pale: not beyond random directions at that token, or not compared with any. Rows may be some ``sites`` alone, by a pattern. The last column has
    the largest share of the random directions at the token that carries most.
    """
    names = match(sites, patchings["site"].unique().tolist())
    if not names:
        raise unknown("site of these results", sites, patchings["site"].unique())
    rows, controls = _split(patchings[patchings["site"].isin(names)])
    wide = rows.pivot_table(index="site", columns="position", values="recovered").reindex(names)
    control = _strongest(controls).unstack().reindex_like(wide)
    at_most = control.to_numpy()[range(len(wide)), wide.to_numpy().argmax(1)]
    tokens = rows[rows["site"] == names[0]]
    columns = [f"{row['position']}: {_label_token(row)}" for _, row in tokens.iterrows()]
    values = np.column_stack([wide, np.full(len(names), np.nan), at_most])
    labels, axis = _label_rows(names)
    share = f"Share of the difference between the answers to the two texts: {_name_contrast(rows.iloc[0])}."
    random = f"Last column: control, the largest, up or down, of {_count_draws(controls)} random directions of equal length at the token that carries most in that row."
    colors = "Full color: beyond such directions at the same token, tried where the shares of a row are largest."
    is_beyond = wide.abs() > control.abs()
    within = np.column_stack([~is_beyond, np.zeros((len(names), 2), bool)])
    numbers = np.vectorize(_number)(values)
    texts = np.where(np.abs(values) >= MIN_WRITTEN, numbers, "")
    texts[:, -1] = numbers[:, -1]
    return Squares(
        values, labels, [*columns, GAP, "random"], (axis, "token"),
        texts, signed=True, bar="share recovered", within=within,
        title="Activation patching", note="\n".join([*_name_origin(rows), share, random, colors]),
    )  # fmt: skip


def _name_origin(rows: pd.DataFrame) -> list[str]:
    """A line on the model and the two texts, which tables of older versions lack."""
    if not {"model", "text", "against"} <= {*rows}:
        return []
    return ["Model: {model}. Texts: ‘{text}’, ‘{against}’.".format(**rows.iloc[0])]


def _split(patchings: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """The rows of patched states, and those of random directions."""
    is_edit = patchings["control"].fillna("").eq("")
    rows = patchings[is_edit].reset_index(drop=True)
    if rows.duplicated(PLACE).any():
        raise InputError(
            "these rows are of several tables of patch_positions: give those of one pair of texts, one model"
        )
    return rows, patchings[~is_edit]


def _find_controls(controls: pd.DataFrame, rows: pd.DataFrame) -> np.ndarray:
    """The largest share that a random direction at the same place recovers or takes away, without its sign; infinite where none was tried."""
    strongest = _strongest(controls).abs()
    return strongest.reindex(pd.MultiIndex.from_frame(rows[PLACE])).fillna(np.inf).to_numpy()


def _strongest(controls: pd.DataFrame) -> "pd.Series[float]":
    """The share that the random direction with the largest effect recovers, by site and position."""
    rows = controls["recovered"].abs().groupby([controls[name] for name in PLACE]).idxmax()
    return controls.loc[rows].set_index(PLACE)["recovered"]


def _count_draws(controls: pd.DataFrame) -> int:
    return int(controls.groupby(PLACE).size().max())


def _label_sites(sites: list[str]) -> tuple[dict[str, str], str]:
    """The names of sites, and the kind of vector that all of them are; empty for states, and where kinds differ."""
    labels = {site: site_label(site) for site in sites}
    kinds = {label.partition(", ")[2] for label in labels.values() if label != EMBEDDING}
    kind = kinds.pop() if len(kinds) == 1 else ""
    return {site: label.removesuffix(f", {kind}") for site, label in labels.items()}, kind


def _label_rows(sites: list[str]) -> tuple[list[str], str]:
    """The names of rows with the title of their axis: numbers where all are layers."""
    labels, kind = _label_sites(sites)
    if all(LAYER.fullmatch(label) for label in labels.values()):
        numbers = [label.removeprefix("layer ") for label in labels.values()]
        title = f"layer, {kind}" if kind else "layer"
        return [number.replace(EMBEDDING, "emb") for number in numbers], title
    return list(labels.values()), "site"


def summarize_patching(patchings: pd.DataFrame) -> str:
    """What the answers to both texts are, and in which layers the state of one token carries most of their difference."""
    rows, controls = _split(patchings)
    best = rows.loc[rows.groupby("site", sort=False)["recovered"].idxmax()]
    best = best.assign(random=_find_controls(controls, best))
    is_most, is_beyond = best["recovered"] >= MOST, best["recovered"] > best["random"]
    best["verdict"] = np.select([~is_most, ~is_beyond], [BELOW, WITHIN_CONTROL], CARRIED)
    labels, kind = _label_sites(list(best["site"]))
    names = best["site"].map(labels).str.partition(", ")
    best[["label", "kind"]] = names[[0, 2]]
    best["place"] = best["position"].where(best["verdict"] == CARRIED, -1)
    best = best.sort_values("kind", kind="stable")
    is_new = best[RANGE].ne(best[RANGE].shift()).any(axis=1)
    ranges = [of_range for _, of_range in best.groupby(is_new.cumsum())]
    last, name = int(rows["position"].max()), f"the {kind or 'state'} of one token"
    sentences = [_compare_answers(rows.iloc[0]), *_describe(ranges, last, name)]
    worst = rows.nsmallest(1, "recovered")
    worst = worst.assign(random=_find_controls(controls, worst))
    if (worst["recovered"] < -worst["random"].clip(lower=MIN_WRITTEN)).item():
        place = labels[worst["site"].item()].replace(EMBEDDING, f"the {EMBEDDING}")
        sentences += [f"Most against it works {name} in {place} ({_describe_cells(worst, last)})."]
    return f"{' '.join(sentences)} Random: the largest, up or down, of {_count_draws(controls)} random directions of equal length, at that token and layer."


def _compare_answers(row: pd.Series) -> str:
    """The log-odds of both texts' answers, after a warning where a text does not prefer its own."""
    answers = [sign(row[name]).strip() for name in ("answer", "other_answer")]
    margins = {"first": -row["difference_text"], "second": row["difference_against"]}
    unclear = [
        f"the {text} text does not {'clearly ' if margin > -UNDECIDED else ''}prefer its answer ‘{answer}’"
        for (text, margin), answer in zip(margins.items(), answers, strict=True)
        if margin < UNDECIDED
    ]
    is_swapped = max(margins.values()) <= -UNDECIDED
    advice = f" (exchange them: --answers {answers[1]},{answers[0]})" if is_swapped else ""
    warning = f"Take care: {' and '.join(unclear)}{advice}. " if unclear else ""
    return f"{warning}{_name_contrast(row)}."


def _name_contrast(row: pd.Series) -> str:
    """The contrast of the answers with its value in both texts."""
    answer, rival = (sign(row[name]).strip() for name in ("answer", "other_answer"))
    values = [_number(row[name]) for name in ("difference_text", "difference_against")]
    return f"log p({rival}) − log p({answer}) is {values[0]} in the first text, {values[1]} in the second"


def _describe(ranges: list[pd.DataFrame], last: int, name: str) -> Iterator[str]:
    """A sentence for the ranges of layers of every verdict."""
    of_verdict = {
        verdict: [of_range for of_range in ranges if of_range["verdict"].iloc[0] == verdict]
        for verdict in (CARRIED, BELOW, WITHIN_CONTROL)
    }
    carried = [f"{_name_range(r)} ({_describe_cells(r, last)})" for r in of_verdict[CARRIED]]
    if carried:
        yield f"{name[0].upper()}{name[1:]} carries most of the difference {_enumerate(carried)}."
    else:
        yield f"Nowhere does {name} carry most of the difference beyond the control."
    within = _enumerate([*map(_name_range, of_verdict[WITHIN_CONTROL])])
    tokens = "no token" if len(of_verdict[BELOW]) == len(ranges) else "elsewhere no token"
    for verdict, text in (
        (WITHIN_CONTROL, f"{within} one does, but a random direction moves the answers as far"),
        (BELOW, f"{tokens} carries half of it"),
    ):
        if of_verdict[verdict]:
            largest = pd.concat(of_verdict[verdict]).nlargest(1, "recovered").iloc[0]
            values = f"at most {_number(largest['recovered'])}, random {_number(largest['random'])}"
            yield f"{text[0].upper()}{text[1:]} ({values})."


def _describe_cells(best: pd.DataFrame, last: int) -> str:
    row, shares = best.iloc[0], [_number(f(best["recovered"])) for f in (min, max)]
    end = ", the last" if row["position"] == last else ""
    place = f"position {row['position']}, ‘{_label_token(row)}’{end}"
    margin = _number((best["recovered"].abs() - best["random"]).min())
    random = f"random {_number(row['random'])}"
    random = f"at least {margin} more than random" if len(best) > 1 else random
    return f"{place}: {' to '.join(dict.fromkeys(shares))}; {random}"


def _name_range(best: pd.DataFrame) -> str:
    first, end = (best["label"].iloc[i].replace(EMBEDDING, f"the {EMBEDDING}") for i in (0, -1))
    of_kind = f"in the {best['kind'].iloc[0]} of " if best["kind"].iloc[0] else ""
    if first == end:
        return (of_kind or "in ") + first
    has_gaps = bool(np.ptp(best["layer"].fillna(-1)) >= len(best))
    n_sites = f"the {len(best)} sites tried from " * has_gaps
    return f"{of_kind or ('at ' if has_gaps else 'from ')}{n_sites}{first} to {end}"


def _enumerate(texts: list[str]) -> str:
    """The first few texts as one, joined by "and"."""
    n = len(texts) - MAX_RANGES
    listed = [*texts[:MAX_RANGES], *([f"{n} further ranges"] if n > 0 else [])]
    return " and ".join(filter(None, [", ".join(listed[:-1]), *listed[-1:]]))


def _label_token(row: pd.Series) -> str:
    tokens = (sign(row[name]).strip() or sign(row[name]) for name in ("token", "other_token"))
    return " → ".join(dict.fromkeys(tokens))


def _number(value: float) -> str:
    return f"{round(value, 2) + 0:.2f}".replace("-", "−")
