"""Captions that cost nothing: those of training images. Every model should be better."""

from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
from jaxtyping import Float32

from tprprobe.data.captions.examples import Captioned
from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.words import tokenize
from tprprobe.errors import unknown

BASELINES = ("most frequent caption", "random training caption", "nearest training image")
COMPARED = 5000  # training images


def first_images(train: Dataset) -> list[Captioned]:
    """The images that baselines know: the first 5,000 of what is trained on."""
    return list(islice(train, COMPARED))


def baseline_captions(
    name: str, known: Sequence[Captioned], images: Sequence[Captioned], seed: int = 0
) -> list[str]:
    """A caption of every image, from those of known ones.

    The commonest one; any; or the first of the image whose features have the highest cosine.
    Raises: InputError for an unknown baseline.
    """
    if name not in BASELINES:
        raise unknown("baseline", name, BASELINES)
    texts = [" ".join(tokenize(text)) for text in chain(*(each.captions for each in known))]
    if name == BASELINES[0]:
        return [Counter(texts).most_common(1)[0][0]] * len(images)
    if name == BASELINES[1]:
        return list(np.random.default_rng(seed).choice(texts, len(images)))
    nearest = (_directions(images) @ _directions(known).T).argmax(1)
    return [known[row].target for row in nearest]


def _directions(images: Sequence[Captioned]) -> Float32[np.ndarray, "image width"]:
    vectors = np.stack([each.features for each in images])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
