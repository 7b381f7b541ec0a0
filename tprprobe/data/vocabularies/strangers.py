"""What turns texts into ids for a module that is not ours: a tokenizer, a function, or the ids themselves."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any

from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import NOWHERE, Span, place_pieces
from tprprobe.data.vocabularies.tokens import DECODER, ENDLESS, Tokens
from tprprobe.errors import InputError

ACCEPTED = (
    "a Codec, a tokenizer of transformers, a tokenizers.Tokenizer, a function from a text to its ids or to (id, word) "
    "pairs, two functions (text to ids, id to word) and the decoder's start id behind them if it is not 0, or the ids of every "
    "example (a list of lists)"
)


@dataclass(frozen=True, eq=False)
class CustomCodec(Codec):
    """Ids as ``read`` gives them, with the places of symbols in the text; nothing is put around them."""

    read: Callable[[str], tuple[Sequence[int], Sequence[Span]]]
    name_of: Callable[[int], str | None]
    rows: int  # the number of ids
    pad: int = 0
    limit: int = ENDLESS  # ids of a text
    sos: int = 0
    eos = 0

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (), ()

    @property
    def most(self) -> tuple[int, int]:
        return self.limit, self.limit

    def limited(self, max_tokens: int) -> "CustomCodec":
        return replace(self, limit=min(max_tokens, self.limit))

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self.name_of(i) or f"<{i}>" for i in range(self.rows))

    def encode(self, text: str) -> list[int]:
        ids = [int(i) for i in self.read(text)[0]]
        if wrong := [i for i in ids if not 0 <= i < self.rows]:
            raise InputError(f"{text[:40]!r} has the id {wrong[0]}, the embedding {self.rows} rows")
        return ids

    def offsets(self, text: str) -> list[Span]:
        return [(int(start), int(end)) for start, end in self.read(text)[1]]

    def spell(self, ids: list[int]) -> str:
        return " ".join(self.symbols[i] for i in ids)

    def files(self) -> dict[str, str]:
        return {}


def read_codec(vocabulary: Any, data: Dataset, rows: int) -> Codec:
    if isinstance(vocabulary, Codec):
        return vocabulary
    if hasattr(vocabulary, "convert_ids_to_tokens"):
        max_length, pad = vocabulary.model_max_length, vocabulary.pad_token_id or 0
        limit = max_length if max_length < ENDLESS else None
        return Tokens(vocabulary, pad, 0, 0, rows, limit, None, DECODER)
    if hasattr(vocabulary, "id_to_token"):
        pad = (vocabulary.padding or {}).get("pad_id", 0)
        return CustomCodec(partial(_read, vocabulary), vocabulary.id_to_token, rows, pad)
    if callable(vocabulary):
        return _of_function(vocabulary, data, rows)
    if isinstance(vocabulary, tuple) and len(vocabulary) > 1 and all(map(callable, vocabulary[:2])):
        function, name, start, *_ = *vocabulary, 0
        if start not in range(rows):
            raise InputError(f"start id {start!r}: the embedding has {rows} rows")
        encode = lambda text: _placed(text, _call(function, text), name)[:2]  # noqa: E731
        return CustomCodec(encode, partial(_find_name, name), rows, sos=start)
    if isinstance(vocabulary, Sequence) and not isinstance(vocabulary, str):
        if len(vocabulary) != len(data):
            n_ids = f"ids of {len(vocabulary)} examples for the {len(data)} of {data.name}"
            raise InputError(f"{n_ids}: give all of them")
        ids = {example.source: row for example, row in zip(data, vocabulary, strict=True)}
        return _of_function(lambda text: ids.get(text, ()) if text else [], data, rows)
    raise InputError(f"vocabulary {type(vocabulary).__name__}: give {ACCEPTED}")


def _read(tokenizer: Any, text: str) -> tuple[Sequence[int], Sequence[Span]]:
    encoding = tokenizer.encode(text)
    return encoding.ids, encoding.offsets


def _find_name(name: Callable[[int], object], i: int) -> str | None:
    try:
        return str(name(i))
    except LookupError:  # it names no ids but those of texts
        return None


def _of_function(function: Callable[[str], object], data: Dataset, rows: int) -> CustomCodec:
    """Symbols are named by the one piece of pairs, or the one word, that they stand for, whatever its case; else by number."""
    texts_by_id, is_named = defaultdict[int, set[str]](set), False
    labelled = [sentence for example in data for sentence in example.labels(None) if sentence]
    words = {sentence.text: sentence.offsets for sentence in labelled}
    encode = lambda text: _placed(text, _call(function, text), words=words.get(text, ()))  # noqa: E731
    sources = [example.source for example in data]
    for text in [*sources, *([example.target for example in data] if data.has_targets else [])]:
        ids, places, tokens = encode(text)
        for i, symbol in zip(ids, tokens or [text[slice(*place)] for place in places], strict=True):
            texts_by_id[i].add(symbol)
        is_named = is_named or tokens is not None
    lowered = {i: {symbol.lower() for symbol in texts_by_id[i]} for i in texts_by_id}
    names = {
        i: min(texts_by_id[i] if len(texts_by_id[i]) == 1 else lowered[i])
        for i in texts_by_id
        if len(lowered[i]) == 1
    }
    if not is_named:
        counts = Counter(names.values())
        names = {i: word for i, word in names.items() if word and counts[word] == 1}
    return CustomCodec(lambda text: encode(text)[:2], names.get if names else str, rows)


def _call(function: Callable[[str], object], text: str) -> object:
    try:
        return function(text)
    except (LookupError, TypeError, ValueError) as error:
        raise InputError(f"the vocabulary fails on {text[:40]!r}: {error!r}") from error


def _placed(
    text: str,
    values: Any,
    name: Callable[[int], object] | None = None,
    words: Sequence[Span] = (),
) -> tuple[list[int], Sequence[Span], list[str] | None]:
    """The ids of a text, their places and, where known, names. Nameless ids stand at the ``words`` of a treebank, or at what is between
    blanks, if there are as many.
    """
    result, tokens = values, None
    try:
        values = values.tolist() if hasattr(values, "tolist") else list(values)
        if values and isinstance(values[0], tuple | list):
            values, tokens = ([*column] for column in zip(*values, strict=True))
        ids = [int(i) for i in values]
    except (TypeError, ValueError):
        raise InputError(
            f"the vocabulary makes {result!r:.60} of {text[:40]!r}: give a function from a text to ids or (id, word) pairs"
        ) from None
    if name is not None:
        tokens = [str(name(i)) for i in ids]
    if tokens is not None:
        return ids, place_pieces(text, tokens, _join), tokens
    blocks = [match.span() for match in re.finditer(r"\S+", text)]
    places = (spans for spans in (words, blocks) if len(spans) == len(ids))
    return ids, next(places, [NOWHERE] * len(ids)), None


def _join(tokens: list[str]) -> str:
    """The text of pieces without the marks that say where they stand in a word."""
    return "".join(token.removeprefix("##").lstrip("▁Ġ") for token in tokens)
