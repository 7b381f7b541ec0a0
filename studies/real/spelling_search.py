"""Question c, the search: which roles of letters does the instrument choose, and do they preserve pronunciations?

The search reads vectors alone (it prices schemes by what they explain). It sees the words that are fitted; the words
that are tested then judge its scheme beside the others.
"""

from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

import tprprobe as tp
from studies.real.words import Words

SITE = "state"
FILE, TOKENS = "words.npz", "words.csv"


def search_scheme(
    words: Words,
    states: Float[np.ndarray, "word d_model"],
    tested: Bool[np.ndarray, " word"],
    out: Path,
    seed: int,
) -> dict[str, pd.DataFrame]:
    """The table of the schemes that the search tried on words that are not tested, the shortest description first."""
    out.mkdir(parents=True, exist_ok=True)
    indices = np.flatnonzero(~tested)
    np.savez(out / FILE, state=states[indices].astype(np.float32))
    sequences = {
        "sample": np.arange(len(indices)),
        "sequence": [" ".join(words.forms[i]) for i in indices],
        "document": [words.lemmas[i] for i in indices],
    }
    pd.DataFrame(sequences).to_csv(out / TOKENS, index=False)
    store = tp.import_store(out / FILE, out / "store", resume=True)
    return {"schemes": tp.search_roles(store, SITE, seed=seed).schemes.assign(seed=seed)}
