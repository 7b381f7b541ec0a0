"""Characters and their ids: the text of a question as numbers, and back."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Int64

from tprprobe.data.vocabularies.codecs import Listed
from tprprobe.data.vocabularies.encoded import Flat
from tprprobe.errors import InputError

SPECIALS = ("<unk>", "<pad>", "<sos>", "<eos>")
LIMITS = {"question": 160, "answer": 30}  # characters
CHARACTERS = " !'()*+,-./0123456789:<=>?ACDEFGHILMPRSTWabcdefghijklmnopqrstuvwxyz{}"


@dataclass(frozen=True)
class Vocabulary(Listed):
    """The symbols of a character model: `<unk> <pad> <sos> <eos>`, and single characters; a symbol's place is its id."""

    symbols: tuple[str, ...]
    source_start = True
    has_words = False
    file = "vocabulary.json"

    def __post_init__(self):
        missing = [special for special in SPECIALS if special not in self.symbols]
        if missing:
            raise InputError(f"a vocabulary without {' '.join(missing)}; add these symbols")
        twice = sorted({symbol for symbol in self.symbols if self.symbols.count(symbol) > 1})
        if twice:
            raise InputError(f"a vocabulary with {twice[0]!r} twice; every symbol has one id")
        for name in ("unk", "pad", "sos", "eos"):
            object.__setattr__(self, name, self.symbols.index(f"<{name}>"))

    @property
    def dtype(self) -> np.dtype:
        return next(np.dtype(t) for t in ("u1", "i2", "i4") if len(self) <= np.iinfo(t).max + 1)

    @cached_property
    def _ids(self) -> Int64[np.ndarray, " code_point"]:
        """The id of every code point up to one beyond the highest known; -1 if unknown."""
        id_of_code = {ord(s): i for i, s in enumerate(self.symbols) if len(s) == 1}
        table = np.full(max(id_of_code, default=0) + 2, -1)
        table[list(id_of_code)] = list(id_of_code.values())
        return table

    def encode(self, text: str) -> list[int]:
        return self.encode_all([text]).values.tolist()

    def encode_all(self, texts: Sequence[str]) -> Flat:
        codes = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        ids = self._ids[np.minimum(codes, len(self._ids) - 1)]
        if (ids < 0).any():
            accepted_symbols = {symbol for symbol in self.symbols if len(symbol) == 1}
            text = next(text for text in texts if not accepted_symbols.issuperset(text))
            char = next(char for char in text if char not in accepted_symbols)
            accepted = "".join(symbol for symbol in self.symbols if symbol in accepted_symbols)
            raise InputError(f"{char!r} in {text!r} is not in the vocabulary ({accepted!r})")
        lengths = np.fromiter(map(len, texts), np.int64, len(texts))
        return Flat(ids.astype(self.dtype), lengths, 0)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [(i, i + 1) for i in range(len(text))]

    def spell(self, ids: list[int]) -> str:
        return "".join(self.symbols[i] for i in ids)


def check_length(kind: str, text: str, where: str = "") -> None:
    if len(text) > LIMITS[kind]:
        raise InputError(
            f"{where}{kind} of {len(text)} characters, at most {LIMITS[kind]} are accepted: {text!r}"
        )


def characters() -> Vocabulary:
    return Vocabulary(SPECIALS + tuple(CHARACTERS))


@dataclass(frozen=True)
class Separated(Listed):
    """Symbols with blanks between, `<unk> <pad> <sos> <eos>` first. Raises: InputError if one is missing or there twice."""

    symbols: tuple[str, ...]
    unk, pad, sos, eos = range(len(SPECIALS))

    def __post_init__(self):
        if self.symbols[: len(SPECIALS)] != SPECIALS:
            raise InputError(f"a vocabulary that does not begin with {' '.join(SPECIALS)}")
        if len(self._ids) < len(self):
            twice, _ = Counter(self.symbols).most_common(1)[0]
            raise InputError(f"a vocabulary with {twice!r} twice; every symbol has one id")

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    def spell(self, ids: list[int]) -> str:
        return " ".join(self.symbols[i] for i in ids)


@dataclass(frozen=True)
class SymbolTable(Separated):
    """A vocabulary of texts that are symbols with blanks between; a source is these alone, without start and end."""

    file = "symbols.json"

    def __post_init__(self):
        super().__post_init__()
        if blank := [symbol for symbol in self.symbols if symbol.split() != [symbol]]:
            raise InputError(f"a vocabulary with {blank[0]!r}: a symbol has no blank")

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        return (), ()

    def encode(self, text: str) -> list[int]:
        try:
            return [self._ids[symbol] for symbol in text.split()]
        except KeyError as error:
            accepted = " ".join(self.symbols[len(SPECIALS) :])
            raise InputError(
                f"symbol {error.args[0]!r} of {text!r} is not in the vocabulary (accepted: {accepted})"
            ) from None

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [match.span() for match in re.finditer(r"\S+", text)]
