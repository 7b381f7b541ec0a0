"""What a pickle would build, counted from its opcodes without building it.

Tuples may hold one another twice, level by level: a hundred bytes then stand for 2¹⁰⁰ members, which
whoever hashes or prints such a tuple visits one by one.
"""

import io
import pickletools
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tprprobe.errors import InputError

MOST = 10**5  # members of a tuple, those of the tuples in it counted
LEGACY = 5  # pickles at the start of a file that torch.save wrote before 1.6
MARK, TAKEN = -1, 1  # on the stack: a mark, and anything that is no tuple


def check_pickles(content: bytes) -> None:
    """Checks that no tuple in a file of torch.save has far too many members."""
    for pickle in pickles_in(content):
        if largest_tuple(pickle) > MOST:
            raise InputError(f"it holds a tuple of more than {MOST:,} members: no checkpoint does")


def largest_tuple(stream: io.BytesIO) -> int:
    """The number of members of the largest tuple that a pickle builds, or the first above MOST; the
    stream stands behind the pickle afterwards.
    """
    stack: list[int] = []
    memo: dict[int, int] = {}
    largest = 0
    for opcode, argument, _ in pickletools.genops(stream):
        name = opcode.name
        if name.endswith("GET"):
            stack.append(memo.get(int(str(argument)), TAKEN))
        elif name.endswith("PUT"):
            memo[int(str(argument))] = stack[-1]
        elif name == "MEMOIZE":
            memo[len(memo)] = stack[-1]
        else:
            taken = _take(stack, opcode)
            size = sum(taken) + TAKEN if "TUPLE" in name else TAKEN
            largest = max(largest, size)
            if largest > MOST:
                break
            marks = [each is pickletools.markobject for each in opcode.stack_after]
            stack += [MARK if mark else size for mark in marks]
    return largest


def _take(stack: list[int], opcode: pickletools.OpcodeInfo) -> list[int]:
    """What an opcode takes from the stack, down to the last mark if it goes by marks."""
    before = opcode.stack_before
    if pickletools.markobject not in before:
        first = len(stack) - len(before)
    else:
        mark = len(stack) - 1 - stack[::-1].index(MARK)
        first = mark - before.index(pickletools.markobject)
    taken = stack[first:]
    del stack[first:]
    return [each for each in taken if each != MARK]


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
