"""Models that are in memory already, as transformers or a library around it holds them."""

import os
from collections.abc import Callable
from operator import attrgetter, methodcaller

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tprprobe.errors import InputError
from tprprobe.models.huggingface.language import Pretrained
from tprprobe.models.huggingface.pretrained import attach_layers

# library → the model of transformers inside what it holds
WRAPPED: dict[str, Callable[[object], object]] = {
    "peft": methodcaller("get_base_model"),
    "sentence_transformers": attrgetter("transformers_model"),
    "nnsight": attrgetter("_module"),
    "transformer_lens": attrgetter("original_model"),
}


def adapt(model: object, tokenizer: PreTrainedTokenizerBase | None = None) -> Pretrained:
    """The model with its sites, by default with its own tokenizer; weights, their dtype and the mode stay."""
    module = unwrap(model)
    was_training = module.training
    name = os.path.basename(str(module.name_or_path).rstrip("/")) or type(module).__name__
    adapted = attach_layers(module.eval(), tokenizer or getattr(model, "tokenizer", None), name)
    adapted.train(was_training)
    return adapted


def unwrap(model: object) -> PreTrainedModel:
    if isinstance(model, PreTrainedModel):
        return model
    kind = type(model)
    if getattr(getattr(model, "active_peft_config", None), "is_prompt_learning", False):
        raise InputError(
            f"{kind.__name__} puts vectors before texts, without a site: use tp.attach"
        )
    for base in kind.__mro__:
        inner = WRAPPED.get(base.__module__.partition(".")[0])
        if inner is not None and (module := inner(model)) is not None:
            return unwrap(module)
    name = f"{kind.__module__}.{kind.__name__}"
    raise InputError(f"{name} holds no model of transformers: name sites with tp.attach")
