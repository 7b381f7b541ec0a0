"""Images with captions as examples, their feature vectors, and both encoded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float32

from tprprobe.data.batching import Ragged, Vectors
from tprprobe.data.dataset import Dataset, Labels
from tprprobe.data.encoding import Flat, Spool, encode_targets
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError

IMAGES_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Captioned:
    """An image: its name, its feature vector, and captions of it.

    As an example of a data set its source is the name and its target the first caption.
    """

    image: str
    features: Float32[np.ndarray, " d_features"]
    captions: tuple[str, ...]
    has_one_answer, module = False, ""

    @property
    def document_name(self) -> str:
        """The image's name, whichever of its captions are held out."""
        return self.image.partition("#")[0]

    @property
    def source(self) -> str:
        return self.image

    @property
    def target(self) -> str:
        return self.captions[0]

    def labels(self, written: str | None) -> Labels:
        """None: captions that people wrote have no labels."""
        return None, None


def stack_features(examples: Sequence[Any]) -> Float32[np.ndarray, "image width"]:
    """The feature vectors of some images."""
    if not isinstance(examples[0], Captioned):
        raise InputError(
            f"{examples[0].source[:60]!r} is a text: this model reads images' features, as of `scenes` "
            "or `captions:FILE`"
        )
    check_widths([len(example.features) for example in examples])
    stacked = np.stack([example.features for example in examples])
    finite = np.isfinite(stacked).all(1)
    if not finite.all():
        name = examples[int(np.argmin(finite))].image
        raise InputError(f"the features of image {name} have NaN or infinity: compute them again")
    return stacked


def check_widths(widths: Sequence[int]) -> None:
    """Checks that all vectors have one width. Raises: InputError."""
    found = sorted(set(widths))
    if len(found) > 1:
        raise InputError(f"features of {found[0]} and of {found[1]} numbers: give one width")


def encode_captions(
    parts: Iterable[Dataset], words: Codec
) -> tuple[Vectors, Ragged, tuple[int, ...]]:
    """The vectors of all images, the ids of all their captions, and the number of captions in each
    part.

    Vectors and ids lie in temporary files until they are used.
    """
    rows, sizes, images = [], [], 0
    with Spool() as vectors, Spool() as captions:
        for part in parts:
            several: list[int] = []
            for block in part.examples(IMAGES_AT_ONCE):
                stacked = stack_features(block)
                vectors.write(Flat(stacked.ravel(), np.full(len(block), stacked.shape[1]), 0))
                texts = [caption for example in block for caption in example.captions]
                captions.write(encode_targets(texts, words))
                several += [len(example.captions) for example in block]
            rows.append(np.repeat(images + np.arange(len(several)), several))
            images, sizes = images + len(several), [*sizes, sum(several)]
        flat, target = vectors.flat(), captions.flat().ragged()
    check_widths(flat.lengths.tolist())
    values = torch.from_numpy(flat.values.reshape(images, -1))
    return Vectors(values, torch.from_numpy(np.concatenate(rows))), target, tuple(sizes)


def encode_first(examples: Sequence[Captioned], words: Codec) -> tuple[Vectors, Ragged]:
    """The vectors of some images and the ids of the first caption of each."""
    values = torch.from_numpy(stack_features(examples))
    target = encode_targets([example.target for example in examples], words).ragged()
    return Vectors(values, torch.arange(len(values))), target
