"""What captioning models are given before their first step: word vectors, and the mean of features."""

from pathlib import Path
from typing import Any

import torch

from tprprobe.data.captions.glove import read_glove
from tprprobe.data.dense import Vectors
from tprprobe.data.vocabularies.characters import Codec
from tprprobe.data.vocabularies.words import Words
from tprprobe.errors import InputError
from tprprobe.training.recipes import Words as Settings

SUMMED_AT_ONCE = 4096  # vectors


@torch.no_grad()
def prepare_captioner(model: Any, words: Codec, settings: Settings | None) -> None:
    """Check that a model of captions meets words, and set its W_e where they have vectors.

    Raises: InputError where it is no such model, or there are no words.
    """
    if not isinstance(words, Words) or settings is None or not hasattr(model.config, "d_features"):
        raise InputError(
            f"{model.architecture}: a model of captions (tpgn, cnn-lstm) needs a section [words] in its "
            "recipe, and no other model has one"
        )
    if settings.glove is not None:
        width = model.config.d_embedding
        vectors, found = read_glove(Path(settings.glove), words, width)
        model.embedding.weight[found] = torch.from_numpy(vectors[found]).to(model.embedding.weight)


@torch.no_grad()
def center(model: Any, source: Vectors) -> None:
    """Set v̄, where the model has one: the mean of the features over images (huang Eq. 9)."""
    if hasattr(model, "mean"):
        total = sum(some.double().sum(0) for some in source.values.split(SUMMED_AT_ONCE))
        model.mean.copy_(total / len(source.values))
