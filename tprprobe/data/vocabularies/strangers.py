"""What turns texts into ids for a module that is not ours: a tokenizer, a function, or the ids themselves."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any

from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.errors import InputError

Span = tuple[int, int]
LONGEST = 4096  # ids of a text
NOWHERE: Span = (0, 0)
ACCEPTED = (
    "a Codec, a tokenizer of transformers, a tokenizers.Tokenizer, a function from a text to its ids, or the ids "
    "of every example (a list of lists)"
)


@dataclass(frozen=True, eq=False)
class Stranger(Codec):
    """Ids as ``read`` gives them, with the places of symbols in the text; nothing is put around them."""

    read: Callable[[str], tuple[Sequence[int], Sequence[Span]]]
    name_of: Callable[[int], str | None]
    rows: int  # the number of ids
    pad: int = 0
    unk: int | None = None
    sos = eos = 0

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (), ()

    @property
    def most(self) -> tuple[int, int]:
        return LONGEST, LONGEST

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self.name_of(i) or f"<{i}>" for i in range(self.rows))

    def encode(self, text: str) -> list[int]:
        ids = [int(i) for i in self.read(text)[0]]
        if wrong := [i for i in ids if not 0 <= i < self.rows]:
            raise InputError(
                f"{text[:40]!r} has the id {wrong[0]}, the module's embedding has {self.rows} rows"
            )
        return ids

    def offsets(self, text: str) -> list[Span]:
        return [(int(start), int(end)) for start, end in self.read(text)[1]]

    def spell(self, ids: list[int]) -> str:
        return " ".join(self.symbols[i] for i in ids)

    def files(self) -> dict[str, str]:
        return {}


def read_codec(vocabulary: Any, data: Dataset, rows: int) -> Codec:
    """The vocabulary of a module with an embedding of so many rows."""
    if isinstance(vocabulary, Codec):
        return vocabulary
    if hasattr(vocabulary, "convert_ids_to_tokens"):
        return _of_transformers(vocabulary, rows)
    if hasattr(vocabulary, "id_to_token"):
        pad = (vocabulary.padding or {}).get("pad_id", 0)
        return Stranger(partial(_read, vocabulary), vocabulary.id_to_token, rows, pad)
    if callable(vocabulary):
        return _of_function(vocabulary, data, rows)
    if isinstance(vocabulary, Sequence) and not isinstance(vocabulary, str):
        if len(vocabulary) != len(data):
            raise InputError(
                f"ids of {len(vocabulary)} examples for the {len(data)} of {data.name}: give all of them"
            )
        ids = {each.source: row for each, row in zip(data, vocabulary, strict=True)} | {"": []}
        return _of_function(lambda text: ids.get(text, ()), data, rows)
    raise InputError(f"vocabulary {type(vocabulary).__name__}: give {ACCEPTED}")


def _of_transformers(tokenizer: Any, rows: int) -> Stranger:
    def read(text: str) -> tuple[Sequence[int], Sequence[Span]]:
        if not tokenizer.is_fast:
            return _placed(text, tokenizer(text)["input_ids"])
        found = tokenizer(text, return_offsets_mapping=True)
        return found["input_ids"], found["offset_mapping"]

    pad = tokenizer.pad_token_id or 0
    names = {i: symbol for symbol, i in tokenizer.get_vocab().items()}
    return Stranger(read, names.get, rows, pad, tokenizer.unk_token_id)


def _read(tokenizer: Any, text: str) -> tuple[Sequence[int], Sequence[Span]]:
    found = tokenizer.encode(text)
    return found.ids, found.offsets


def _of_function(function: Callable[[str], Any], data: Dataset, rows: int) -> Stranger:
    """Symbols are named by the words that they stand for, where that is one word each; else by number."""
    names: dict[int, str] = {}
    many: set[int] = set()
    for example in data:
        ids, places = _placed(example.source, function(example.source))
        for i, (start, end) in zip(map(int, ids), places, strict=True):
            word = example.source[start:end]
            if names.setdefault(i, word) != word or not word:
                many.add(i)
    words = Counter(names.values())
    one = {i: word for i, word in names.items() if i not in many and words[word] == 1}
    return Stranger(lambda text: _placed(text, function(text)), one.get if one else str, rows)


def _placed(text: str, ids: Any) -> tuple[Sequence[int], Sequence[Span]]:
    """The ids with the places of the text's words, if they are as many; else with no places."""
    ids = ids.tolist() if hasattr(ids, "tolist") else list(ids)
    places = [match.span() for match in re.finditer(r"\S+", text)]
    return ids, places if len(places) == len(ids) else [NOWHERE] * len(ids)
