"""Whether scores say that a state binds, in one sentence: no gain of bindings is one without its control beside it."""

from collections.abc import Iterator, Mapping

import numpy as np
import pandas as pd

from tprprobe.analyses.decomposition.designs import SHUFFLED_ROLES
from tprprobe.console import format_table
from tprprobe.estimators.bindings.families import ADDITIVE, BAG, BELOW, FACTORED, SATURATED
from tprprobe.statistics import FEWEST_GROUPS, Row, interval_text, read_interval

FEWEST_TWINS = 3  # baseline models that a claim of learning needs
TOO_FEW = "one or two models cannot tell what is learned"
MIN_SHARE = 1e-6  # rounding: states that are exact sums of fillers and roles have shares of 1e-15
SLIGHT = 0.005  # share of the variance below which a state is said to hardly bind, and a gain is not told
BOUND = ("Binds", "Hardly binds")  # how claims begin that a state binds
ROUGH = 30  # documents below which intervals are wide
TITLES = {BAG: "R² of fillers", ADDITIVE: "+ roles", FACTORED: "+ bindings"}
MOST_TOLD = 3  # sites and schemes that have sentences of their own
STEPS = ((BAG, "fillers"), (ADDITIVE, "roles"), (FACTORED, "bindings"))


def binds(row: Row) -> bool:
    """True if the interval of the bindings' share of variance lies above MIN_SHARE and above the share with shuffled roles; of
    rows without a share, which have too few documents or come from older versions, if bindings improve the prediction of
    held-out sequences, and more than bindings to shuffled roles do.
    """
    share_low = row.get("share_low", np.nan)
    if np.isnan(share_low):
        return all(row.get(f"{name}_low", np.nan) > 0 for name in ("gain", "beyond"))
    return bool(
        share_low > np.fmax(MIN_SHARE, row.get("share_shuffled", np.nan)) and _exceeds_shuffled(row)
    )


def _exceeds_shuffled(row: Row) -> bool:
    """Whether the share with shuffled roles is 0 but for chance, or smaller by more than chance: the lower end of a difference of two
    estimates with intervals (Zou and Donner 2008).
    """
    if not row.get("share_shuffled_low", np.nan) > 0:
        return True
    share, shuffled = read_interval(row, "share"), read_interval(row, "share_shuffled")
    half = np.hypot(share.value - share.low, shuffled.high - shuffled.value)
    return bool(share.value - shuffled.value > half)


def claim_binding(row: Row) -> str:
    """Whether the state binds, in the words of terminal, pages and figures; of baseline models, only FEWEST_TWINS or more decide."""
    binding, low = f"binding of fillers to {row['roles']}", row.get("share_low", np.nan)
    if np.isnan(low):
        low = row.get("gain_low", np.nan)
        if np.isnan(low) or np.isnan(row.get("beyond_low", np.nan)):
            return f"Whether it binds fillers to {row['roles']} is not known"
    if not binds(row):
        return f"No {binding} beyond {SHUFFLED_ROLES}" if low > MIN_SHARE else f"No {binding} found"
    if row.get("share_learned_low", np.nan) <= 0:
        return f"No {binding} beyond the baseline"
    if row.get("share", np.nan) < SLIGHT:
        return (
            f"Hardly binds fillers to {row['roles']} (less than {100 * SLIGHT:g} % of the variance)"
        )
    return f"Binds fillers to {row['roles']}"


def average_baseline(row: Row) -> float:
    """The mean share of bindings in the baseline models, NaN without these."""
    return row.get("share", np.nan) - row.get("share_learned", np.nan)


def describe_binding(row: Row) -> str:
    """The sentence on bindings of a row of scores: whether the state binds, and which share of its variance that is, beside
    the share with shuffled roles and that of baseline models; without a share, what bindings add to held-out R².
    """
    if np.isnan(row.get("share_low", np.nan)):
        text = f"R² {_score(row, 'gain')}, {_score(row, 'beyond')} beyond {SHUFFLED_ROLES}"
        if np.isfinite(row.get("learned", np.nan)):
            text += f", {row['gain'] - row['learned']:+.3f} in the {row['twin']} baseline model"
        return f"{claim_binding(row)}: {text}"
    text = f"share of variance {_score(row, 'share')}, with {SHUFFLED_ROLES} {_score(row, 'share_shuffled')}"
    if np.isfinite(row.get("share_learned", np.nan)):
        text += f", in the baseline {average_baseline(row):+.3f}"
        is_known = np.isfinite(row.get("share_learned_low", np.nan))
        text += f"; learned {_score(row, 'share_learned')}" if is_known else f" ({TOO_FEW})"
    return f"{claim_binding(row)}: {text}"


