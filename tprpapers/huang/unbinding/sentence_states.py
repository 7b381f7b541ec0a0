"""TPR fits of a sentence's state: how much of Ŝ_t is held by roles that unbinding vectors give.

u_t is d chunks of d numbers and f_t is Ŝ_t times each of them, so the roles of Ŝ_t, and their duals,
lie in R^d. A TPR Σ_k f_k r_kᵀ with free fillers comes as near to Ŝ_t as the span of its roles allows:
‖Ŝ_t P‖² / ‖Ŝ_t‖², P the projection on the span. Any m directions hold something, so every kind of
roles stands beside as many random ones, and beside those of other steps and other captions.
Source: huang Eqs. 2 and 3; the fit is ours.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprpapers.huang.unbinding.generations import GeneratedWords
from tprpapers.huang.unbinding.regions import MAX_WORDS, first_words
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.kmeans import fit_means
from tprprobe.statistics import Interval, bootstrap, bootstrap_mean, group_sums

STATE = "sentence.tpr"
DIRECTIONS = (1, 2, 5, 10)  # roles of a fit
CURRENT, AHEAD, BEHIND = "u_t", "u of a step to come", "u of a step before"
ELSEWHERE = "u_t of another caption, same step"
CENTERS = "dual basis of cluster centers"
RANDOM, SHARED, BEST = "random directions", "principal directions of other states", "of Ŝ_t itself"
COMPARED = ((CURRENT, RANDOM), (CURRENT, ELSEWHERE), (AHEAD, BEHIND), (CENTERS, RANDOM))
GAUSSIAN = "Gaussian vectors of the same mean and covariance"

Rows = Int[np.ndarray, " word"]
Axes = Float[np.ndarray, "#word direction d_role"]  # orthonormal, the strongest first
Shares = dict[str, Float[np.ndarray, "word fit"]]


@dataclass(frozen=True, eq=False)
class StateFit:
    """``shares``: roles, directions and the share of Ŝ_t that they hold, and differences of these.
    ``duals``: vectors, clusters; the error of their dual basis, that of a constant, and its cosine
    with the centers (1: orthogonal ones).
    """

    shares: pd.DataFrame
    duals: pd.DataFrame
    words: int
    images: int
    width: int


def fit_states(
    words: GeneratedWords, directions: Sequence[int] = DIRECTIONS, seed: int = 0
) -> StateFit:
    """The fits of the states of held-out images, at words with a step before them and one to come.

    Centers and principal directions are of the other images. ``directions`` from d on are
    left out, as these hold everything.

    Raises:
        InputError: a store without states, or with others than d × d beside d² of a vector.
    """
    if STATE not in words.store.sites:
        raise InputError(
            f"{words.store.path} has no {STATE}: extract it with --sites {words.site} --sites {STATE}"
        )
    table = first_words(words, MAX_WORDS)
    unbinding, states = (_read(words, table, site) for site in (words.site, STATE))
    d = states.shape[-1]
    if states.shape[1:] != (d, d) or unbinding[0].size != d * d:
        raise InputError(
            f"{STATE} has rows of {states.shape[1:]} beside {unbinding[0].size} of {words.site}: these "
            "are not of one TPGN"
        )
    rng = np.random.default_rng(seed)
    steps = _draw_steps(table, rng)
    word_ids, fits = steps[CURRENT], [m for m in directions if m < d]
    is_fitted = table["learned"].to_numpy(bool)
    vectors = unbinding.reshape(len(table), d * d)
    axes = np.linalg.svd(vectors.reshape(-1, d, d))[2]
    shares = {
        name: _share_inside(states[word_ids], axes[rows], fits) for name, rows in steps.items()
    }
    shares[CENTERS] = _share_centers(states[word_ids], vectors[is_fitted], fits, seed)
    shares[RANDOM] = _share_inside(states[word_ids], _random_axes(len(word_ids), d, rng), fits)
    spread = np.einsum("nij,nik->jk", states[is_fitted], states[is_fitted])
    shares[SHARED] = _share_inside(states[word_ids], np.linalg.eigh(spread)[1].T[None, ::-1], fits)
    shares[BEST] = _share_inside(states[word_ids], np.linalg.svd(states[word_ids])[2], fits)
    groups = table["group"].to_numpy()
    return StateFit(
        _summarize_shares(shares, fits, groups[word_ids], seed),
        _check_duals(vectors, is_fitted, groups, fits, seed),
        len(word_ids),
        len(np.unique(groups[word_ids])),
        d,
    )


def _read(words: GeneratedWords, table: pd.DataFrame, site: str) -> Float[np.ndarray, "word ..."]:
    rows = table["row"].to_numpy()
    return words.store.read(site, slice(0, int(rows[-1]) + 1))[rows].astype(np.float64)


def _draw_steps(table: pd.DataFrame, rng: np.random.Generator) -> dict[str, Rows]:
    """The held-out words with one before and one behind, and for each a step to take u from."""
    place, sample = table["position"].to_numpy(), table["sample"].to_numpy()
    image, is_held_out = table["group"].to_numpy(), ~table["learned"].to_numpy(bool)
    steps: dict[str, list[int]] = {name: [] for name in (CURRENT, AHEAD, BEHIND, ELSEWHERE)}
    for word in np.flatnonzero(is_held_out):
        caption_ids = np.flatnonzero(sample == sample[word])
        ahead, behind = (
            caption_ids[place[caption_ids] > place[word]],
            caption_ids[place[caption_ids] < place[word]],
        )
        elsewhere = np.flatnonzero(is_held_out & (place == place[word]) & (image != image[word]))
        if all(map(len, (ahead, behind, elsewhere))):
            steps[CURRENT].append(int(word))
            for name, candidates in ((AHEAD, ahead), (BEHIND, behind), (ELSEWHERE, elsewhere)):
                steps[name].append(int(rng.choice(candidates)))
    if not steps[CURRENT]:
        raise InputError("no held-out caption has three words: give more captions")
    return {name: np.array(rows) for name, rows in steps.items()}


def _share_inside(
    states: Float[np.ndarray, "word d_filler d_role"], axes: Axes, fits: Sequence[int]
) -> Float[np.ndarray, "word fit"]:
    """The share of every state that the first m axes hold, for each m."""
    energy = np.square(states @ np.swapaxes(axes, 1, 2)).sum(1).cumsum(1)
    total = np.square(states).sum((1, 2))
    return energy[:, [m - 1 for m in fits]] / total[:, None]


def _random_axes(n: int, d: int, rng: np.random.Generator) -> Axes:
    return np.linalg.qr(rng.normal(size=(n, d, d)))[0]


def _share_centers(
    states: Float[np.ndarray, "word d_filler d_role"],
    vectors: Float[np.ndarray, "row width"],
    fits: Sequence[int],
    seed: int,
) -> Float[np.ndarray, "word fit"]:
    """The shares that the dual bases of m centers hold, for each m."""
    shares = []
    for m in fits:
        labels = fit_means(vectors, m, seed, starts=10, source="the words").labels_
        roles = dual_basis(find_centers(vectors, labels))
        shares.append(_share_inside(states, np.linalg.qr(roles.T)[0].T[None], [m])[:, 0])
    return np.stack(shares, 1)


def find_centers(
    vectors: Float[np.ndarray, "row width"], labels: Int[np.ndarray, " row"]
) -> Float[np.ndarray, "cluster width"]:
    """The means of the vectors of every label."""
    return np.stack([vectors[labels == label].mean(0) for label in range(labels.max() + 1)])


def dual_basis(
    centers: Float[np.ndarray, "cluster width"],
) -> Float[np.ndarray, "cluster d_role"]:
    """The roles of unbinding vectors of d² numbers: the duals of each one's strongest direction in R^d."""
    d = round(centers.shape[1] ** 0.5)
    strongest = np.linalg.svd(centers.reshape(-1, d, d))[2][:, 0]
    return _duals(strongest)


