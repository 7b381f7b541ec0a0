"""Discreteness of a dictionary of roles: peaks, entropy, usage, and information between heads.

All functions take role distributions by site, ``{"encoder.0.self.role_weights": array}``, one row a
real token (no padding).
Source: jiang Sec. 4 (over 90 % of the distributions have a maximum above .98).
"""

from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float, Int, Shaped
from scipy.stats import entropy
from sklearn.metrics import adjusted_mutual_info_score, mutual_info_score

from tprprobe.errors import InputError
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import Interval, bounds, group_sums, replicate_totals
from tprprobe.store import Store

Weights = Mapping[str, np.ndarray]  # each token × head × n_roles
PEAKS = {"above_98": 0.98, "above_90": 0.90}
SUFFIX = ".role_weights"


def measure_roles(weights: Weights) -> pd.DataFrame:
    """One row per sub-layer and head: how peaked its distributions are and which roles they use.

    Columns: site, layer, sublayer (``encoder.self`` …), head, n_tokens, above_98, above_90 (shares
    of distributions whose maximum is higher), entropy (mean, bits), n_roles, used_roles (that are
    the maximum of some token), dead_roles, usage_perplexity (2 to the entropy of the maxima's
    counts).

    Raises:
        InputError: an array that is not token × head × n_roles, or has no tokens.
    """
    rows = []
    for site, head, values in _heads(weights):
        counts = np.bincount(values.argmax(-1), minlength=values.shape[-1])
        peaks = values.max(-1)
        rows.append(
            _place(site, head)
            | {"n_tokens": len(values)}
            | {name: float((peaks > threshold).mean()) for name, threshold in PEAKS.items()}
            | {
                "entropy": float(entropy(values, base=2, axis=-1).mean()),
                "n_roles": len(counts),
                "used_roles": int((counts > 0).sum()),
                "dead_roles": int((counts == 0).sum()),
                "usage_perplexity": float(2 ** entropy(counts, base=2)),
            }
        )
    return pd.DataFrame(rows)


def pool_roles(table: pd.DataFrame, columns: Sequence[str] = ()) -> pd.DataFrame:
    """Shares and entropy of :func:`measure_roles` over all distributions together, as printed.

    ``by`` keeps columns apart (``["sublayer"]``, ``["layer"]``); default: one row for the model.
    """
    groups: Any = table.groupby(list(columns), sort=False) if columns else [((), table)]
    rows = []
    for key, group in groups:
        means = {
            name: float(np.average(group[name], weights=group["n_tokens"]))
            for name in (*PEAKS, "entropy")
        }
        place = dict(zip(columns, key, strict=True))
        rows.append(place | {"n_distributions": int(group["n_tokens"].sum())} | means)
    return pd.DataFrame(rows)


def share_of_peaks(store: Store) -> Interval:
    """The share of a store's role distributions (all sub-layers, heads, tokens) with a maximum above .98,
    with its interval over documents.
    """
    sums_by_site = []
    for site in (site for site in store.sites if site.endswith(SUFFIX)):
        above: Any = (store.read(site) > PEAKS["above_98"]).any(-1)
        counts = np.stack([above.sum(1), np.full(len(above), above.shape[1])], 1).astype(float)
        sums_by_site.append(group_sums(counts, store.tokens_of(site)["sample"].to_numpy()))
    sums = np.sum(sums_by_site, axis=0)
    totals = np.concatenate([sums.sum(0)[None], replicate_totals(sums)])
    shares = totals[:, 0] / totals[:, 1]
    low, high = bounds(shares[1:], len(sums), lowest=0)
    return Interval(float(shares[0]), float(low), float(high))


def share_between_heads(weights: Weights) -> pd.DataFrame:
    """One row per sub-layer and pair of heads: what one head's strongest role tells of the other's.

    Columns: site, layer, sublayer, head, other_head, mutual_information (bits; biased upwards in
    small samples), adjusted (0 at chance, 1 for heads that determine each other).
    """
    rows = []
    for site, values in weights.items():
        roles = _checked(site, values).argmax(-1)
        for head, other_head in combinations(range(roles.shape[1]), 2):
            place = _place(site, head) | {"other_head": other_head}
            rows.append(place | _information(roles[:, head], roles[:, other_head]))
    return pd.DataFrame(rows)


def _heads(weights: Weights) -> Iterator[tuple[str, int, Float[np.ndarray, "token n_roles"]]]:
    for site, values in weights.items():
        checked = _checked(site, values)
        yield from ((site, head, checked[:, head]) for head in range(checked.shape[1]))


def _checked(site: str, values: np.ndarray) -> Float[np.ndarray, "token head n_roles"]:
    if values.ndim != 3 or not len(values):
        raise InputError(
            f"{site} has shape {values.shape}: role weights are token × head × n_roles, "
            "with one token at least"
        )
    return values.astype(np.float64)


def _place(site: str, head: int) -> dict[str, str | int | None]:
    stack, *_, sublayer = site.removesuffix(SUFFIX).split(".")
    return {"site": site, "layer": layer_of(site), "sublayer": f"{stack}.{sublayer}", "head": head}


def _information(
    roles: Int[np.ndarray, " token"], other_roles: Shaped[np.ndarray, " token"]
) -> dict[str, float]:
    bits = float(mutual_info_score(other_roles, roles) / np.log(2))
    return {
        "mutual_information": bits,
        "adjusted": float(adjusted_mutual_info_score(other_roles, roles)),
    }
