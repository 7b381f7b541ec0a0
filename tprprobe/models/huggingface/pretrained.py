"""A model of transformers, loaded once, in its dtype, with its tokenizer; nothing of its folder is run."""

import inspect
import os
from typing import Any

import torch
from torch import Tensor

from tprprobe.errors import InputError, check_extra
from tprprobe.models.checkpoint import TRANSFORMERS, UNTRAINED
from tprprobe.models.huggingface.tokenizer import Tokens
from tprprobe.site.attachment import Attached

TEXT = "input_ids"  # what a model reads that reads text
FAULTS = (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, AttributeError,
          NotImplementedError, IndexError)  # fmt: skip


def read_transformers(
    path: str, local_files_only: bool, seed: int | None, dtype: torch.dtype = torch.float32
) -> Attached:
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


def attach_layers(module: Any, tokenizer: Any, name: str, source: str | None = None) -> Attached:
    """A model of transformers with the sites that its structure has, and its tokenizer.

    Raises:
        InputError: a model that does not run on text alone, or without a list of layers.
    """
    from tprprobe.models.huggingface.anatomy import explore
    from tprprobe.models.huggingface.taps import Taps

    both = bool(module.config.is_encoder_decoder)
    named = inspect.signature(module.forward).parameters
    pad = -1

    def run(ids: Tensor, target: Tensor) -> Any:
        return module(**_arguments(named, both, ids, target, pad))

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
    taps: Taps | None = None

    def forward(module: Any, batch: tuple[Tensor, Tensor]) -> Any:
        given = _arguments(named, both, batch[0], batch[1], attached.vocabulary.pad)
        with taps.opened(module):  # pyright: ignore[reportOptionalMemberAccess]
            output = module(**given)
        return output.logits if both else output

    attached = Attached(module, forward)
    attached.vocabulary = Tokens.of(tokenizer, module, "layers" in anatomy.stacks)
    attached.name, attached.source = name, source
    attached.attach_again = lambda other: attach_layers(other, tokenizer, name, source)
    taps = Taps(attached, anatomy)
    return attached.eval()


def _model_class(path: str, config: Any) -> Any:
    """The class of a model by its configuration: with a head where a decoder is teacher-forced.

    Raises:
        InputError: a model of images or sounds, or of an architecture that the library does not have.
    """
    import transformers

    table = transformers.MODEL_MAPPING
    if (
        config.is_encoder_decoder
        and type(config) in transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING
    ):
        table = transformers.MODEL_FOR_SEQ_TO_SEQ_CAUSAL_LM_MAPPING
    if type(config) not in table:
        raise InputError(
            f"{path} is of type {config.model_type!r}, of which transformers has no model"
        )
    found = table[type(config)]
    kind: Any = found[0] if isinstance(found, tuple) else found
    if kind.main_input_name != TEXT:
        raise InputError(
            f"{path} is of type {config.model_type!r}, which reads {kind.main_input_name}: hf: reads "
            "models of text"
        )
    return kind


def _attending(kind: Any) -> dict[str, str]:
    """Options by which a model that does not call the common attention has maps of attention."""
    return {} if kind._can_set_attn_implementation() else {"attn_implementation": "eager"}


def _arguments(named: Any, both: bool, source: Tensor, target: Tensor, pad: int) -> dict[str, Any]:
    """What a model is called with: ids, the mask of those that are no padding, and their positions
    where padding stands on the left.
    """
    mask = source != pad
    given: dict[str, Any] = {TEXT: source.clamp(min=0), "attention_mask": mask.long()}
    if both:
        given["decoder_input_ids"] = target
    elif "position_ids" in named and not mask[:, 0].all():
        given["position_ids"] = (mask.cumsum(1) - 1).clamp(min=0)
    if "use_cache" in named:
        given["use_cache"] = False
    return {name: value for name, value in given.items() if name in named or _takes_any(named)}


def _takes_any(named: Any) -> bool:
    return any(each.kind is inspect.Parameter.VAR_KEYWORD for each in named.values())
