"""Features made of an image's other captions, for captions without images.

v = Σ_w n_w s_w, where n_w is the share of those captions that have the word w, and s_w is w's own
vector in 2,048 dimensions: 32 places, each +1 or −1, given by a hash of the word (a sparse random
projection of the bag of words). The order of the words is lost, and what a caption alone says.
"""

from collections import Counter
from collections.abc import Sequence
from functools import lru_cache
from hashlib import blake2b

import numpy as np
from jaxtyping import Float32

from tprpapers.captions.words import tokenize

WIDTH, PLACES = 2048, 32


def bag_vector(captions: Sequence[str]) -> Float32[np.ndarray, " width"]:
    """The vector of the words of these captions."""
    times = Counter(word for caption in captions for word in set(tokenize(caption)))
    vector = np.zeros(WIDTH, np.float32)
    for word, n in times.items():
        places, signs = _places(word)
        vector[places] += signs * np.float32(n / len(captions))
    return vector


@lru_cache(maxsize=50_000)
def _places(word: str) -> tuple[np.ndarray, np.ndarray]:
    seed = int.from_bytes(blake2b(word.encode(), digest_size=8).digest(), "little")
    rng = np.random.default_rng(seed)
    places = rng.choice(WIDTH, PLACES, replace=False)
    return places, rng.choice(np.array([-1, 1], np.float32), PLACES)
