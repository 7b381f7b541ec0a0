"""What a model expects after a typed text: the next words with their probabilities."""

import pandas as pd
import torch

from tprprobe.data.pairs import encode_sources
from tprprobe.errors import InputError
from tprprobe.models.protocol import Language, require_vocabulary


def next_words(model: Language, text: str, k: int = 10) -> pd.DataFrame:
    """The k most probable symbols behind a text, or, of a model that fills masks, at its first mask.

    Args:
        model: any model with a head that reads text.
        text: what it reads; an encoder-decoder begins its answer to it.
        k: how many symbols.

    Returns:
        One row per symbol, the most probable first: word (as it is written, blanks included), id, p.

    Raises:
        InputError: a model of images, k below 1, a text that cannot be encoded or has no mask.
    """
    vocabulary = require_vocabulary(model)
    if vocabulary.reads_images:
        raise InputError(f"{model.name} reads images: a typed text needs a model of texts")
    if k < 1:
        raise InputError(f"{k} words: ask for at least one")
    source = (
        encode_sources([text], vocabulary).ragged().padded(torch.zeros(1).long(), model.config.pad)
    )
    p = model.eval().predict(source.to(model.device))[0].cpu()
    best = p.topk(min(k, len(p)))
    words = [vocabulary.spell([i]) for i in best.indices.tolist()]
    return pd.DataFrame({"word": words, "id": best.indices.numpy(), "p": best.values.numpy()})
