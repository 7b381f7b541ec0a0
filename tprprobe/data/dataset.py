"""What every data set is: examples in a fixed order, counted, sliced and read again at will."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import Generic, Protocol, Self, TypeVar, overload, runtime_checkable

from tprprobe.errors import InputError


@runtime_checkable
class Example(Protocol):
    """A pair of texts: what a model is given and what it should answer."""

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...


E = TypeVar("E", bound=Example)


@dataclass(frozen=True)
class Dataset(ABC, Generic[E]):
    """Examples in a fixed order: `len(data)`, `data[i]`, `data[a:b]` (again a data set), iteration.

    `rows` are the examples of it, as numbers of the whole that `name`, `split` and `seed` define.
    """

    name: str
    split: str
    seed: int
    rows: range

    @abstractmethod
    def read(self, rows: range) -> Iterator[E]:
        """The examples of these rows, one after another."""

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[E]:
        return self.read(self.rows)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> E | Self:
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        row = self.rows[index]
        return next(self.read(range(row, row + 1)))

    def blocks(self, size: int = 8192) -> Iterator[tuple[list[str], list[str]]]:
        """The sources and the targets of all examples, `size` at a time."""
        examples = iter(self)
        while block := list(islice(examples, size)):
            yield [example.source for example in block], [example.target for example in block]


def first_rows(n: int | None, available: int, name: str) -> range:
    """The first n rows of what a file or folder has; all of them for None.

    Raises: InputError if that many there are not.
    """
    if n is None:
        return range(available)
    if not 1 <= n <= available:
        raise InputError(f"n = {n} of {name}, which has {available}; give 1 to {available}")
    return range(n)
