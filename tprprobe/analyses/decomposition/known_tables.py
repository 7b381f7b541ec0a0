"""States whose table V[filler, place] is known: input embeddings, where no token has seen another one."""

import numpy as np
import pandas as pd
from jaxtyping import Float64
from scipy.sparse import csr_array, eye_array

from tprprobe.estimators.bindings.families import FILLER, ROLE, make_block
from tprprobe.estimators.bindings.pairs import count_pairs, find_pairs
from tprprobe.estimators.bindings.ridge import Regression, sum_blocks
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
    n = len(tokens)
    vectors = store.read_finite(site, slice(0, n)).reshape(n, -1).astype(np.float64)
    place = tokens.groupby("sample", sort=False).cumcount().to_numpy()
    interaction = vectors - fit_main_effects(vectors, tokens["token"].to_numpy(object), place)
    shares = [float(np.var(_pool(v, tokens, pool), 0).sum()) for v in (interaction, vectors)]
    return shares[0] / shares[1] if shares[1] else 0.0


def _pool(
    vectors: Float64[np.ndarray, "token d_model"], tokens: pd.DataFrame, pool: str
) -> Float64[np.ndarray, "sample d_model"]:
    if pool == MEAN:
        return pool_spans(vectors, starts_of(tokens["sample"].to_numpy()), MEAN)
    return vectors[rows_of(tokens, pool)]


def fit_main_effects(
    vectors: Float64[np.ndarray, "token d_model"], fillers: np.ndarray, roles: np.ndarray
) -> Float64[np.ndarray, "token d_model"]:
    """a_f + c_r of every token, by least squares."""
    pairs, occurrences = find_pairs(fillers, [pd.Categorical(roles)])
    counts = count_pairs(csr_array(eye_array(len(vectors), format="csr")), pairs, occurrences)
    regression = Regression.of(counts, vectors)
    blocks = [make_block(name, 0, [pairs]) for name in (FILLER, ROLE)]
    table = sum_blocks(blocks, regression.solve(blocks, (0.0, 0.0)))
    return counts @ table + regression.bias(table)
