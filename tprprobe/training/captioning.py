"""Preparing captioning models for their first step: word vectors, and the mean of features."""

from pathlib import Path

import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.data.captions.glove import read_glove
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.models.protocol import CaptionModel, Model
from tprprobe.training.recipes import WordSettings

SUMMED_AT_ONCE = 4096  # vectors


@torch.no_grad()
def prepare_captioner(model: Model, words: Codec, settings: WordSettings | None) -> None:
    """Checks that a captioning model is trained on words, and sets W_e to their vectors if they
    have any.

    Raises: InputError where it is no such model, or there are no words.
    """
    if settings is None or not isinstance(model, CaptionModel):
        raise InputError(
            f"{model.architecture}: a model of captions (tpgn, cnn-lstm) needs a section [words] in its "
            "recipe, and no other model has one"
        )
    if settings.glove is not None:
        width = model.config.d_embedding
        vectors, found = read_glove(Path(settings.glove), words, width)
        model.embedding.weight[found] = torch.from_numpy(vectors[found]).to(model.embedding.weight)


@torch.no_grad()
def center(model: CaptionModel, features: Float[Tensor, "image d_features"]) -> None:
    """Sets v̄, if the model has one, to the mean of the features over images (huang Eq. 9)."""
    if model.center is not None:
        sums = [some.double().sum(0) for some in features.split(SUMMED_AT_ONCE)]
        model.center.copy_(sum(sums[1:], sums[0]) / len(features))
