"""A tokenizer of transformers as a vocabulary: ids, symbols, and where each stands in the text."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import Int64, Integer
from torch import nn

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error

LONGEST = 4096  # sub-words of a text, whatever a model allows
UNLIMITED = 512  # sub-words, where neither tokenizer nor model names a limit
NO_PAD = -1  # stands for padding where a model has no symbol for it


@dataclass(frozen=True, eq=False)
class Tokens(Codec):
    """A tokenizer of transformers as a vocabulary; texts are cut to what it allows."""

    tokenizer: Any
    pad: int
    sos: int
    eos: int
    first: tuple[int, ...]  # ids before a source
    last: tuple[int, ...]  # and behind it
    limit: int  # ids of a text
    rows: int  # of the model's embedding
    is_open: bool = False  # targets, which stand behind a text or in its masks, have no end symbol
    has_spare_rows = True

    @classmethod
    def of(cls, tokenizer: Any, module: Any, is_causal: bool, head: str | None) -> "Tokens":
        """The vocabulary of a model's tokenizer.

        A source of an encoder stands between the tokenizer's start and end symbols, one of a model
        that only looks back (``is_causal``) is read as the tokenizer writes it. An encoder-decoder
        starts with the model's own start symbol. What is written behind a text, or in masks, has no end.
        """
        start = _first(tokenizer.cls_token_id, tokenizer.bos_token_id)
        end = _first(tokenizer.sep_token_id, tokenizer.eos_token_id)
        pad, limit = getattr(module.config, "pad_token_id", None), _limit(tokenizer, module)
        rows = module.get_input_embeddings().weight.shape[0]
        _check_rows(rows, {"start": start, "end": end, "padding": pad})
        if module.config.is_encoder_decoder:
            sos, eos, pad = _required(module, end, pad)
            return cls(tokenizer, pad, sos, eos, (), (eos,), limit, rows)
        if pad is None or pad in (start, end):  # a text may hold it
            pad = NO_PAD
        if is_causal or start is None or end is None:
            first, last = _frame(tokenizer)
            for symbol in (*first, *last):
                _check_rows(rows, {"framing": symbol})
        else:
            first, last = (start,), (end,)
        sos, eos = _first(start, end, 0), _first(end, start, 0)
        return cls(tokenizer, pad, sos or 0, eos or 0, first, last, limit, rows, head is not None)

    @property
    def source_start(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return bool(self.first)

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return self.first, self.last

    @property
    def target_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.sos,), () if self.is_open else (self.eos,)

    @property
    def most(self) -> tuple[int, int]:
        return self.limit, self.limit

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        names = {i: symbol for symbol, i in self.tokenizer.get_vocab().items()}
        return tuple(names.get(i, f"<{i}>") for i in range(max(self.rows, len(self.tokenizer))))

    def __len__(self) -> int:
        return len(self.tokenizer)

    def encode(self, text: str) -> list[int]:
        return self._checked(self._read([text])["input_ids"])[0]

    def encode_all(
        self, texts: Sequence[str]
    ) -> tuple[Integer[np.ndarray, " token"], Int64[np.ndarray, " offset"]]:
        return self._joined(self._checked(self._read(texts)["input_ids"]))

    def _read(self, texts: Sequence[str], **options: bool) -> Any:
        with as_input_error("the tokenizer cannot read this text", "are its files whole?"):
            return self.tokenizer(list(texts), add_special_tokens=False, **options)

    def _checked(self, encoded: list[list[int]]) -> list[list[int]]:
        if (most := max(map(max, filter(None, encoded)), default=0)) >= self.rows:
            symbol = self.tokenizer.convert_ids_to_tokens(most)
            raise InputError(
                f"{symbol!r} has the id {most}, the model's embedding has {self.rows} rows: tokenizer and "
                "model are not of one checkpoint"
            )
        return encoded

    @property
    def unk(self) -> int | None:
        """The id that stands for what the tokenizer does not know."""
        return self.tokenizer.unk_token_id

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return self.all_offsets([text])[0]

    def all_offsets(self, texts: Sequence[str]) -> list[list[tuple[int, int]]]:
        """The offsets of several texts, from one call of the tokenizer."""
        return self._read(texts, return_offsets_mapping=True)["offset_mapping"]

    def spell(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids)

    def files(self) -> dict[str, str]:
        """No files: the tokenizer stays in the model's folder."""
        return {}


def _check_rows(rows: int, symbols: dict[str, int | None]) -> None:
    for name, symbol in symbols.items():
        if symbol is not None and not 0 <= symbol < rows:
            raise InputError(
                f"the {name} symbol has the id {symbol}, the model's embedding has {rows} rows"
            )


def _first(*ids: Any) -> int | None:
    """The first id that is not None; of several end symbols the first."""
    known = next((each for each in ids if each is not None), None)
    return known[0] if isinstance(known, list | tuple) else known


def _required(module: Any, end: int | None, pad: int | None) -> tuple[int, int, int]:
    """The symbols of an encoder-decoder: start and end of what it writes, and padding."""
    settings = (module.config, getattr(module, "generation_config", None))
    ids = {
        "decoder_start_token_id": _first(
            *(getattr(each, "decoder_start_token_id", None) for each in settings)
        ),
        "eos_token_id": _first(module.config.eos_token_id, end),
        "pad_token_id": pad,
    }
    if lacking := [name for name, value in ids.items() if value is None]:
        raise InputError(
            f"{module.config.model_type} names no {', '.join(lacking)}: add it to the folder's config.json"
        )
    sos, eos, pad = (int(value) for value in ids.values() if value is not None)
    return sos, eos, pad


def _frame(tokenizer: Any) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """The ids that a tokenizer itself writes before and behind a text."""
    bare = tokenizer("a", add_special_tokens=False)["input_ids"]
    whole = tokenizer("a")["input_ids"]
    for start in range(len(whole) - len(bare) + 1):
        if whole[start : start + len(bare)] == bare:
            return tuple(whole[:start]), tuple(whole[start + len(bare) :])
    return (), ()


def _limit(tokenizer: Any, module: Any) -> int:
    """The number of ids that a text may have: what tokenizer and model name, and at most LONGEST."""
    named = [tokenizer.model_max_length]
    if not isinstance(named[0], int) or named[0] < 1:
        raise InputError(f"model_max_length is a whole number above 0, not {named[0]!r:.40}")
    positions = getattr(module.config, "max_position_embeddings", None)
    if isinstance(positions, int) and positions > 0:
        learned = [
            each.padding_idx + 1  # RoBERTa counts positions from there
            for name, each in module.named_modules()
            if isinstance(each, nn.Embedding)
            and "position" in name
            and each.padding_idx is not None
        ]
        named.append(positions - max(learned, default=0))
    known = [each for each in named if each < 10**9]
    return min([*known, LONGEST]) if known else UNLIMITED
