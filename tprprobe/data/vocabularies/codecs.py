"""The base of vocabularies (characters, words, sub-words), which turn texts into ids and back."""

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from itertools import takewhile
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import numpy as np

from tprprobe.data.vocabularies.encoded import NOWHERE, Flat, Span, cut, enclose
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import parse_json

L = TypeVar("L", bound="Listed")


class Codec(ABC):
    """A vocabulary. A symbol's place is its id; `pad` fills up, `sos` starts and `eos` ends a text."""

    pad: int
    sos: int
    eos: int
    symbols: tuple[str, ...]
    source_start: bool = False  # whether a source, too, begins with the start symbol
    has_words: bool = True  # or parts of them, not the characters of questions
    reads_images: bool = False  # whether sources are no texts but images, see `encode_images`
    has_spare_rows: bool = False  # whether a model may have rows for more ids, as T5 has
    begun: Sequence[int] = ()  # what a decoder's text begins with behind the start symbol

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that stand before and behind a source's."""
        return (self.sos,) if self.source_start else (), (self.eos,)

    @property
    def target_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """The ids that stand before and behind a target's."""
        return (self.sos,), (self.eos,)

    @property
    def most(self) -> tuple[int, int] | None:
        """The largest numbers of ids of a source and of a target, beyond which they are cut; None for no limit."""
        return None

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def dtype(self) -> np.dtype:
        """The smallest integer type of torch that holds every id."""
        return np.dtype("i4")

    @property
    def silent(self) -> frozenset[int]:
        """The ids that no text shows."""
        return frozenset((self.sos, self.pad))

    def limited(self, max_tokens: int) -> "Codec":
        raise InputError(f"max_tokens = {max_tokens}: {type(self).__name__} cuts no texts")

    def encode_sources(self, texts: Sequence[str]) -> Flat:
        """The ids of sources as a model reads them: enclosed, and cut to what it allows."""
        flat = enclose(self.encode_all(texts), *self.source_frame)
        return flat if self.most is None else cut(flat, self.most[0])

    def encode_targets(self, texts: Sequence[str]) -> Flat:
        """The ids of targets behind the start symbol, which does not count towards the limit."""
        flat = enclose(self.encode_all(texts), *self.target_frame)
        return flat if self.most is None else cut(flat, self.most[1] + 1)

    def encode_answers(self, sources: Sequence[str], targets: Sequence[str]) -> tuple[Flat, Flat]:
        """The ids of sources and of their targets, encoded together where a model writes both as one text."""
        return self.encode_sources(sources), self.encode_targets(targets)

    def place_sources(self, texts: Sequence[str]) -> list[list[Span]]:
        """The start and end in the text of every id of `encode_sources`, NOWHERE for one that is not of the text."""
        before, behind = ([NOWHERE] * len(ids) for ids in self.source_frame)
        limit = None if self.most is None else self.most[0]
        return [[*before, *spans, *behind][:limit] for spans in self.all_offsets(texts)]

    @abstractmethod
    def encode(self, text: str) -> list[int]:
        """The ids of a text; no start or end symbol is added, nothing is cut."""

    def encode_all(self, texts: Sequence[str]) -> Flat:
        """The ids of all texts one after another; no start or end symbol is added, nothing is cut."""
        return Flat.of([self.encode(text) for text in texts], self.dtype)

    @abstractmethod
    def offsets(self, text: str) -> list[Span]:
        """The start and end of each symbol of `encode` in the text, in characters."""

    def encode_images(self, datasets: Iterable[Iterable[Any]], first: bool) -> Any:
        """The pairs of several lists of images with each of their captions, or with the ``first`` one only."""
        raise InputError(f"{type(self).__name__} is a vocabulary of texts, and these are images")

    def all_offsets(self, texts: Sequence[str]) -> list[list[Span]]:
        return [self.offsets(text) for text in texts]

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first end symbol that is not the first id, without start and padding."""
        symbols = [*map(int, ids)]
        symbols = takewhile(lambda i: i != self.eos, symbols[symbols[:1] == [self.sos] :])
        return self.spell([i for i in symbols if i not in self.silent])

    @abstractmethod
    def spell(self, ids: list[int]) -> str:
        """The text of these ids, every one of them."""

    @abstractmethod
    def files(self) -> dict[str, str]:
        """The files of it that a checkpoint folder keeps, by name."""


class Listed(Codec):
    """Symbols that a checkpoint folder keeps as a list in JSON; `unk` stands for any other."""

    unk: int
    file: ClassVar[str]
    indent: ClassVar[int | None] = None

    @abstractmethod
    def __init__(self, symbols: tuple[str, ...]): ...

    def files(self) -> dict[str, str]:
        content = json.dumps(list(self.symbols), ensure_ascii=False, indent=self.indent)
        return {self.file: content + "\n"}

    @classmethod
    def load(cls: type[L], folder: str | Path) -> L:
        path = Path(folder) / cls.file
        if not path.is_file():
            raise InputError(f"no {cls.file} in {folder}; give the folder of a checkpoint")
        symbols = parse_json(path.read_bytes(), path, "restore the file")
        if not (isinstance(symbols, list) and all(isinstance(s, str) for s in symbols)):
            raise InputError(f"{path} is not a list of strings; restore the file")
        return cls(tuple(symbols))
