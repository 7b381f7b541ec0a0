"""States whose table V[filler, place] is known: input embeddings, where no token has seen another one."""

import numpy as np
import pandas as pd
from jaxtyping import Float64, Int

from tprprobe.store import Store
from tprprobe.store.tokens import MEAN, pool_spans, rows_of, starts_of


def measure_exact_gain(store: Store, site: str, pool: str) -> float:
    """The share of the pooled states' variance that bindings of tokens to places are, without any fit to states.

    The vector of a token without context is V[f, r], so its interaction is what the best a_f + c_r leaves of it.

    Args:
        store: A store with a vector for every token of the site.
        site: The input embeddings.
        pool: How a state is pooled of its tokens' vectors: ``mean``, or the ``last`` token's.
    """
    tokens = store.tokens_of(site).reset_index(drop=True)
    vectors = (
        store.read_finite(site, slice(0, len(tokens))).reshape(len(tokens), -1).astype(np.float64)
    )
    place = tokens.groupby("sample", sort=False).cumcount().to_numpy()
    interaction = vectors - fit_main_effects(vectors, pd.factorize(tokens["token"])[0], place)
    shares = [float(np.var(_pool(each, tokens, pool), 0).sum()) for each in (interaction, vectors)]
    return shares[0] / shares[1] if shares[1] else 0.0


def _pool(
    vectors: Float64[np.ndarray, "token d_model"], tokens: pd.DataFrame, pool: str
) -> Float64[np.ndarray, "sample d_model"]:
    if pool == MEAN:
        return pool_spans(vectors, starts_of(tokens["sample"].to_numpy()), MEAN)
    return vectors[rows_of(tokens, pool)]


def fit_main_effects(
    vectors: Float64[np.ndarray, "token d_model"],
    filler: Int[np.ndarray, " token"],
    place: Int[np.ndarray, " token"],
) -> Float64[np.ndarray, "token d_model"]:
    """a_f + c_r of every token, by least squares: places by the Schur complement of the fillers' counts."""
    counts = np.zeros((filler.max() + 1, place.max() + 1))
    np.add.at(counts, (filler, place), 1)
    sums = [np.zeros((n, vectors.shape[1])) for n in counts.shape]
    np.add.at(sums[0], filler, vectors)
    np.add.at(sums[1], place, vectors)
    often = counts.sum(1)[:, None]
    schur = np.diag(counts.sum(0)) - counts.T @ (counts / often)
    of_place = np.linalg.lstsq(schur, sums[1] - counts.T @ (sums[0] / often), rcond=1e-10)[0]
    of_filler = (sums[0] - counts @ of_place) / often
    return of_filler[filler] + of_place[place]
