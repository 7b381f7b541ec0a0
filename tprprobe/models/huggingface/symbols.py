"""Sizes and special symbols of a model of transformers."""

import inspect
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from tprprobe.models.huggingface.tokenizer import NO_PAD

CAUSAL, MASKED, SEQ2SEQ = "causal", "masked", "seq2seq"  # kinds of heads

READING = "extract, probe, decompose"
COMMANDS = {  # commands that a model with this head takes
    None: READING,
    MASKED: f"{READING}, eval and intervene (of texts with masks)",
    CAUSAL: f"{READING}, eval, predict, intervene",
    SEQ2SEQ: f"{READING}, eval, predict, intervene",
}


@dataclass(frozen=True)
class Symbols:
    vocab_size: int
    d_model: int
    pad: int
    sos: int
    eos: int
    ends: tuple[int, ...]  # every id that ends what is written
    forced: int | None = None  # the first that a decoder writes
    dropout: float = 0.0


def read_symbols(module: Any, vocabulary: Any) -> Symbols:
    config = module.config.get_text_config()
    settings = getattr(module, "generation_config", None) or config
    end_ids = getattr(settings, "eos_token_id", None)
    if vocabulary is None:
        start = "decoder_start_token_id" if has_two_stacks(module) else "bos_token_id"
        names = ("pad_token_id", start, "eos_token_id")
        special_ids = (getattr(module.config, name, None) for name in names)
        pad, sos, eos = (NO_PAD if i is None else int(np.ravel(i)[0]) for i in special_ids)
    else:
        pad, sos, eos = vocabulary.pad, vocabulary.sos, vocabulary.eos
    end_ids = eos if end_ids is None else end_ids
    ends = tuple(end_ids) if isinstance(end_ids, list | tuple) else (end_ids,)
    width = getattr(config, "hidden_size", 0)
    forced = getattr(vocabulary, "forced", None)
    return Symbols(int(config.vocab_size), width, pad, sos, eos, ends, forced)


def has_two_stacks(module: Any) -> bool:
    """True for an encoder-decoder; T5's encoder alone has its configuration too."""
    takes = "decoder_input_ids" in inspect.signature(module.forward).parameters
    return takes and bool(module.config.is_encoder_decoder)


def is_mask(ids: Any, mask: Any, start: int | None) -> bool:
    """True for a mask of ids, false for ids of a decoder, which begin with the id ``start``."""
    if mask is None or mask.shape != ids.shape:
        return mask is None
    if mask.dtype == torch.bool:
        return True
    is_binary = bool(((mask == 0) | (mask == 1)).all())
    return is_binary and not (start is not None and bool((mask[:, 0] == start).all()))
