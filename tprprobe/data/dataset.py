"""The protocol of data sets: examples in a fixed order, counted, sliced and read again at will."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice
from typing import ClassVar, Generic, Protocol, TypeVar, overload, runtime_checkable

from tprprobe.errors import InputError
from tprprobe.gold.labels import Labelled

Labels = tuple[Labelled | None, Labelled | None]


@runtime_checkable
class Example(Protocol):
    """An example: the text that a model is given, and the text that it should answer."""

    @property
    def source(self) -> str: ...

    @property
    def target(self) -> str: ...

    @property
    def module(self) -> str:
        """The kind of question; empty for data without kinds."""
        ...

    @property
    def document_name(self) -> str | None:
        """The document that the example is part of; None if it is part of none."""
        ...

    @property
    def has_one_answer(self) -> bool:
        """True if an answer is right or wrong; other texts have many good answers."""
        ...

    def labels(self, written: str | None, /) -> Labels:
        """The labelled words of the source, and of the target or of the text written instead."""
        ...


E = TypeVar("E", bound=Example)
ALL = "all"  # the split of what has none


@dataclass(frozen=True)
class Dataset(ABC, Generic[E]):
    """Examples in a fixed order: `len(data)`, `data[i]`, `data[a:b]` (again a data set), iteration.

    `rows` are the examples of it, as numbers of the whole that `name`, `split` and `seed` define.
    """

    has_grammar: ClassVar[bool] = False  # which tells whether a source makes a target true
    has_images: ClassVar[bool] = False  # as sources: examples have `features` and `captions`

    name: str
    split: str
    seed: int
    rows: range

    @abstractmethod
    def read(self, rows: range) -> Iterator[E]:
        """The examples in these rows, one after another."""

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the words of the examples are labelled for."""
        return ()

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that all texts are made of, with blanks between; empty where they are no such texts."""
        return ()

    def __len__(self) -> int:
        return len(self.rows)

    def __iter__(self) -> Iterator[E]:
        return self.read(self.rows)

    @overload
    def __getitem__(self, index: int) -> E: ...
    @overload
    def __getitem__(self, index: slice) -> "Dataset[E]": ...
    def __getitem__(self, index: int | slice) -> "E | Dataset[E]":
        if isinstance(index, slice):
            return replace(self, rows=self.rows[index])
        row = self.rows[index]
        return next(self.read(range(row, row + 1)))

    def examples(self, size: int = 8192) -> Iterator[list[E]]:
        """All examples, `size` at a time."""
        examples = iter(self)
        while block := list(islice(examples, size)):
            yield block

    def blocks(self, size: int = 8192) -> Iterator[tuple[list[str], list[str]]]:
        """The sources and the targets of all examples, `size` at a time."""
        for block in self.examples(size):
            yield [example.source for example in block], [example.target for example in block]


@dataclass(frozen=True)
class Request:
    """The arguments of `load_data`.

    Raises: InputError for less than one example, or less than no worker.
    """

    spec: str
    split: str | None = None
    n: int | None = None
    seed: int = 0
    workers: int = 0

    @property
    def options(self) -> dict[str, str | int]:
        """Those that were given, by name."""
        values = {"split": self.split, "n": self.n, "seed": self.seed, "workers": self.workers}
        return {name: value for name, value in values.items() if value}

    def __post_init__(self):
        if self.n is not None and self.n < 1:
            raise InputError(f"n = {self.n} examples of {self.spec}; ask for at least one")
        if self.workers < 0:
            raise InputError(f"{self.workers} workers; give 0 (this process) or more")

    def first_rows(self, available: int) -> range:
        """The first n rows of a file or folder; all of them if n is not given.

        Raises: InputError if there are not that many.
        """
        if self.n is not None and self.n > available:
            raise InputError(f"n = {self.n} of {self.spec}, which has {available}; ask for fewer")
        return range(available if self.n is None else self.n)
