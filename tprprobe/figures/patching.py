"""Which token's state makes the difference between two texts' answers: a row per site, a column per token."""

import numpy as np
import pandas as pd

from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import Squares
from tprprobe.store.token_texts import sign, visible

HALF = 0.5  # of the difference, from which on a state is said to carry it
MIN_WRITTEN = 0.05  # shares below are not written into their squares


def patching_squares(patchings: pd.DataFrame) -> Squares:
    """The share of the difference between two texts' answers that is recovered when one state is replaced.

    ``patchings`` has the rows of :func:`tprprobe.interventions.patch_positions`. Red: towards the other text; blue: away from
    it. The largest control stands below.
    """
    is_edit = patchings["control"].fillna("").eq("")
    rows, control = patchings[is_edit], patchings.loc[~is_edit, "recovered"].abs().max()
    sites = list(rows["site"].unique())
    wide = rows.pivot_table(index="site", columns="position", values="recovered").reindex(sites)
    values, tokens = wide.to_numpy(float), rows[rows["site"] == sites[0]]
    columns = [
        visible(token)
        if token == other_token
        else f"{visible(token).strip()} → {visible(other_token).strip()}"
        for token, other_token in zip(tokens["token"], tokens["other_token"], strict=True)
    ]
    texts = np.array([[f"{x:.2f}".replace("-", "−") if abs(x) >= MIN_WRITTEN else "" for x in row] for row in values])  # fmt: skip
    return Squares(
        np.clip(values, -1, 1), [*map(site_label, sites)], columns, ("", "token"), texts, signed=True,
        title="What the state of one token carries",
        note=f"Share of the difference between the answers to the two texts (1: all of it); not written below {MIN_WRITTEN:g}.\nControl, as far in a random direction: at most {control:.2f}.",
    )  # fmt: skip


def summarize_patching(patchings: pd.DataFrame) -> str:
    """From where to where the state of one token carries half or more of the difference between two texts, and more than any
    state that is moved as far in a random direction at the same site.
    """
    is_edit = patchings["control"].fillna("").eq("")
    edited = patchings[is_edit].reset_index(drop=True)
    best = edited.loc[edited.groupby("site", sort=False)["recovered"].idxmax()]
    controls = patchings[~is_edit].groupby("site")["recovered"].agg(lambda share: share.abs().max())
    controls = best["site"].map(controls).fillna(0.0)
    carries = (best["recovered"] >= HALF) & (best["recovered"] > controls)
    place = best["position"].where(carries, -1)
    runs = best[carries].groupby(place.ne(place.shift()).cumsum()[carries], sort=False)
    n_tokens = edited["position"].nunique()
    claims = [
        f"{_name_token(of_token.iloc[0], n_tokens)} from {site_label(of_token['site'].iloc[0])} to {site_label(of_token['site'].iloc[-1])} "
        f"(at least {of_token['recovered'].min():.2f}; as far in a random direction: at most {controls[of_token.index].max():.2f})"
        for _, of_token in runs
    ]
    if not claims:
        return "At no site does the state of one token carry half of the difference between the two texts, and more than one as far in a random direction."
    text = f"The state of one token carries half or more of the difference between the two texts: {'; '.join(claims[:4])}."
    n_other = int((~carries).sum())
    others = "At the other site" if n_other == 1 else f"At the other {n_other} sites"
    return text + f" {others} no token does, beyond that control." * (n_other > 0)


def _name_token(row: pd.Series, n_tokens: int) -> str:
    """A token and where it stands, as a text may have the same one twice."""
    is_last = row["position"] == n_tokens - 1
    place = "the last token" if is_last else f"the token at position {row['position']}"
    return f"{place}, ‘{sign(row['token']).strip()}’,"
