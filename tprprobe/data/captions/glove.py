"""Word vectors from a GloVe file, as the first weights of W_e.

Source: huang §4, W_e is "obtained by the Stanford GLoVe algorithm with zero mean"; of 25 dimensions
are the vectors of Twitter (nlp.stanford.edu/projects/glove).
"""

from pathlib import Path

import numpy as np
from jaxtyping import Bool, Float32

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.file_errors import damage_told
from tprprobe.files.lines import opened


def read_glove(
    path: Path, words: Codec, width: int
) -> tuple[Float32[np.ndarray, "vocab width"], Bool[np.ndarray, " vocab"]]:
    """The vector of every word, minus the mean of all, and flags of the words that the file has.

    The other rows are zeros: keep what the model has there.
    Raises: InputError for a file of another width, or with none of the words.
    """
    rows = {word.encode(): row for row, word in enumerate(words.symbols)}
    vectors = np.zeros((len(words), width), np.float32)
    found = np.zeros(len(words), bool)
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
            with damage_told(f"{path}, line {number}"):
                vectors[rows[word]], found[rows[word]] = np.array(values, np.float32), True
            if not np.isfinite(vectors[rows[word]]).all():
                raise InputError(f"{path}, line {number} has NaN or infinity; leave the line out")
    if not found.any():
        raise InputError(f"{path} has none of the {len(words)} words; give a GloVe text file")
    vectors[found] -= vectors[found].mean(0)
    return vectors, found
