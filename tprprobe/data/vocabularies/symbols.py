"""Symbols and their ids: texts of symbols with blanks between, whose sources have no start or end."""

from dataclasses import dataclass
from functools import cached_property

from tprprobe.data.vocabularies.characters import SPECIALS
from tprprobe.data.vocabularies.codecs import Listed
from tprprobe.errors import InputError

FILE = "symbols.json"


@dataclass(frozen=True)
class SymbolTable(Listed):
    """A vocabulary of symbols, `<unk> <pad> <sos> <eos>` first; a symbol's place is its id.

    A source is its symbols and nothing else, so that roles are counted from its first and last one.
    Raises: InputError if a symbol is missing, there twice, or has a blank in it.
    """

    symbols: tuple[str, ...]
    unk, pad, sos, eos = range(len(SPECIALS))
    file = FILE

    def __post_init__(self):
        if self.symbols[: len(SPECIALS)] != SPECIALS:
            raise InputError(f"a vocabulary of symbols that does not begin with {SPECIALS}")
        wrong = [each for each in self.symbols if each.split() != [each]]
        if wrong or len(self._ids) < len(self):
            raise InputError(f"symbols {self.symbols}: each stands there once, and has no blank")

    @property
    def source_frame(self) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """Nothing before and nothing behind."""
        return (), ()

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {symbol: number for number, symbol in enumerate(self.symbols)}

    def encode(self, text: str) -> list[int]:
        """The ids of the symbols of a text; no start or end symbol is added."""
        try:
            return [self._ids[symbol] for symbol in text.split()]
        except KeyError as error:
            accepted = " ".join(self.symbols[len(SPECIALS) :])
            raise InputError(
                f"symbol {error.args[0]!r} of {text!r} is not in the vocabulary (accepted: {accepted})"
            ) from None

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """The start and end of each symbol of `encode` in the text, in characters."""
        places, end = [], 0
        for symbol in text.split():
            start = text.index(symbol, end)
            end = start + len(symbol)
            places.append((start, end))
        return places

    def spell(self, ids: list[int]) -> str:
        """The symbols of these ids, every one of them."""
        return " ".join(self.symbols[i] for i in ids)
