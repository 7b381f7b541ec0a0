"""The exact table of input embeddings: how much of a state its bindings are, without a fit to states."""

import numpy as np
import pandas as pd
import pytest

import tprprobe as tp
from tprprobe.analyses.decomposition import measure_exact_gain

WORDS, PLACES, WIDTH = 6, 5, 8


def store_of(folder, share: float):
    """A store of token vectors a_f + c_r + share · w_fr of 60 texts."""
    rng = np.random.default_rng(0)
    tokens = [(i, j, rng.integers(WORDS)) for i in range(60) for j in range(rng.integers(2, 6))]
    table = pd.DataFrame(tokens, columns=["sample", "position", "token"])
    f, r = table["token"].to_numpy(), table["position"].to_numpy()
    shapes = (WORDS, WIDTH), (PLACES, WIDTH), (WORDS, PLACES, WIDTH)
    filler, role, pair = (rng.normal(size=shape) for shape in shapes)
    np.savez(folder / "states.npz", state=filler[f] + role[r] + share * pair[f, r])
    table.astype({"token": str}).to_csv(folder / "states.csv", index=False)
    return tp.import_store(folder / "states.npz", folder / "store")


@pytest.mark.parametrize("pool", ["mean", "last"])
def test_a_table_of_main_effects_has_no_bindings_and_one_of_pairs_has(tmp_path, pool):
    for share, low, high in ((0.0, -1e-9, 1e-9), (1.0, 0.1, 0.6)):
        (folder := tmp_path / str(share)).mkdir()
        assert low <= measure_exact_gain(store_of(folder, share), "state", pool) < high
