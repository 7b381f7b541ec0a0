"""Baselines that cost nothing and that every model should beat: a sentence of the document as its
summary, a caption of a training image for another image.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import chain, islice

import numpy as np
import pandas as pd
from jaxtyping import Float32

from tprpapers.captions.images import Captioned
from tprpapers.captions.words import tokenize
from tprprobe.data.dataset import Dataset
from tprprobe.errors import unknown

END = re.compile(r"(?<=[.!?])\s+(?=[^a-z\s])")
BASELINES = ("lead-1", "random-sentence")
CAPTION_BASELINES = ("most frequent caption", "random training caption", "nearest training image")
COMPARED = 5000  # training images


def sentences(text: str) -> list[str]:
    """The sentences of a text: they end in a full stop (or ! ?) before a space and no small letter,
    or in a line break."""
    sentences_of = (sentence.strip() for line in text.splitlines() for sentence in END.split(line))
    return [sentence for sentence in sentences_of if sentence]


def baseline_rows(rows: pd.DataFrame, name: str, seed: int = 0) -> pd.DataFrame:
    """The rows (with source) with the prediction of a baseline: the first sentence, or any.

    Raises: InputError for an unknown baseline.
    """
    if name not in BASELINES:
        raise unknown("baseline", name, BASELINES)
    rng = np.random.default_rng(seed)
    sentences_by_row = [sentences(source) or [""] for source in rows["source"]]
    places = (
        rng.integers([len(texts) for texts in sentences_by_row])
        if name == BASELINES[1]
        else [0] * len(rows)
    )
    predictions = [texts[place] for texts, place in zip(sentences_by_row, places, strict=True)]
    return rows.assign(prediction=predictions)


def first_images(train: Dataset) -> list[Captioned]:
    """The images that baselines know: the first 5,000 of what is trained on."""
    return list(islice(train, COMPARED))


def baseline_captions(
    name: str, captioned: Sequence[Captioned], images: Sequence[Captioned], seed: int = 0
) -> list[str]:
    """A caption of every image, from those of known ones.

    The commonest one; any; or the first of the image whose features have the highest cosine.
    Raises: InputError for an unknown baseline.
    """
    if name not in CAPTION_BASELINES:
        raise unknown("baseline", name, CAPTION_BASELINES)
    texts = [" ".join(tokenize(text)) for text in chain(*(image.captions for image in captioned))]
    if name == CAPTION_BASELINES[0]:
        return [Counter(texts).most_common(1)[0][0]] * len(images)
    if name == CAPTION_BASELINES[1]:
        return list(np.random.default_rng(seed).choice(texts, len(images)))
    nearest = (_directions(images) @ _directions(captioned).T).argmax(1)
    return [captioned[row].target for row in nearest]


def _directions(images: Sequence[Captioned]) -> Float32[np.ndarray, "image width"]:
    vectors = np.stack([image.features for image in images])
    return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-12)
