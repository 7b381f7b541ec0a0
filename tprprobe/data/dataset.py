"""The protocol of data sets: examples in a fixed order, counted, sliced and read again at will."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import (
    Any,
    ClassVar,
    Generic,
    NotRequired,
    Protocol,
    TypedDict,
    TypeVar,
    overload,
    runtime_checkable,
)

from tprprobe import plugins
from tprprobe.errors import InputError
from tprprobe.files.checksums import digest_files
from tprprobe.files.notebook import as_html
from tprprobe.gold.labels import Labelled

Labels = tuple[Labelled | None, Labelled | None]
Facts = dict[str, object]  # by name, in JSON types
Tables = dict[str, list[Facts]]  # rows by title


class Origin(TypedDict):
    """What two runs must share to be of the same data; ``files`` are the digests of those that the name names, ``rows`` the first
    row and the step of a part that does not begin with the first one or leaves some out.
    """

    name: str
    split: str
    seed: int
    files: dict[str, str]
    rows: NotRequired[list[int]]


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

    def labels(self, generated: str | None, /) -> Labels:
        """The labelled words of the source, and of the target or of the text generated instead."""
        ...


E = TypeVar("E", bound=Example)
SHOWN = 5  # examples in a notebook
ALL = "all"  # the split of what has none


@dataclass(frozen=True, repr=False)
class Dataset(ABC, Generic[E]):
    """Examples in a fixed order: ``len(data)``, ``data[i]``, ``data[a:b]`` (again a data set), iteration.

    Attributes:
        has_grammar: Whether a grammar decides if a source makes a target true.
        name: The name of the whole, as given to :func:`load_data`.
        split: The part of it.
        seed: The seed with which it was drawn or divided.
        rows: The numbers of its examples in the whole.

    Examples:
        >>> data[3:5].rows
        range(3, 5)
        >>> [example.answer for example in data[:2]]
        ['34', '-14/11']
    """

    has_grammar: ClassVar[bool] = False  # which tells whether a source makes a target true

    name: str
    split: str
    seed: int
    rows: Sequence[int]

    @abstractmethod
    def read(self, rows: Sequence[int]) -> Iterator[E]:
        """The examples in some rows.

        Args:
            rows: The numbers of the examples.

        Returns:
            An iterator over the examples.
        """

    @property
    def tasks(self) -> tuple[str, ...]:
        """The tasks that the words of the examples are labelled for."""
        return ()

    @property
    def has_targets(self) -> bool:
        """Whether a model is asked for something; a text, a list, a treebank is only read: source and target are one."""
        if not len(self):
            return False
        example = self[0]
        return bool(example.target) and (example.has_one_answer or example.target != example.source)

    @property
    def symbols(self) -> tuple[str, ...]:
        """The symbols that all texts are made of, with blanks between; empty where they are no such texts."""
        return ()

    @property
    def origin(self) -> Origin:
        """What two runs must share to be of the same data: name, split, seed, rows, and the sha256 of the files that the name names."""
        files = digest_named(self.name)
        origin = Origin(name=self.name, split=self.split, seed=self.seed, files=files)
        if isinstance(self.rows, range):
            rows = [self.rows.start, self.rows.step]
        else:
            start, end = [*self.rows[:1], *self.rows[-1:]] or [0, 0]
            rows = [start, (end - start) / max(1, len(self) - 1)]  # the mean distance
        return origin if rows == [0, 1] else {**origin, "rows": rows}

    @property
    def report(self) -> Facts:
        """What was read, left out and changed where examples come from a file, in JSON types."""
        return {}

    def describe(self, n: int) -> tuple[Facts, Tables]:
        """Facts and tables for a reader: lengths of the first texts.

        Args:
            n: The number of examples that are read.

        Returns:
            Facts by name, and tables (a list of rows) by title.
        """
        examples = list(self[:n])
        texts = {side: [getattr(x, side) for x in examples] for side in ("source", "target")}
        if texts["source"] == texts["target"]:
            texts = {"text": texts["source"]}
        documents = {example.document_name for example in examples} - {None}
        facts: Facts = {"documents": len(documents)} if documents else {}
        lengths = [
            spread(f"words of a {side}", [len(text.split()) for text in listed])
            for side, listed in texts.items()
            if listed
        ]
        return facts, {"lengths": lengths}

    def suited_to(self, vocabulary: Any) -> "Dataset[E]":
        """The data for a model of a vocabulary.

        Args:
            vocabulary: The vocabulary.

        Returns:
            The same data; other words only where these must fit the vocabulary.
        """
        del vocabulary
        return self

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, split {self.split!r}: {len(self):,} examples)"

    def _repr_html_(self) -> str:
        import pandas as pd  # which commands that only read texts do without

        text_pairs = [(example.source, example.target) for example in self[:SHOWN]]
        return as_html(repr(self), pd.DataFrame(text_pairs, columns=["source", "target"]))

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

    def spaced(self, n: int) -> "Dataset[E]":
        """Examples at equal distances from all over the data: of many documents, where a corpus is in order.

        Args:
            n: How many; all, if there are fewer.

        Returns:
            The part.
        """
        step, remainder = divmod(len(self), n)
        if step == 0 or not remainder:
            return self[:: max(1, step)]
        return replace(self, rows=tuple(self.rows[i * len(self) // n] for i in range(n)))

    def examples(self, size: int = 8192) -> Iterator[list[E]]:
        """All examples in lists.

        Args:
            size: The number of examples in a list.

        Yields:
            A list of examples.
        """
        examples = iter(self)
        while block := list(islice(examples, size)):
            yield block

    def blocks(self, size: int = 8192) -> Iterator[tuple[list[str], list[str]]]:
        """The texts of all examples in lists.

        Args:
            size: The number of examples in a list.

        Yields:
            The sources and the targets of a list of examples.
        """
        for block in self.examples(size):
            yield [example.source for example in block], [example.target for example in block]


def spread(name: str, numbers: Sequence[int]) -> Facts:
    """The row of a table: the mean of numbers, their 5 and 95 % quantiles, the largest, and how many."""
    ranked, n = sorted(numbers), len(numbers)
    low, high = (ranked[int(share * (n - 1))] for share in (0.05, 0.95))
    ends = {"low": low, "high": high, "most": ranked[-1]}
    return {"of": name, "mean": sum(ranked) / n, **ends, "n": n}


@dataclass(frozen=True)
class Request:
    spec: str
    split: str | None = None
    n: int | None = None
    seed: int = 0
    workers: int = 0
    column: str | None = None  # of a table, that has the texts

    @property
    def options(self) -> dict[str, str | int]:
        values = {"split": self.split, "n": self.n, "seed": self.seed, "workers": self.workers}
        return {name: value for name, value in values.items() if value}

    def __post_init__(self):
        if self.n is not None and self.n < 1:
            raise InputError(f"n = {self.n} examples of {self.spec}; ask for at least one")
        if self.workers < 0:
            raise InputError(f"{self.workers} workers; give 0 (this process) or more")

    def first_rows(self, available: int) -> range:
        if self.n is not None and self.n > available:
            raise InputError(f"n = {self.n} of {self.spec}, which has {available}; ask for fewer")
        return range(available if self.n is None else self.n)


FILE_PAIRS = ((".source", ".target"), (".target", ".source"))  # endings of files read together


def digest_named(name: str) -> dict[str, str]:
    """The sha256 of the files of `FILE`, `FOLDER`, `FILE:COLUMN` or `PREFIX:FILE`; none of what is generated."""
    start, colon, suffix = name.partition(":")
    paths = [suffix] if colon else []
    if start not in plugins.find("data"):  # whose name a folder may bear, too
        paths += [name, name.rpartition(":")[0]]
    existing = [path for path in map(Path, filter(None, paths)) if path.exists()]
    return digest_files(_files(existing[0])) if existing else {}


def _files(path: Path) -> set[Path]:
    if path.is_dir():
        files = {*path.glob("[!.]*"), *path.glob("[!.]*/*.txt")}
    else:
        files = {path, *(path.with_name(path.name.replace(*pair)) for pair in FILE_PAIRS)}
    return {file for file in files if file.is_file()}


SHARES = {"train": range(205), "dev": range(205, 230), "test": range(230, 256)}  # of a byte


def hash_byte(text: str) -> int:
    return blake2b(text.encode(), digest_size=1).digest()[0]


def split_by_hash(text: str, shares: Mapping[str, range] = SHARES) -> str:
    byte = hash_byte(text)
    return next(split for split, share in shares.items() if byte in share)


WAYS = (
    "give a text (FILE.txt, FILE.jsonl, FILE.csv), a treebank (FILE.conllu) or a name "
    "(mathematics:MODULE, pairs:FRAME); `tprprobe docs corpora` lists all"
)


def no_data(spec: str, names: Sequence[str] = ()) -> InputError:
    path, reason = Path(spec), "there is no such file here"
    if path.is_dir():
        reason = "the folder has no file of a split (train.txt, test.jsonl …)"
    elif path.suffix == ".json" and path.is_file():
        reason = "a JSON array is read as JSON lines, an object a line (jq -c '.[]' FILE.json > FILE.jsonl)"
    elif path.is_file():
        reason = "the file is there, but its ending says no format that is read"
    siblings = [] if path.exists() else [sibling.name for sibling in path.parent.glob("*")]
    near = get_close_matches(path.name, siblings, 1)
    near = near or get_close_matches(spec.partition(":")[0], names, 1)
    return InputError(f"no data {spec!r}: {reason}{f', but {near[0]!r}' if near else ''}; {WAYS}")
