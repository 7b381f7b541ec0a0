"""Preparing captioning models for their first step: vectors of words."""

from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float32

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.lines import opened
from tprprobe.models.protocol import CaptionModel, Model
from tprprobe.training.recipes import WordSettings


@torch.no_grad()
def prepare_captioner(model: Model, words: Codec, settings: WordSettings | None) -> None:
    """Checks that a captioning model is trained on words, and sets W_e to their vectors if they have any."""
    if settings is None or not isinstance(model, CaptionModel):
        raise InputError(
            f"{model.architecture}: a model of captions (tpgn, cnn-lstm) needs a section [words] in its "
            "recipe, and no other model has one"
        )
    if settings.glove is not None:
        width = model.config.d_embedding
        vectors, is_known = read_glove(Path(settings.glove), words, width)
        model.embedding.weight[is_known] = torch.from_numpy(vectors[is_known]).to(
            model.embedding.weight
        )


def read_glove(
    path: Path, words: Codec, width: int
) -> tuple[Float32[np.ndarray, "vocab width"], Bool[np.ndarray, " vocab"]]:
    """The vector of every word, minus the mean of all, and flags of the words that the file has.

    The other rows are zeros: keep what the model has there. Source: huang §4, W_e is "obtained by the Stanford
    GLoVe algorithm with zero mean"; of 25 dimensions are the vectors of Twitter (nlp.stanford.edu/projects/glove).
    """
    rows = {word.encode(): row for row, word in enumerate(words.symbols)}
    vectors = np.zeros((len(words), width), np.float32)
    is_known = np.zeros(len(words), bool)
    with opened(path) as stream:
        for number, line in enumerate(stream, 1):
            word, *values = line.split(b" ")
            if word not in rows:
                continue
            if len(values) != width:
                raise InputError(
                    f"{path}, line {number}: {len(values)} numbers; d_embedding is {width}, give a "
                    "file of this width"
                )
            with as_input_error(f"{path}, line {number}"):
                vectors[rows[word]], is_known[rows[word]] = np.array(values, np.float32), True
            if not np.isfinite(vectors[rows[word]]).all():
                raise InputError(f"{path}, line {number} has NaN or infinity; leave the line out")
    if not is_known.any():
        raise InputError(f"{path} has none of the {len(words)} words; give a GloVe text file")
    vectors[is_known] -= vectors[is_known].mean(0)
    return vectors, is_known
