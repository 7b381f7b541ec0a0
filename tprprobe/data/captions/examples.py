"""Examples of a captioning data set: an image's features and its captions."""

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float32

from tprprobe.data.dataset import Labels


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
