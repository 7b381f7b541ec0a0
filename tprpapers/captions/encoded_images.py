"""Images as what models read: their feature vectors, paired with the ids of captions."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int64
from torch import Tensor

from tprpapers.captions.images import check_widths, stack_features
from tprprobe.data.pairs import Flat, Pairs, Spool, encode_targets
from tprprobe.data.vocabularies.codecs import Codec

IMAGES_AT_ONCE = 1024


@dataclass(frozen=True)
class Vectors:
    """The source of sample i is `values[rows[i]]`; it has no tokens."""

    values: Float[Tensor, "vector width"]
    rows: Int64[Tensor, " sample"]

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def ids(self) -> Int64[Tensor, " token"]:
        return torch.empty(0, dtype=torch.int64)

    @property
    def offsets(self) -> Int64[Tensor, " offset"]:
        return torch.zeros(len(self) + 1, dtype=torch.int64)

    @property
    def lengths(self) -> Int64[Tensor, " sample"]:
        return torch.zeros_like(self.rows)

    def to(self, device: str | torch.device) -> "Vectors":
        return Vectors(self.values.to(device), self.rows)

    def padded(self, indices: Int64[Tensor, " batch"], pad: int) -> Float[Tensor, "batch width"]:
        """The vectors of the chosen samples, which need no padding."""
        return self.values[self.rows[indices.to(self.rows.device)].to(self.values.device)]


def encode_captions(datasets: Iterable[Iterable[Any]], words: Codec, only_first: bool) -> Pairs:
    """The vectors of all images, with each of their captions or with the ``first`` one; both lie in temporary files
    until they are used.
    """
    rows, sizes, images = [], [], 0
    with Spool() as vectors, Spool() as captions:
        for dataset in datasets:
            caption_counts: list[int] = []
            examples = iter(dataset)
            while block := list(islice(examples, IMAGES_AT_ONCE)):
                stacked = stack_features(block)
                vectors.write(Flat(stacked.ravel(), np.full(len(block), stacked.shape[1]), 0))
                texts = [image.captions[:1] if only_first else image.captions for image in block]
                captions.write(
                    encode_targets(
                        [text for captions_of_image in texts for text in captions_of_image], words
                    )
                )
                caption_counts += map(len, texts)
            rows.append(np.repeat(images + np.arange(len(caption_counts)), caption_counts))
            images, sizes = images + len(caption_counts), [*sizes, sum(caption_counts)]
        flat, target = vectors.flat(), captions.flat().ragged()
    check_widths(flat.lengths.tolist())
    values = torch.from_numpy(flat.values.reshape(images, -1))
    return Pairs(
        Vectors(values, torch.from_numpy(np.concatenate(rows))), target, parts=tuple(sizes)
    )
