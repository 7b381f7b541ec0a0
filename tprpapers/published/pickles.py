"""Pickles that are not run: what one would build, counted from its opcodes, and vocabularies of torchtext 0.3.1.

Tuples may hold one another twice, level by level: a hundred bytes then stand for 2¹⁰⁰ members, which
whoever hashes or prints such a tuple visits one by one. Of torchtext only the classes that its files name are
known, as empty stand-ins; any other name is refused.
"""

import io
import pickle
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tprprobe.data.vocabularies.characters import Vocabulary
from tprprobe.errors import InputError

LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # first object of a file that torch.save wrote before 1.6

MAX_MEMBERS = 10**5  # members of a tuple, those of the tuples in it counted
LEGACY = 5  # pickles at the start of a file that torch.save wrote before 1.6
MARK, ONE_VALUE = -1, 1  # on the stack: a mark, and anything that is no tuple


def check_pickles(content: bytes) -> None:
    """Checks that no tuple in a file of torch.save has far too many members."""
    for stream in pickles_in(content):
        if largest_tuple(stream) > MAX_MEMBERS:
            raise InputError(
                f"it holds a tuple of more than {MAX_MEMBERS:,} members: no checkpoint does"
            )


def largest_tuple(stream: io.BytesIO) -> int:
    """The number of members of the largest tuple that a pickle builds, or the first above MAX_MEMBERS; the
    stream stands behind the pickle afterwards.
    """
    stack: list[int] = []
    memo: dict[int, int] = {}
    largest = 0
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        if name.endswith("GET"):
            stack.append(memo.get(int(str(argument)), ONE_VALUE))
        elif name.endswith("PUT"):
            memo[int(str(argument))] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        else:
            members = _take(stack, opcode)
            size = sum(members) + ONE_VALUE if "TUPLE" in name else ONE_VALUE
            largest = max(largest, size)
            if largest > MAX_MEMBERS:
                break
            marks = [kind is pickletools.markobject for kind in opcode.stack_after]
            stack += [MARK if mark else size for mark in marks]
    return largest


def _take(stack: list[int], opcode: pickletools.OpcodeInfo) -> list[int]:
    """What an opcode takes from the stack, down to the last mark if it goes by marks."""
    before = opcode.stack_before
    if pickletools.markobject not in before:
        start = len(stack) - len(before)
    else:
        mark = len(stack) - 1 - stack[::-1].index(MARK)
        start = mark - before.index(pickletools.markobject)
    members = stack[start:]
    del stack[start:]
    return [member for member in members if member != MARK]


def pickles_in(content: bytes) -> Iterator[io.BytesIO]:
    """The pickles in a file of torch.save; before 1.6 they followed one another in one stream."""
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                if Path(name).name == "data.pkl":
                    yield io.BytesIO(archive.read(name))
        return
    stream = io.BytesIO(content)
    for _ in range(LEGACY):
        yield stream


class Record:
    """The stand-in of a pickled object: its attributes and nothing else."""


class PickledTable(dict[Any, Any]):
    """The stand-in of a Counter or a defaultdict; its factory of missing entries is ignored."""

    def __init__(self, *values: Any):
        super().__init__(*(value for value in values if isinstance(value, dict)))


STAND_INS = {
    ("torchtext.vocab", "Vocab"): Record,
    ("torchtext.vocab", "_default_unk_index"): None,
    ("collections", "Counter"): PickledTable,
    ("collections", "defaultdict"): PickledTable,
    ("collections", "OrderedDict"): PickledTable,
}


class Reader(pickle.Unpickler):
    """Builds stand-ins and plain containers; a pickle that names anything else is refused.

    Every reader has classes of its own, so that what a pickle does to a class ends with it.
    """

    def __init__(self, stream: io.BytesIO):
        super().__init__(stream)
        self.known = {name: c and type(c.__name__, (c,), {}) for name, c in STAND_INS.items()}

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in self.known:
            raise pickle.UnpicklingError(f"it asks for {module}.{name}")
        return self.known[module, name]

    def persistent_load(self, _pid: Any) -> Any:
        raise pickle.UnpicklingError("it holds tensors")


def read_vocabulary(content: bytes, name: str) -> Vocabulary:
    """The symbols (``itos``) of a pickled vocabulary, in the order of their ids."""
    try:
        symbols = getattr(_unpickle(content), "itos", None)
    except Exception as error:  # a damaged or hostile pickle can raise whatever it likes
        reason = (str(error) or type(error).__name__).splitlines()[0]
        raise InputError(
            f"{name} is no vocabulary pickled by torchtext 0.3.1 ({reason}), nor named like a "
            "tokenizer.json or a SentencePiece spiece.model"
        ) from error
    if not isinstance(symbols, list) or not all(isinstance(s, str) for s in symbols):
        raise InputError(f"{name} is no vocabulary pickled by torchtext 0.3.1: no list itos")
    return Vocabulary(tuple(symbols))


def _unpickle(content: bytes) -> Any:
    streams = pickles_in(content)
    content_or_magic = Reader(next(streams)).load()
    if content_or_magic != LEGACY_MAGIC:
        return content_or_magic
    for _header in ("protocol", "system"):
        Reader(next(streams)).load()
    return Reader(next(streams)).load()
