"""A model of transformers, loaded once, in its dtype, with its tokenizer; nothing of its folder is run."""

import inspect
import os
from typing import Any

import torch
from torch import Tensor

from tprprobe.errors import InputError, check_extra
from tprprobe.models.checkpoint import TRANSFORMERS, UNTRAINED
from tprprobe.models.huggingface.language import CAUSAL, MASKED, SEQ2SEQ, TEXT, Pretrained

FAULTS = (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, AttributeError,
          NotImplementedError, IndexError)  # fmt: skip


def read_transformers(
    path: str, local_files_only: bool, seed: int | None, dtype: torch.dtype = torch.float32
) -> Pretrained:
    """The attached model with its vocabulary; randomly initialized where there is a seed.

    Raises:
        InputError: transformers is not installed, or there is no such model that reads text.
    """
    check_extra("transformers", "huggingface", f"{TRANSFORMERS}{path}")
    import transformers

    options = {"local_files_only": local_files_only, "trust_remote_code": False}
    try:
        config = transformers.AutoConfig.from_pretrained(path, **options)
        kind = _model_class(path, config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
        if seed is None:
            module = kind.from_pretrained(path, dtype=dtype, **options, **_attending(kind))
        else:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                module = kind._from_config(config, dtype=dtype, **_attending(kind))
    except InputError:
        raise
    except FAULTS as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no transformers model {path!r} here or on the hub: {reason}") from error
    if not tokenizer.is_fast:
        raise InputError(f"{path} has a slow tokenizer, which does not say where tokens stand")
    twin = UNTRAINED if seed is not None else ""
    name = f"{twin}{TRANSFORMERS}{os.path.basename(path.rstrip('/'))}"
    return attach_layers(module.eval(), tokenizer, name, path)


def attach_layers(module: Any, tokenizer: Any, name: str, source: str | None = None) -> Pretrained:
    """A model of transformers with the sites that its structure has, and its tokenizer.

    Raises:
        InputError: a model that does not run on text alone, or without a list of layers.
    """
    from tprprobe.models.huggingface.anatomy import explore

    both = bool(module.config.is_encoder_decoder)

    def run(ids: Tensor, target: Tensor) -> Any:
        given = {TEXT: ids, **({"decoder_input_ids": target} if both else {})}
        named = inspect.signature(module.forward).parameters
        return module(**given, **({"use_cache": False} if "use_cache" in named else {}))

    try:
        anatomy = explore(module, run, both)
    except FAULTS as error:
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise InputError(f"{name} does not run on text alone ({reason})") from error
    if not anatomy.stacks:
        raise InputError(
            f"{name}: {type(module).__name__} has no list of layers that return a vector a token: name its "
            "sites with tp.attach"
        )
    attached = Pretrained(module, tokenizer, anatomy, head_of(module))
    attached.name, attached.source = name, source
    return attached.eval()


def head_of(module: Any) -> str | None:
    """The kind of a model's head: causal, masked or seq2seq; None where it has none."""
    return next(
        (k for k, t in _heads().items() if type(module) in _classes(t, module.config)), None
    )


def _heads() -> dict[str, Any]:
    import transformers

    return {
        SEQ2SEQ: transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING,
        MASKED: transformers.MODEL_FOR_MASKED_LM_MAPPING,
        CAUSAL: transformers.MODEL_FOR_CAUSAL_LM_MAPPING,
    }


def _classes(table: Any, config: Any) -> tuple[Any, ...]:
    """The classes that a table of transformers has for a configuration."""
    found = table.get(type(config), ())
    return found if isinstance(found, tuple) else (found,)


def _model_class(path: str, config: Any) -> Any:
    """The class of a model: with the head that it was saved with, else without one. Where a folder does not
    say, an encoder-decoder has one.

    Raises:
        InputError: a model of images or sounds, or of an architecture that the library does not have.
    """
    import transformers

    saved = [each.replace("ForPreTraining", "ForMaskedLM") for each in config.architectures or ()]
    heads = [kind for table in _heads().values() for kind in _classes(table, config)]
    chosen = [kind for kind in heads if kind.__name__ in saved]
    if not (chosen or saved) and config.is_encoder_decoder:
        chosen = _classes(_heads()[SEQ2SEQ], config)
    found = chosen or _classes(transformers.MODEL_MAPPING, config)
    if not found:
        raise InputError(
            f"{path} is of type {config.model_type!r}, of which transformers has no model"
        )
    kind: Any = found[0]
    if kind.main_input_name != TEXT:
        raise InputError(
            f"{path} is of type {config.model_type!r}, which reads {kind.main_input_name}: hf: reads "
            "models of text"
        )
    return kind


def _attending(kind: Any) -> dict[str, str]:
    """Options by which a model that does not call the common attention has maps of attention."""
    return {} if kind._can_set_attn_implementation() else {"attn_implementation": "eager"}
