"""Examples of a captioning data set: an image's features and its captions."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float32

from tprprobe.data.dataset import Labels
from tprprobe.data.worlds.english.labelling import label_sentences
from tprprobe.data.worlds.english.sentences import Sentence
from tprprobe.gold.labels import Labelled, Target


@dataclass(frozen=True, eq=False)
class Captioned:
    """An image: its name, its feature vector, and captions of it.

    As an example of a data set its source is the name and its target the first caption;
    `sentences` are the captions with their labels, where these are known; `lexicon` is the tag of
    every word form, where each has one.
    """

    image: str
    features: Float32[np.ndarray, " d_features"]
    captions: tuple[str, ...]
    sentences: tuple[Sentence, ...] = ()
    lexicon: Mapping[str, str] = field(default_factory=dict)
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
        """The labels of the first caption, if captions are labelled; the tags of another by its words."""
        if written is not None:
            return None, self._tagged(written) if self.lexicon else None
        return None, label_sentences(self.sentences[:1]) if self.sentences else None

    def _tagged(self, text: str) -> Labelled:
        words = tuple(text.split())
        tags = tuple(
            Target(self.lexicon[word], (i, i + 1))
            for i, word in enumerate(words)
            if word in self.lexicon
        )
        return Labelled("", "", words, text, {"pos": tags})
