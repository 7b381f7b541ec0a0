"""Images with captions as examples, and their feature vectors."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float32

from tprprobe.data.dataset import Labels
from tprprobe.errors import InputError


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

    def labels(self, text: str | None) -> Labels:
        """None: captions that people wrote have no labels."""
        return None, None


def stack_features(examples: Sequence[Any]) -> Float32[np.ndarray, "image width"]:
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
    distinct = sorted(set(widths))
    if len(distinct) > 1:
        raise InputError(f"features of {distinct[0]} and of {distinct[1]} numbers: give one width")
