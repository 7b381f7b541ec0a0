"""Damage to bytes, as it happens to files and as somebody does it: flipped, cut short, replaced, numbers too large,
parts twice; and what reading a damaged folder comes to.
"""

import gzip
import random
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from planted import soaked, structures

from tprprobe.errors import InputError

CHUNK = 100  # files between two entries in the book
LONGEST, LATEST = 10, 200  # seconds of a processor, and by the clock, for reading one file
MEMORY = 2 * 2**30  # bytes that reading may take
HOSTILE = [
    b"9" * 5000, b"-" + b"9" * 30, b"1e999", b"NaN", b"-Infinity", b'"\\ud800"', b"\xed\xa0\x80",
    b"\xff\xfe\x00", b"\x00", b"[" * 60000, b'{"a":' * 60000, b"a." * 60000, b"{}", b"null", b"''",
    b"\t\t\t", b"\r\n\r\n", b"\xe2\x80\xa8", b"x" * 300000, b"../../etc/passwd", b"0", b"-1", b"",
]  # fmt: skip


Reader = Callable[[Path], Any]


@dataclass
class Outcome:
    """How many damaged inputs were refused by one line (the others were read), and the faults: those that ended
    in another error, or not at all.
    """

    refused: int = 0
    faults: list[str] = field(default_factory=list)
    hangs: int = 0

    def read(self, reader: Reader, folder: Path, label: str) -> None:
        """Reads a damaged folder."""
        try:
            with _limited():
                reader(folder)
        except InputError:  # which is one line, whatever the file says
            self.refused += 1
        except BaseException as error:  # a library in Rust raises one of these
            if isinstance(error, KeyboardInterrupt):
                raise
            self.hangs += isinstance(error, TimeoutError)
            self.faults.append(f"{label}: {error!r:.300}")


def damage_each(folder: Path, reader: Reader, seeds: range, name: str, seed: int = 0) -> Outcome:
    """What files whose bytes are damaged come to."""
    reader(folder)  # as it is
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    outcome = Outcome()
    for number in seeds:
        rng = random.Random(f"{name} {seed} {number}")
        file = rng.choice(files)
        content = file.read_bytes()
        damage(file, rng)
        outcome.read(reader, folder, f"{number}, {file.name}")
        file.write_bytes(content)
    return outcome


def damage_folders(folder: Path, reader: Reader, seeds: range, name: str, seed: int = 0) -> Outcome:
    """What copies of a folder come to that are damaged by structure (:mod:`planted.structures`)."""
    reader(folder)  # as it is
    outcome = Outcome()
    for number in seeds:
        rng = random.Random(f"structure of {name} {seed} {number}")
        with copied(folder) as copy:
            changes = [structures.damage(copy, rng) for _ in range(rng.choice([1, 1, 1, 2]))]
            outcome.read(reader, copy, f"{number}, {', '.join(changes)}")
    return outcome


GENERATORS = {"bytes": damage_each, "structure": damage_folders}


@contextmanager
def copied(folder: Path) -> Iterator[Path]:
    """A copy of a folder, while the block runs."""
    with TemporaryDirectory(dir=folder.parent) as place:
        yield Path(shutil.copytree(folder, Path(place) / folder.name))


def soak(kind: str, folder: Path, reader: Reader, name: str, n_cases: int, seed: int) -> str:
    """What the next so many damaged inputs of a generator came to, those of earlier runs not among them.

    Raises:
        AssertionError: of the faults.
    """
    faults = []
    for seeds in soaked.ahead(kind, name, n_cases, CHUNK, seed):
        _forget_peak()
        outcome = GENERATORS[kind](folder, reader, seeds, name, seed)
        now = len(seeds), outcome.refused, len(outcome.faults), outcome.hangs, _held("VmHWM") >> 20
        soaked.add(kind, name, soaked.Tried(*now), seed)
        faults += outcome.faults
    assert not faults, "\n".join(faults)
    totals = soaked.so_far(kind, name, seed)
    return f"{kind} of {name}: {totals.tried:,} so far, {totals.refused:,} refused, the others read"


@contextmanager
def _limited() -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise TimeoutError(f"it took more than {LONGEST} s")

    timers = {signal.ITIMER_PROF: signal.SIGPROF, signal.ITIMER_REAL: signal.SIGALRM}
    before = {number: signal.signal(number, stop) for number in timers.values()}
    signal.setitimer(signal.ITIMER_PROF, LONGEST)
    signal.setitimer(signal.ITIMER_REAL, LATEST)
    data = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_held() + MEMORY, data[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, data)
        for timer, number in timers.items():
            signal.setitimer(timer, 0)
            signal.signal(number, before[number])


def _held(field: str = "VmData") -> int:
    """The bytes of data of this process, or the most that it had since they were forgotten."""
    status = Path("/proc/self/status")
    return (
        int(status.read_text().split(f"{field}:")[1].split()[0]) * 1024
        if status.exists()
        else 2**40
    )


def _forget_peak() -> None:
    with suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")


def damage(path: Path, rng: random.Random) -> None:
    """Changes one file, as its kind allows; of a packed one mostly what is in it."""
    if path.suffix == ".gz" and rng.random() < 0.8:
        inner = path.with_suffix("")
        inner.write_bytes(gzip.decompress(path.read_bytes()))
        damage(inner, rng)
        path.write_bytes(gzip.compress(inner.read_bytes(), 1))
        inner.unlink()
    else:
        rng.choice(WAYS)(path, rng)


def _flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 8])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)


def _cut(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def _replace(path: Path, rng: random.Random) -> None:
    path.write_bytes(
        rng.choice([b"", b"\0" * 40, b"null", b"[]", b"{}", b"\xff\xfe", b"a,b\n1,2\n", b"PAR1"])
    )


def _splice(path: Path, rng: random.Random) -> None:
    """A part twice, a part lost, or something hostile in between."""
    content = path.read_bytes()
    start = rng.randrange(len(content) + 1)
    end = min(len(content), start + rng.choice([0, 1, 7, 100, 5000]))
    between = rng.choice([content[start:end] * 2, b"", rng.choice(HOSTILE)])
    path.write_bytes(content[:start] + between + content[end:])


def _number(path: Path, rng: random.Random) -> None:
    """A number of 2, 4 or 8 bytes, the largest, the smallest or a round one; mostly near the start."""
    content = bytearray(path.read_bytes())
    size, near = rng.choice([2, 4, 8]), rng.choice([16, 256, len(content)])
    start = rng.randrange(min(near, len(content)) + 1)
    largest = b"\xff" * (size - 1)
    content[start : start + size] = rng.choice(
        [largest + b"\xff", largest + b"\x7f", bytes(size), bytes(size - 1) + b"@"]
    )
    path.write_bytes(content)


def _word(path: Path, rng: random.Random) -> None:
    """A word or a number of a text replaced by something hostile."""
    content = path.read_bytes()
    if places := [match.span() for match in re.finditer(rb"[\w.+-]+", content)]:
        start, end = rng.choice(places)
        path.write_bytes(content[:start] + rng.choice(HOSTILE) + content[end:])


WAYS = [_flip, _cut, _replace, _splice, _splice, _number, _word, _word]
