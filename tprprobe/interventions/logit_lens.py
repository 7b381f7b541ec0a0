"""The logit lens: what a model would say next if each layer were its last."""

import pandas as pd
import torch

from tprprobe.errors import InputError
from tprprobe.interventions.edits import patch
from tprprobe.models.protocol import Language, require_head, require_vocabulary
from tprprobe.site.hooks import capture, find_sites, intervene
from tprprobe.site.patterns import layer_of


def logit_lens(model: Language, text: str, k: int = 3) -> pd.DataFrame:
    """The next tokens that the head reads from the states of every layer.

    The output of the last layer is replaced by the state of an earlier one, so that the model's own final norm and head
    read it. Of an encoder-decoder, the layers are those of the decoder, before it has written anything.

    Args:
        model: A model with a head; of a model that fills masks, ``text`` has a mask.
        text: The text.
        k: How many tokens are listed for every site.

    Returns:
        One row per site and rank: ``site``, ``rank`` (from 1), ``token``, ``p`` (probability).

    Raises:
        InputError: A model without a head, or without sites of layers; ``k`` below 1.

    Source: nostalgebraist 2020, "interpreting GPT: the logit lens".

    Examples:
        >>> tp.interventions.logit_lens(model, "Calculate 1+1.", k=1)["site"].to_list()
        ['decoder.0.hidden']
    """
    if k < 1:
        raise InputError(f"k = {k} tokens: give 1 or more")
    model, vocabulary = require_head(model, "a logit lens"), require_vocabulary(model)
    sites = _stack_sites(model)
    with capture(model, sites) as states:
        model.predict(text)
    layers = torch.cat([states[site] for site in sites])  # [site, seq, d_model]
    with intervene(model, {sites[-1]: patch(layers)}):
        best = model.predict([text] * len(sites)).topk(k)
    rows = [
        (site, rank + 1, vocabulary.spell([int(token_id)]), float(p))
        for site, ids, probabilities in zip(sites, best.indices, best.values, strict=True)
        for rank, (token_id, p) in enumerate(zip(ids, probabilities, strict=True))
    ]
    return pd.DataFrame(rows, columns=["site", "rank", "token", "p"])


def _stack_sites(model: Language) -> list[str]:
    names = [name for name in find_sites(model) if name.endswith((".embedding", ".hidden"))]
    layers = [name for name in names if layer_of(name) is not None]
    if not layers:
        raise InputError(
            f"{model.name} has no site LAYER.hidden: name layers' outputs with tp.attach"
        )
    stack = layers[-1].partition(".")[0]
    embedding = [name for name in names if name == f"{stack}.embedding"]
    return embedding + [name for name in layers if name.startswith(f"{stack}.")]
