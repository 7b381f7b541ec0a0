"""A tokenizer of transformers as a vocabulary: it is asked for ids, cuts and places; nothing is put together here."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import takewhile
from typing import Any, Literal

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import NOWHERE, Flat, Span, place_pieces
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error

BEHIND, MASKS, DECODER = "behind", "masks", "decoder"
MAX_WRITTEN = 512  # symbols that a model writes unless more are asked for
ENDLESS = 2**31 - 1


@dataclass(frozen=True, eq=False)
class Tokens(Codec):
    """A tokenizer of transformers; targets stand ``behind`` their text, in its ``masks``, or in a ``decoder``, begun by ``sos`` and ``forced``."""

    tokenizer: Any
    pad: int
    sos: int
    eos: int
    rows: int  # of the model's embedding
    limit: int | None = None  # ids of a text; None: any number
    room: int | None = None  # ids of a text with what is written behind it, or of a decoder's text
    writes: Literal["behind", "masks", "decoder"] = BEHIND
    forced: int | None = None
    has_spare_rows = True

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that the tokenizer writes before and behind a short text."""
        encoded = self._read(["a"], return_special_tokens_mask=True)
        ids, special = encoded["input_ids"][0], encoded["special_tokens_mask"][0]
        return tuple(ids[: _leading(special)]), tuple(ids[len(ids) - _leading(special[::-1]) :])

    @property
    def source_start(self) -> bool:  # pyright: ignore[reportIncompatibleVariableOverride]
        return bool(self.source_frame[0])

    @property
    def target_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (self.sos,), (self.eos,) if self.writes == DECODER else ()

    @property
    def most(self) -> tuple[int, int]:
        return self.limit or ENDLESS, min(self.room or MAX_WRITTEN, MAX_WRITTEN)

    @property
    def silent(self) -> frozenset[int]:
        visible = (self.tokenizer.unk_token_id, self.tokenizer.mask_token_id)
        return frozenset({*self.tokenizer.all_special_ids, self.pad, self.sos} - {*visible})

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        names = {i: symbol for symbol, i in self.tokenizer.get_vocab().items()}
        return tuple(names.get(i, f"<{i}>") for i in range(max(self.rows, len(self.tokenizer))))

    @property
    def unk(self) -> int | None:
        return self.tokenizer.unk_token_id

    @cached_property
    def begun(self) -> list[int]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The ids that a decoder's text begins with behind the start symbol: a language, a forced symbol."""
        if self.writes != DECODER:
            return []
        encoded = self._read_targets(["a"], return_special_tokens_mask=True)
        ids, special = encoded["input_ids"][0], encoded["special_tokens_mask"][0]
        return ids[: _leading(special)] if self.forced is None else [self.forced]

    def __len__(self) -> int:
        return len(self.tokenizer)

    def limited(self, max_tokens: int) -> "Tokens":
        frame = sum(map(len, self.source_frame))
        if max_tokens <= frame:
            raise InputError(
                f"max_tokens = {max_tokens}: {frame} symbols stand around a text; give more"
            )
        return replace(self, limit=min(max_tokens, self.limit or max_tokens))

    def encode(self, text: str) -> list[int]:
        return self._checked(self._read([text], add_special_tokens=False)["input_ids"])[0]

    def encode_all(self, texts: Sequence[str]) -> Flat:
        return Flat.of(self._checked(self._read(texts, add_special_tokens=False)["input_ids"]))

    def encode_sources(self, texts: Sequence[str]) -> Flat:
        ids, n_cut = self._read_cut(texts, "input_ids")
        return Flat.of(self._checked(ids), cut=n_cut)

    def encode_targets(self, texts: Sequence[str]) -> Flat:
        if self.writes != DECODER:
            ids = self._read(texts, add_special_tokens=False)["input_ids"]
            return Flat.of([[self.sos, *target] for target in self._checked(ids)])
        ids = [self._led(target) for target in self._read_targets(texts)["input_ids"]]
        longest = (self.room or ENDLESS) + 1
        is_long = [len(target) > longest for target in ids]
        short = [t[: longest - 1] + t[-1:] if c else t for t, c in zip(ids, is_long, strict=True)]
        return Flat.of(self._checked(short), cut=sum(is_long))

    def _led(self, labels: list[int]) -> list[int]:
        """A decoder's text: start, forced symbol, labels, end. Where the tokenizer ends labels with the start symbol, that leads them (mBART)."""
        if self.forced is not None and labels[:1] != [self.forced]:
            labels = [self.forced, *labels[labels[0] in self.silent :]]
        labels = labels[: -1 if labels[-1:] == [self.sos] != [self.eos] else None]
        return [self.sos, *labels, *([] if labels[-1:] == [self.eos] else [self.eos])]

    def encode_answers(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Flat, Flat]:
        """Where no decoder writes: the ids of the whole text behind the source's. Source: lm-evaluation-harness, `_encode_pair`."""
        if self.writes == DECODER:
            return super().encode_answers(sources, targets)
        if self.writes == MASKS:
            filled = [self._filled(*pair) for pair in zip(sources, targets, strict=True)]
            answers = [[self.sos, *answer] for answer in filled]
            return self.encode_sources(sources), Flat.of(self._checked(answers))
        joined = [_join(*pair) for pair in zip(sources, targets, strict=True)]
        pairs = list(map(_split, self._opened(sources), self._opened(joined)))
        texts = [self._fitted(*pair) for pair in pairs]
        n_cut = sum(len(text) < len(before) for text, (before, _) in zip(texts, pairs, strict=True))
        answers = [[self.sos, *answer] for _, answer in pairs]
        return Flat.of(self._checked(texts), cut=n_cut), Flat.of(self._checked(answers))

    def _opened(self, texts: Sequence[str]) -> list[list[int]]:
        encoded = self._read(texts, return_special_tokens_mask=True)
        ends = [len(mask) - _leading(mask[::-1]) for mask in encoded["special_tokens_mask"]]
        return [ids[:end] for ids, end in zip(encoded["input_ids"], ends, strict=True)]

    def _fitted(self, before: list[int], answer: list[int]) -> list[int]:
        """The text before an answer; its beginning is cut where both do not fit, behind the symbols that open it."""
        room = min(self.limit or ENDLESS, (self.room or ENDLESS) - len(answer))
        excess = max(0, len(before) - room)
        opening = len(self.source_frame[0]) if excess else 0
        if excess and opening + excess >= len(before):
            excess = (
                f"an answer of {len(answer)} symbols, and the model reads {self.room} with the text"
            )
            raise InputError(f"{excess}: leave it out")
        return before[:opening] + before[opening + excess :]

    def _filled(self, text: str, answer: str) -> list[int]:
        """The ids of an answer in the place of a text's masks, if these follow one another; else of the answer alone."""
        mark = re.escape(str(self.tokenizer.mask_token))
        filled_text = re.sub(rf"{mark}(?:\s*{mark})*", lambda _: answer, text, count=1)
        ids, filled = self._read([text, filled_text])["input_ids"]
        masks = [place for place, i in enumerate(ids) if i == self.tokenizer.mask_token_id] or [0]
        before, behind = masks[0], len(ids) - 1 - masks[-1]
        end = len(filled) - behind
        is_same_around = filled[:before] + filled[end:] == ids[:before] + ids[len(ids) - behind :]
        has_one_gap = before < end and len(masks) == masks[-1] + 1 - before
        return filled[before:end] if is_same_around and has_one_gap else self.encode(answer)

    def place_sources(self, texts: Sequence[str]) -> list[list[Span]]:
        if self.tokenizer.is_fast:
            places, _ = self._read_cut(texts, "offset_mapping", return_offsets_mapping=True)
            return places
        ids, _ = self._read_cut(texts, "input_ids")
        masks, _ = self._read_cut(texts, "special_tokens_mask", return_special_tokens_mask=True)
        return list(map(self._placed, texts, ids, masks))

    def offsets(self, text: str) -> list[Span]:
        return self.all_offsets([text])[0]

    def all_offsets(self, texts: Sequence[str]) -> list[list[Span]]:
        if self.tokenizer.is_fast:
            options: dict[str, Any] = {"add_special_tokens": False, "return_offsets_mapping": True}
            return self._read(texts, **options)["offset_mapping"]
        encoded = self._read(texts, add_special_tokens=False)["input_ids"]
        return [self._placed(t, ids, [0] * len(ids)) for t, ids in zip(texts, encoded, strict=True)]

    def _placed(self, text: str, ids: Sequence[int], special: Sequence[int]) -> list[Span]:
        ordinary = [i for i, mark in zip(ids, special, strict=True) if not mark]
        tokens = self.tokenizer.convert_ids_to_tokens(ordinary)
        places = iter(place_pieces(text, tokens, self.tokenizer.convert_tokens_to_string))
        return [NOWHERE if mark else next(places) for mark in special]

    def spell(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids)

    def files(self) -> dict[str, str]:
        return {}

    def _read(self, texts: Sequence[str], side: str = "text", **options: Any) -> Any:
        with as_input_error("the tokenizer cannot read this text", "are its files whole?"):
            return self.tokenizer(**{side: list(texts)}, verbose=False, **options)

    def _read_targets(self, texts: Sequence[str], **options: Any) -> Any:
        truncation = {} if self.room is None else {"truncation": True, "max_length": self.room}
        return self._read(texts, "text_target", **truncation, **options)

    def _read_cut(self, texts: Sequence[str], name: str, **options: Any) -> tuple[list[Any], int]:
        """A list of the tokenizer's for every text, cut by the tokenizer, and how many were cut."""
        values = self._read(texts, **options)[name]
        long = [i for i, encoded in enumerate(values) if len(encoded) > (self.limit or ENDLESS)]
        if long:
            truncation = {"truncation": True, "max_length": self.limit}
            short = self._read([texts[i] for i in long], **truncation, **options)[name]
            for i, encoded in zip(long, short, strict=True):
                values[i] = encoded
        return values, len(long)

    def _checked(self, encoded: list[list[int]]) -> list[list[int]]:
        if (largest := max(map(max, filter(None, encoded)), default=0)) >= self.rows:
            symbol = self.tokenizer.convert_ids_to_tokens(largest)
            raise InputError(
                f"{symbol!r} has the id {largest}, the model's embedding has {self.rows} rows: tokenizer and "
                "model are not of one checkpoint"
            )
        return encoded


def _leading(marks: Sequence[int]) -> int:
    return sum(1 for _ in takewhile(bool, marks))


def _join(text: str, answer: str) -> str:
    has_blank = not answer or text[-1:].isspace() or answer[0].isspace()
    return text + answer if has_blank else f"{text} {answer}"


def _split(text_ids: list[int], ids: list[int]) -> tuple[list[int], list[int]]:
    """The symbols that a text has by itself and as the beginning of a whole, and what follows them."""
    pairs = zip(text_ids, ids, strict=False)
    n_shared = _leading([i == j for i, j in pairs])
    return ids[:n_shared], ids[n_shared:]
