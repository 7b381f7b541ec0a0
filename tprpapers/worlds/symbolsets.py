"""Data sets of symbol sequences, whose every answer follows from its source by a rule."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tprprobe.data.dataset import Dataset, Labels


@dataclass(frozen=True, slots=True)
class SymbolPair:
    """A sequence of symbols and its answer, both with blanks between."""

    source: str
    target: str
    has_one_answer, document_name, module = True, None, ""

    def labels(self, _text: str | None) -> Labels:
        """No labels: a symbol is what it is."""
        return None, None


@dataclass(frozen=True, repr=False)
class SymbolSet(Dataset[SymbolPair]):
    """All sequences of a split, in memory, and the symbols that they are made of."""

    pairs: tuple[SymbolPair, ...]
    alphabet: tuple[str, ...]

    @property
    def symbols(self) -> tuple[str, ...]:
        return self.alphabet

    def read(self, rows: Sequence[int]) -> Iterator[SymbolPair]:
        return (self.pairs[row] for row in rows)
