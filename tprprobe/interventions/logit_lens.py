"""What the model's own head reads of its layers: their states (the logit lens), or what each of them adds."""

from collections.abc import Sequence

import pandas as pd
import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.interventions.edits import patch
from tprprobe.interventions.text_patching import contrast_answers, read_answer_ids
from tprprobe.interventions.word_edits import draw_directions
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
    sites, layers = _read_stack(model, text)
    with intervene(model, {sites[-1]: patch(layers)}):
        best = model.predict([text] * len(sites)).topk(k)
    rows = [
        (site, rank + 1, vocabulary.spell([int(token_id)]), float(p))
        for site, ids, probabilities in zip(sites, best.indices, best.values, strict=True)
        for rank, (token_id, p) in enumerate(zip(ids, probabilities, strict=True))
    ]
    return pd.DataFrame(rows, columns=["site", "rank", "token", "p"])


def direct_logit_attribution(
    model: Language, text: str, answers: Sequence[str] | None = None, seed: int = 0
) -> pd.DataFrame:
    """How much every layer adds directly to an answer, over another one: without what later layers make of it.

    What a layer adds to the states is taken from those that the model's own final norm and head read. (Elsewhere the norm's scale is
    held fixed, and the numbers add up; here they need not.)

    Args:
        model: A model with a head whose layers add to their input, as those of transformers do.
        text: The text.
        answers: The answer and another one, whose first tokens count; default: the two most probable tokens.
        seed: Seed of the random directions.

    Returns:
        One row per site: ``site``, ``answer``, ``other``, ``attribution`` (log p(answer) − log p(other), less the same without what this
        layer adds), and the control ``random``: the same with as long a vector of random direction.

    Raises:
        InputError: A model without a head, or without sites of layers; answers that begin with the same token.

    Source: Elhage et al. 2021, "A mathematical framework for Transformer circuits"; Nanda et al., TransformerLens.

    Examples:
        >>> tp.interventions.direct_logit_attribution(model, "Calculate 1+1.")["site"].to_list()
        ['decoder.0.hidden']
    """
    model, vocabulary = require_head(model, "an attribution"), require_vocabulary(model)
    sites, layers = _read_stack(model, text)
    if answers is None:
        answer, rival = model.predict(text)[0].topk(2).indices.tolist()
    else:
        answer, rival = read_answer_ids(model, [text, text], answers)
    updates = layers.diff(dim=0, prepend=torch.zeros_like(layers[:1]))
    random = draw_directions(updates, torch.Generator().manual_seed(seed))

    def measure(removed: Float[Tensor, "row seq d_model"]) -> Float[Tensor, " row"]:
        with intervene(model, {sites[-1]: patch(layers[-1] - removed)}):
            return contrast_answers(model, model.read([text] * len(removed)), (rival, answer))

    contrast = measure(torch.zeros_like(layers[:1]))
    columns = {"attribution": contrast - measure(updates), "random": contrast - measure(random)}
    names = {"answer": vocabulary.spell([answer]), "other": vocabulary.spell([rival])}
    effects = {name: values.double().cpu() for name, values in columns.items()}
    return pd.DataFrame({"site": sites} | names | effects)


def _read_stack(model: Language, text: str) -> tuple[list[str], Float[Tensor, "site seq d_model"]]:
    """The embedding and the layers that lead to the head, and their states."""
    names = [name for name in find_sites(model) if name.endswith((".embedding", ".hidden"))]
    layers = [name for name in names if layer_of(name) is not None]
    if not layers:
        raise InputError(
            f"{model.name} has no site LAYER.hidden: name layers' outputs with tp.attach"
        )
    stack = layers[-1].partition(".")[0]
    embedding = [name for name in names if name == f"{stack}.embedding"]
    sites = embedding + [name for name in layers if name.startswith(f"{stack}.")]
    with capture(model, sites) as states:
        model.predict(text)
    return sites, torch.cat([states[site] for site in sites])
