"""Checkpoints of Hugging Face transformers with sites: ``hf:PATH``, a folder or a hub id.

``ENCODERS`` and ``ENCODER_DECODERS`` are the supported model types. Sites are the layers' outputs
(``….hidden``) and, in models like T5 and BERT, attention with its residual (``….filler``, which is
what a Transformer has in place of a TPR). Encoder-decoders are teacher-forced like ours, an encoder
alone reads the source. transformers is an extra (`pip install 'tprprobe[huggingface]'`).
"""

import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from jaxtyping import Int64, Integer
from torch import nn

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError, check_extra
from tprprobe.models.checkpoint import TRANSFORMERS, UNTRAINED
from tprprobe.site.hooks import Attached, attach

ENCODERS = ("bert", "camembert", "deberta", "deberta-v2", "distilbert", "electra", "mpnet", "roberta",
            "xlm-roberta")  # fmt: skip
ENCODER_DECODERS = ("bart", "mbart", "mt5", "pegasus", "t5")
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
    """The attached model with its vocabulary; randomly initialized where there is a seed.

    Raises:
        InputError: transformers is not installed, or there is no such model that can be read.
    """
    check_extra("transformers", "huggingface", f"{TRANSFORMERS}{path}")
    import transformers

    options = {"local_files_only": local_files_only}
    try:
        config = transformers.AutoConfig.from_pretrained(path, **options)
        _check_type(path, config.model_type)
        both = bool(config.is_encoder_decoder)
        kind: Any = transformers.AutoModelForSeq2SeqLM if both else transformers.AutoModel
        if seed is None:
            module = kind.from_pretrained(path, dtype=torch.float32, **options)
        else:
            with torch.random.fork_rng():
                torch.manual_seed(seed)
                module = kind.from_config(config)
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **options)
    except InputError:
        raise
    except (OSError, ValueError, KeyError, ImportError) as error:
        reason = " ".join(str(error).split())[:200]
        raise InputError(f"no transformers model {path!r} here or on the hub: {reason}") from error
    if not tokenizer.is_fast:
        raise InputError(f"{path} has a slow tokenizer, which does not say where tokens stand")
    forward = _call_both if both else _call_encoder
    attached = attach(module, find_submodules(module), forward=forward)
    attached.vocabulary = Tokens.of(tokenizer, module)
    attached.source = path
    attached.name = (
        f"{UNTRAINED if seed is not None else ''}{TRANSFORMERS}{os.path.basename(path.rstrip('/'))}"
    )
    return attached.eval()


def _check_type(path: str, model_type: str) -> None:
    if model_type not in (*ENCODERS, *ENCODER_DECODERS):
        raise InputError(
            f"{path} is of type {model_type!r}; hf: reads {', '.join((*ENCODERS, *ENCODER_DECODERS))}: "
            "load another yourself and name its sites with tp.attach"
        )


def find_submodules(module: nn.Module) -> dict[str, str]:
    """The sites of a model of transformers, with the submodule of each."""
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


def _first(*ids: int | None) -> int | None:
    """The first id that is not None."""
    return next((each for each in ids if each is not None), None)


@dataclass(frozen=True, eq=False)
class Tokens(Codec):
    """A tokenizer of transformers as a vocabulary; texts are cut to what it allows."""

    tokenizer: Any
    pad: int
    sos: int
    eos: int
    source_start: bool
    has_spare_rows = has_words = True
    reads_images = False

    @classmethod
    def of(cls, tokenizer: Any, module: Any) -> "Tokens":
        """The vocabulary of a model's tokenizer.

        An encoder-decoder starts with the model's own start symbol, an encoder with the tokenizer's.

        Raises:
            InputError: a symbol that the model or its tokenizer does not name.
        """
        config = module.config
        both = config.is_encoder_decoder
        ids = {
            "cls_token": _first(tokenizer.cls_token_id, tokenizer.bos_token_id),
            "sep_token": _first(tokenizer.sep_token_id, tokenizer.eos_token_id),
        }
        if both:
            settings = (config, module.generation_config)
            start = _first(*(getattr(each, "decoder_start_token_id", None) for each in settings))
            end = _first(getattr(config, "eos_token_id", None), ids["sep_token"])
            ids = {"decoder_start_token_id": start, "eos_token_id": end}
        ids["pad_token_id"] = getattr(config, "pad_token_id", None)
        if lacking := [name for name, value in ids.items() if value is None]:
            raise InputError(
                f"{config.model_type} names no {', '.join(lacking)}: add it to the folder's "
                f"{'config.json' if both or 'pad_token_id' in lacking else 'tokenizer_config.json'}"
            )
        first, last, pad = (int(value) for value in ids.values() if value is not None)
        return cls(tokenizer, pad, first, last, not both)

    @property
    def most(self) -> tuple[int, int]:
        longest = min(self.tokenizer.model_max_length, LONGEST)
        return longest, longest

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
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
        return self._joined(encoded)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each sub-word of `encode` in the text, in characters."""
        found = self.tokenizer(text, add_special_tokens=False, return_offsets_mapping=True)
        return [(int(start), int(end)) for start, end in found["offset_mapping"]]

    def spell(self, ids: list[int]) -> str:
        """The text of these ids, every one of them."""
        return self.tokenizer.decode(ids)

    def files(self) -> dict[str, str]:
        """No files: the tokenizer stays in the model's folder."""
        return {}
