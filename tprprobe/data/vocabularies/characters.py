"""Characters and their ids: how the text of a question becomes numbers and back."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Protocol, runtime_checkable

import numpy as np
from jaxtyping import Int64, Integer

from tprprobe.errors import InputError

SPECIALS = ("<unk>", "<pad>", "<sos>", "<eos>")
CHARACTERS = " !'()*+,-./0123456789:<=>?ACDEFGHILMPRSTWabcdefghijklmnopqrstuvwxyz{}"
FILE = "vocabulary.json"


@runtime_checkable
class Codec(Protocol):
    """What turns texts into ids and back: characters (below) or sub-words."""

    @property
    def pad(self) -> int: ...
    @property
    def sos(self) -> int: ...
    @property
    def eos(self) -> int: ...
    @property
    def most(self) -> tuple[int, int] | None:
        """The most ids of a source and of a target, the rest is cut; None if nothing is cut."""
        ...

    @property
    def source_start(self) -> bool:
        """Whether a source, too, begins with the start symbol."""
        ...

    @property
    def has_words(self) -> bool:
        """Whether tokens are words or parts of them, not characters of questions, whose length is limited."""
        ...

    @property
    def reads_images(self) -> bool:
        """Whether it is of captions, whose sources are no texts but images."""
        ...

    @property
    def has_spare_rows(self) -> bool:
        """Whether a model may have rows for more ids than these, as T5 has."""
        ...

    @property
    def symbols(self) -> tuple[str, ...]: ...
    def __len__(self) -> int: ...
    def encode(self, text: str) -> list[int]: ...
    def encode_all(
        self, texts: Sequence[str]
    ) -> tuple[Integer[np.ndarray, " token"], Int64[np.ndarray, " offset"]]: ...
    def offsets(self, text: str) -> list[tuple[int, int]]: ...
    def decode(self, ids: Iterable[int]) -> str: ...
    def files(self) -> dict[str, str]: ...


@dataclass(frozen=True)
class Vocabulary:
    """The symbols of a character model, their place being their id.

    Four of them are special (`<unk> <pad> <sos> <eos>`), the others single characters.
    Raises: InputError if a special symbol is missing, or a symbol is there twice.
    """

    symbols: tuple[str, ...]
    most = None
    source_start = True
    has_spare_rows = has_words = reads_images = False

    def __post_init__(self):
        missing = [special for special in SPECIALS if special not in self.symbols]
        if missing:
            raise InputError(f"a vocabulary without {' '.join(missing)}; add these symbols")
        twice = sorted({symbol for symbol in self.symbols if self.symbols.count(symbol) > 1})
        if twice:
            raise InputError(f"a vocabulary with {twice[0]!r} twice; every symbol has one id")

    def __len__(self) -> int:
        return len(self.symbols)

    @property
    def unk(self) -> int:
        return self.symbols.index("<unk>")

    @property
    def pad(self) -> int:
        return self.symbols.index("<pad>")

    @property
    def sos(self) -> int:
        return self.symbols.index("<sos>")

    @property
    def eos(self) -> int:
        return self.symbols.index("<eos>")

    @cached_property
    def dtype(self) -> np.dtype:
        """The smallest integer that torch, too, has and that holds every id."""
        return next(np.dtype(t) for t in ("u1", "i2", "i4") if len(self) <= np.iinfo(t).max + 1)

    @cached_property
    def _ids(self) -> Int64[np.ndarray, " code_point"]:
        """The id of every code point up to the highest known one and one more; -1 if unknown."""
        known = {ord(s): i for i, s in enumerate(self.symbols) if len(s) == 1}
        table = np.full(max(known, default=0) + 2, -1)
        table[list(known)] = list(known.values())
        return table

    def encode(self, text: str) -> list[int]:
        """The ids of the characters of a text; no start or end symbol is added.

        Raises: InputError for a character that is not in the vocabulary.
        """
        return self.encode_all([text])[0].tolist()

    def encode_all(
        self, texts: Sequence[str]
    ) -> tuple[Integer[np.ndarray, " token"], Int64[np.ndarray, " offset"]]:
        """The ids of all texts one after another, and where each begins (and the last ends).

        Raises: InputError for a character that is not in the vocabulary.
        """
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        ids = self._ids[np.minimum(codes, len(self._ids) - 1)]
        if (ids < 0).any():
            raise self._foreign(texts)
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return ids.astype(self.dtype), np.concatenate([[0], lengths.cumsum()])

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each symbol of `encode` stands in the text: one character each."""
        return [(i, i + 1) for i in range(len(text))]

    def _foreign(self, texts: Iterable[str]) -> InputError:
        known = {symbol for symbol in self.symbols if len(symbol) == 1}
        text = next(text for text in texts if not known.issuperset(text))
        char = next(char for char in text if char not in known)
        accepted = "".join(symbol for symbol in self.symbols if symbol in known)
        return InputError(
            f"character {char!r} of {text!r} is not in the vocabulary (accepted: {accepted!r})"
        )

    def decode(self, ids: Iterable[int]) -> str:
        """The text of ids up to the first end symbol, without start and padding."""
        text = []
        for i in map(int, ids):
            if i == self.eos:
                break
            if i not in (self.sos, self.pad):
                text.append(self.symbols[i])
        return "".join(text)

    def files(self) -> dict[str, str]:
        """The files a checkpoint folder keeps of it: `vocabulary.json`."""
        return {FILE: json.dumps(list(self.symbols), ensure_ascii=False) + "\n"}

    @classmethod
    def load(cls, folder: str | Path) -> "Vocabulary":
        """The vocabulary saved in a folder.

        Raises: InputError if there is none, or it is damaged.
        """
        path = Path(folder) / FILE
        try:
            symbols = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise InputError(f"no {FILE} in {folder}; give the folder of a checkpoint") from None
        except ValueError as error:
            raise InputError(f"{path} is not JSON ({error}); restore the file") from None
        if not (isinstance(symbols, list) and all(isinstance(s, str) for s in symbols)):
            raise InputError(f"{path} is not a list of strings; restore the file")
        return cls(tuple(symbols))


def characters() -> Vocabulary:
    """The 73 symbols of the Mathematics Dataset: unk, pad, sos, eos, then its 69 characters."""
    return Vocabulary(SPECIALS + tuple(CHARACTERS))
