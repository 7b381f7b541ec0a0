"""Images with captions, encoded: feature vectors, and the ids of every caption."""

from collections.abc import Iterable, Sequence

import numpy as np
import torch

from tprprobe.data.batching import Ragged
from tprprobe.data.captions import IMAGES_AT_ONCE, Captioned, check_widths, stack_features
from tprprobe.data.dataset import Dataset
from tprprobe.data.dense import Vectors
from tprprobe.data.encoding import Flat, Spool, encode_targets
from tprprobe.data.vocabularies.codecs import Codec


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
