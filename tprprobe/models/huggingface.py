"""Checkpoints of Hugging Face transformers with sites: ``hf:PATH``, a folder or a hub id.

Sites are the layers' outputs (``….hidden``) and, in models like T5 and BERT, attention with its
residual (``….filler``, which is what a Transformer has in place of a TPR). Encoder-decoders are
teacher-forced like ours, an encoder alone reads the source. transformers is an extra
(`pip install 'tprprobe[huggingface]'`).
"""

import os
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64, Integer
from torch import nn

from tprprobe.errors import InputError, check_extra
from tprprobe.site.hooks import (Attached, attach)
from tprprobe.models.checkpoint import (TRANSFORMERS, UNTRAINED)

LONGEST = 512  # sub-words, where a tokenizer names no limit
SITES = (  # of submodules, the first that matches
    (r"encoder\.block\.(\d+)\.layer\.0", "encoder.{}.self.filler"),
    (r"decoder\.block\.(\d+)\.layer\.0", "decoder.{}.self.filler"),
    (r"decoder\.block\.(\d+)\.layer\.1", "decoder.{}.cross.filler"),
    (r"(?:\w+\.)?encoder\.layer\.(\d+)\.attention\.output", "encoder.{}.self.filler"),
    (r"(?:\w+\.)?encoder\.(?:block|layers?)\.(\d+)", "encoder.{}.hidden"),
    (r"(?:\w+\.)?decoder\.(?:block|layers?)\.(\d+)", "decoder.{}.hidden"),
    (r"(?:\w+\.)?transformer\.layer\.(\d+)", "encoder.{}.hidden"),
)


def read_transformers(path: str, local_files_only: bool, seed: int | None) -> Attached:
    """The attached model with its vocabulary; randomly initialised where there is a seed.

    Raises:
        InputError: transformers is not installed, or there is no such model that can be read.
    """
    check_extra("transformers", "huggingface", f"{TRANSFORMERS}{path}")
    import transformers

    options = {"local_files_only": local_files_only}
    try:
        config = transformers.AutoConfig.from_pretrained(path, **options)
        both = bool(config.is_encoder_decoder)
        kind: Any = transformers.AutoModelForSeq2SeqLM if both else transformers.AutoModel
        if seed is None:
            module = kind.from_pretrained(path, dtype=torch.float32, **options)
        else:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                module = kind.from_config(config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no transformers model {path!r} here or on the hub: {reason}") from error
    if not tokenizer.is_fast:
        raise InputError(f"{path} has a slow tokenizer, which does not say where tokens stand")
    sites = find_submodules(module)
    if not sites:
        raise InputError(
            f"{path} ({config.model_type}) has no encoder or decoder layers that are known here: load it "
            "yourself and name its sites with tp.attach"
        )
    attached = attach(module, sites, forward=_call_both if both else _call_encoder)
    attached.vocabulary = Tokens.of(tokenizer, config)
    attached.source = path
    attached.name = (
        f"{UNTRAINED if seed is not None else ''}{TRANSFORMERS}{os.path.basename(path.rstrip('/'))}"
    )
    return attached.eval()


def find_submodules(module: nn.Module) -> dict[str, str]:
    """The sites that a model's submodules have, and where."""
    found: dict[str, str] = {}
    for path, _ in module.named_modules():
        for pattern, site in SITES:
            if match := re.fullmatch(pattern, path):
                found.setdefault(site.format(match[1]), path)
                break
    return found


def _call_both(module: Any, batch: tuple) -> Any:
    source, target = batch
    mask = source != module.config.pad_token_id
    return module(input_ids=source, attention_mask=mask, decoder_input_ids=target).logits


def _call_encoder(module: Any, batch: tuple) -> Any:
    source = batch[0]
    return module(input_ids=source, attention_mask=source != module.config.pad_token_id)


@dataclass(frozen=True, eq=False)
class Tokens:
    """A tokenizer of transformers as a vocabulary; texts are cut to what it allows."""

    tokenizer: Any
    pad: int
    sos: int
    eos: int
    source_start: bool
    has_spare_rows = has_words = True
    reads_images = False

    @classmethod
    def of(cls, tokenizer: Any, config: Any) -> "Tokens":
        """The vocabulary of a model's tokenizer.

        An encoder-decoder starts with the model's own start symbol, an encoder with the tokenizer's.
        """
        both = config.is_encoder_decoder
        first = (
            tokenizer.cls_token_id if tokenizer.cls_token_id is not None else tokenizer.bos_token_id
        )
        last = (
            tokenizer.sep_token_id if tokenizer.sep_token_id is not None else tokenizer.eos_token_id
        )
        if both:
            first, last = config.decoder_start_token_id, config.eos_token_id or last
        pad = config.pad_token_id
        if None in (first, last, pad):
            raise InputError("this model names no start, end or padding symbol: it cannot be read")
        return cls(tokenizer, int(pad), int(first), int(last), not both)

    @property
    def most(self) -> tuple[int, int]:
        longest = min(self.tokenizer.model_max_length, LONGEST)
        return longest, longest

    @cached_property
    def symbols(self) -> tuple[str, ...]:
        return tuple(self.tokenizer.convert_ids_to_tokens(range(len(self.tokenizer))))

    def __len__(self) -> int:
        return len(self.tokenizer)

    def encode(self, text: str) -> list[int]:
        """The ids of a text's sub-words; no start or end symbol is added."""
        return self.tokenizer(text, add_special_tokens=False)["input_ids"]

    def encode_all(
        self, texts: Sequence[str]
    ) -> tuple[Integer[np.ndarray, " token"], Int64[np.ndarray, " offset"]]:
        """The ids of all texts one after another, and where each begins (and the last ends)."""
        encoded = self.tokenizer(list(texts), add_special_tokens=False)["input_ids"]
        ids = np.array([i for each in encoded for i in each], np.int32)
        return ids, np.cumsum([0, *map(len, encoded)])

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each sub-word of `encode` stands in the text, in characters."""
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return [(int(start), int(end)) for start, end in found["offset_mapping"]]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first end symbol, without start and padding."""
        kept: list[int] = []
        for i in map(int, ids):
            if i == self.eos:
                break
            if i not in (self.sos, self.pad):
                kept.append(i)
        return self.tokenizer.decode(kept)

    def files(self) -> dict[str, str]:
        """Nothing: the tokenizer stays where the model is."""
        return {}
