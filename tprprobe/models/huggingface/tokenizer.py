"""What a model of transformers and its tokenizer say of ids: special symbols, the window, the longest text."""

import inspect
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from tprprobe.data.vocabularies.tokens import BEHIND, DECODER, MASKS, Tokens
from tprprobe.errors import InputError

NO_PAD = -1  # stands for padding where a model has no symbol for it
ENDLESS = 10**9  # ids of a text, by which tokenizers say that they know no limit
WINDOWS = ("max_position_embeddings", "max_encoder_position_embeddings", "max_seq_len", "n_ctx")
DECODERS = (
    "max_decoder_position_embeddings",
    "max_target_positions",
    *WINDOWS,
)  # of what is written
CAUSAL, MASKED, SEQ2SEQ = "causal", "masked", "seq2seq"  # kinds of heads

READING = "extract, probe, decompose"
COMMANDS = {  # commands that a model with this head takes
    None: READING,
    MASKED: f"{READING}, eval and intervene (of texts with masks)",
    CAUSAL: f"{READING}, eval, predict, intervene",
    SEQ2SEQ: f"{READING}, eval, predict, intervene",
}


def read_vocabulary(
    tokenizer: PreTrainedTokenizerBase, module: PreTrainedModel, head: str | None
) -> Tokens:
    start = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
    end = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
    pad = getattr(module.config, "pad_token_id", None)
    rows = count_rows(module)
    forced = None
    if module.config.is_encoder_decoder:
        start, end, pad = _required(module, end, pad)
        forced = _setting(module, "forced_bos_token_id")
    elif pad in (None, start, end, tokenizer.unk_token_id):  # a text may hold it
        pad = NO_PAD
    padding = None if pad == NO_PAD else pad
    special_ids = {"start": start, "end": end, "padding": padding, "forced": forced}
    _check_rows(rows, special_ids)
    sos, eos = _first(start, end, 0) or 0, _first(end, start, 0) or 0
    writes = DECODER if module.config.is_encoder_decoder else MASKS if head == "masked" else BEHIND
    names = DECODERS if writes == DECODER else WINDOWS
    limit, room = _limit(tokenizer, module), _find_window(module, names)
    vocabulary = Tokens(tokenizer, int(pad), sos, eos, rows, limit, room, writes, forced)
    prefix, suffix = vocabulary.source_frame
    _check_rows(rows, {"framing": max(prefix + suffix, default=None)})
    return vocabulary


def count_rows(module: PreTrainedModel) -> int:
    """The number of ids that the embedding of a model has a vector for."""
    return len(cast(Tensor, module.get_input_embeddings().weight))


def _check_rows(rows: int, symbols: dict[str, int | None]) -> None:
    for name, symbol in symbols.items():
        if symbol is not None and not 0 <= symbol < rows:
            raise InputError(
                f"the {name} symbol has the id {symbol}, the model's embedding has {rows} rows"
            )


def _find_window(module: PreTrainedModel, names: tuple[str, ...]) -> int | None:
    config = module.config.get_text_config()
    sizes = (getattr(config, name, None) for name in names)
    positions = next((n for n in sizes if isinstance(n, int) and n > 0), None)
    if positions is None:
        return None
    offsets = [
        submodule.padding_idx + 1  # RoBERTa counts positions from there
        for name, submodule in module.named_modules()
        if isinstance(submodule, nn.Embedding)
        and "position" in name
        and submodule.padding_idx is not None
    ]
    return positions - max(offsets, default=0)


def _limit(tokenizer: PreTrainedTokenizerBase, module: PreTrainedModel) -> int | None:
    max_length = tokenizer.model_max_length
    if not isinstance(max_length, int) or max_length < 1:
        raise InputError(f"model_max_length is a whole number above 0, not {max_length!r:.40}")
    limits = [n for n in (max_length, _find_window(module, WINDOWS)) if n and n < ENDLESS]
    return min(limits, default=None)


def _first(*ids: Any) -> int | None:
    symbol_id = next((candidate for candidate in ids if candidate is not None), None)
    return symbol_id[0] if isinstance(symbol_id, list | tuple) else symbol_id


def _setting(module: PreTrainedModel, name: str) -> int | None:
    """An id as `generate` of transformers finds it: in the generation's settings, then in the model's."""
    places = (getattr(module, "generation_config", None), module.config)
    return _first(*(getattr(place, name, None) for place in places))


def _required(module: PreTrainedModel, end: int | None, pad: int | None) -> tuple[int, int, int]:
    ids = {
        "decoder_start_token_id": _setting(module, "decoder_start_token_id"),
        "eos_token_id": _first(_setting(module, "eos_token_id"), end),
        "pad_token_id": pad,
    }
    if lacking := [name for name, value in ids.items() if value is None]:
        kind = module.config.model_type
        raise InputError(
            f"{kind} names no {', '.join(lacking)}: add it to the folder's config.json"
        )
    sos, eos, pad = (int(value) for value in ids.values() if value is not None)
    return sos, eos, pad


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


def read_symbols(module: PreTrainedModel, vocabulary: Tokens | None) -> Symbols:
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


def has_two_stacks(module: PreTrainedModel) -> bool:
    """True for an encoder-decoder; T5's encoder alone has its configuration too."""
    takes = "decoder_input_ids" in inspect.signature(module.forward).parameters
    return takes and bool(module.config.is_encoder_decoder)


def is_mask(ids: Tensor, mask: Tensor | None, start: int | None) -> bool:
    """True for a mask of ids, false for ids of a decoder, which begin with the id ``start``."""
    if mask is None or mask.shape != ids.shape:
        return mask is None
    if mask.dtype == torch.bool:
        return True
    is_binary = bool(((mask == 0) | (mask == 1)).all())
    return is_binary and not (start is not None and bool((mask[:, 0] == start).all()))