def _score(row: Row, name: str) -> str:
    return interval_text(read_interval({name: np.nan, **row}, name), "+.3f")


def summarize(scores: pd.DataFrame) -> list[str]:
    """Lines per site and scheme: what fillers, roles and bindings explain, whether the state binds, what to beware of;
    of more than MOST_TOLD a sentence a scheme, and a table with a row each.

    ``scores`` are those of :func:`decompose`.
    """
    lines, notes = list[str](), list[str]()
    real = scores[scores["control"] == ""]
    groups = real.groupby(["site", "roles"], sort=False)
    for (site, roles), of_scheme in groups:
        rows = {row["family"]: row for row in of_scheme.to_dict("records")}
        steps = [_step(rows[name], word) for name, word in STEPS if name in rows]
        if rows.get(SATURATED, {}).get("gain_low", np.nan) > SLIGHT:  # the rank leaves more
            steps.append(_step(rows[SATURATED], "a free vector a pair"))
        lines.append(f"{site}, {roles}: held-out R² of {', '.join(steps)}")
        if np.isfinite(rows.get(FACTORED, {}).get("share", np.nan)):
            lines.append(f"  {_describe_shares(rows)}")
        if FACTORED in rows:
            lines.append(f"  {describe_binding(rows[FACTORED])}")
        first = next(iter(rows.values()))
        further = [*of_scheme.get("design", pd.Series(dtype=str)).unique()]
        further += warn(rows, int(first["n_fit"]))
        lines, notes = [*lines, *(f"  {text}" for text in further)], [*notes, *further]
    is_short = len(groups) <= MOST_TOLD
    return lines if is_short else [*_summarize_many(real), *dict.fromkeys(notes)]


def _summarize_many(real: pd.DataFrame) -> list[str]:
    lines, factored = [], real[real["family"] == FACTORED]
    for roles, rows in factored.groupby("roles", sort=False):
        records = rows.to_dict("records")
        claimed = [row for row in records if claim_binding(row).startswith(BOUND)]
        lows = [np.nan_to_num(row.get("share_low", np.nan), nan=-1) for row in claimed or records]
        best, n_bound = (claimed or records)[np.argmax(lows)], sum(map(binds, records))
        learned = f", {len(claimed)} beyond the baseline" * (n_bound > len(claimed))
        lines.append(f"{n_bound} of {len(records)} sites bind fillers to {roles}{learned}")
        lines.append(f"  {best['site']}, the clearest: {describe_binding(best)}")
    keys = ["site", "roles"]
    r2 = real.pivot_table(values="r2", index=keys, columns="family", sort=False)
    table = pd.DataFrame({title: r2[name] for name, title in TITLES.items() if name in r2})
    for title, name in {"gain of bindings": "gain", "share of bindings": "share"}.items():
        texts = [_score(row, name) for row in factored.to_dict("records")]
        table[title] = pd.Series(texts, factored.set_index(keys).index, dtype=object)
    return [*lines, format_table(table.reset_index())]


def _describe_shares(rows: Mapping[str, Row]) -> str:
    """All shares of variance in a line."""
    words = {(BAG, "share"): "fillers", (ADDITIVE, "share"): "roles"}
    words |= {(ADDITIVE, "share_by_length"): "fillers × length", (FACTORED, "share"): "bindings"}
    texts = [
        f"{word} {_score(rows[family], name)}"
        for (family, name), word in words.items()
        if rows[family][f"{name}_high"] != rows[family][f"{name}_low"]  # of one length: 0
        and np.isfinite(rows[family][name])
    ]
    return f"shares of variance: {', '.join(texts)}"


def _step(row: Row, word: str) -> str:
    if row["family"] not in BELOW:
        return f"{word} {row['r2']:.3f}"
    return f"+ {word} {row['r2']:.3f} ({_score(row, 'gain')})"


def warn(rows: Mapping[str, Row], n: int) -> Iterator[str]:
    """What to beware of in rows by name, the first of which was fitted to n vectors."""
    row = next(iter(rows.values()))
    if row["groups"] < FEWEST_GROUPS:
        yield (
            f"{row['groups']} documents are tested on, intervals need {FEWEST_GROUPS}: extract "
            f"{4 * FEWEST_GROUPS} or more"
        )
    elif row["groups"] < ROUGH:
        yield f"only {row['groups']} documents are tested on: intervals are wide"
    if row["pairs"] > n:
        yield f"{row['pairs']} pairs are more than the {n} vectors that are fitted to"
    for name in (name for name, row in rows.items() if row["r2"] < -1):
        yield f"{name} does not generalize (R² {rows[name]['r2']:.1f})"