def _summarize_shares(
    shares: Shares, fits: Sequence[int], groups: Int[np.ndarray, " word"], seed: int
) -> pd.DataFrame:
    """One row per kind of roles (or difference of two) and number of directions."""
    with_differences = shares | {
        f"{minuend} − {subtrahend}": shares[minuend] - shares[subtrahend]
        for minuend, subtrahend in COMPARED
    }
    rows = []
    for name, values in with_differences.items():
        for m, fit_shares in zip(fits, values.T, strict=True):
            mean = bootstrap_mean(fit_shares, groups, seed=seed)
            rows.append({"roles": name, "directions": m} | mean.columns("share"))
    return pd.DataFrame(rows)


def _duals(roles: np.ndarray) -> np.ndarray:
    """The dual basis of the rows."""
    import torch  # here: tables of stores are drawn without it

    from tprprobe.algebra import duals

    return duals(torch.from_numpy(roles)).numpy()


def _check_duals(
    vectors: Float[np.ndarray, "word width"],
    is_fitted: Bool[np.ndarray, " word"],
    groups: Int[np.ndarray, " word"],
    fits: Sequence[int],
    seed: int,
) -> pd.DataFrame:
    """How far rᵀu is from 1 at a held-out word's cluster and from 0 at others, r the dual basis of centers."""
    # Any vectors have clusters, and their centers a dual basis: Gaussian ones are the control.
    fit_vectors = vectors[is_fitted]
    mean, (_, scale, axes) = (
        fit_vectors.mean(0),
        np.linalg.svd(fit_vectors - fit_vectors.mean(0), False),
    )
    noise = np.random.default_rng(seed).normal(size=(len(vectors), len(scale)))
    kinds = {CURRENT: vectors, GAUSSIAN: mean + noise * scale / len(fit_vectors) ** 0.5 @ axes}
    rows = []
    for name, kind_vectors in kinds.items():
        for k in (m for m in fits if m > 1):
            means = fit_means(kind_vectors[is_fitted], k, seed, starts=10, source="the words")
            centers = find_centers(kind_vectors[is_fitted], means.labels_)
            roles = _duals(centers)
            cosine = (roles * centers).sum(1) / np.linalg.norm(roles, axis=1)
            exact = np.eye(k)[means.predict(kind_vectors[~is_fitted])]
            test_groups = groups[~is_fitted]
            row = {"vectors": name, "clusters": k}
            row |= _distance(kind_vectors[~is_fitted] @ roles.T, exact, test_groups, seed).columns(
                "error"
            )
            row["constant"] = _distance(exact.mean(0), exact, test_groups, seed).value
            rows.append(row | {"cosine": float((cosine / np.linalg.norm(centers, axis=1)).mean())})
    return pd.DataFrame(rows)


def _distance(
    products: Float[np.ndarray, "*#word cluster"],
    exact: Float[np.ndarray, "word cluster"],
    groups: Int[np.ndarray, " word"],
    seed: int,
) -> Interval:
    """The root mean square of products − exact, with its interval over images."""
    squares = np.square(products - exact).mean(1)
    sums = group_sums(np.stack([squares, np.ones(len(squares))], 1), groups)
    return bootstrap(sums, lambda totals: np.sqrt(totals[:, 0] / totals[:, 1]), seed=seed)
