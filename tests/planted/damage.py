"""Damage as it happens to files and as somebody does it: bytes flipped, cut short, replaced, numbers too large,
parts twice; JSON and tables with other content.
"""

import gzip
import json
import random
import re
import resource
import shutil
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd
from planted import soaked, structures

from tprprobe.errors import InputError

PIECE = 100  # files between two entries in the book
LONGEST, LATEST = (
    10,
    200,
)  # seconds of a processor, and by the clock, that reading one file may take
MEMORY = 2 * 2**30  # bytes that reading may take
TABLES, OBJECTS = (".csv", ".parquet"), (".json", ".jsonl")

STRANGE: list[Any] = [
    None,
    "",
    "x",
    -1,
    0,
    10**30,
    1e308,
    [],
    {},
    [None],
    {"a": None},
    True,
    "\ud800",
    "9" * 5000,
]
HOSTILE = [
    b"9" * 5000,
    b"-" + b"9" * 30,
    b"1e999",
    b"NaN",
    b"-Infinity",
    b'"\\ud800"',
    b"\xed\xa0\x80",
    b"\xff\xfe\x00",
    b"\x00",
    b"[" * 60000,
    b'{"a":' * 60000,
    b"a." * 60000,
    b"{}",
    b"null",
    b"''",
    b"\t\t\t",
    b"\r\n\r\n",
    b"\xe2\x80\xa8",
    b"x" * 300000,
    b"../../etc/passwd",
    b"0",
    b"-1",
    b"",
]


def damage_each(
    folder: Path, read: Callable[[Path], Any], seeds: range, name: str
) -> tuple[int, list[str]]:
    """How many damaged files were refused by one line (the others were read), and the faults: seeds of those
    that ended in another error, or not at all.
    """
    read(folder)  # as it is
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    refused, faults = 0, []
    for seed in seeds:
        rng = random.Random(f"{name} {seed}")
        file = rng.choice(files)
        kept = file.read_bytes()
        damage(file, rng)
        try:
            with _limited():
                read(folder)
        except InputError:  # which is one line, whatever the file says
            refused += 1
        except BaseException as error:  # a library in Rust raises one of these
            if isinstance(error, KeyboardInterrupt):
                raise
            faults.append(f"seed {seed}, {file.name}: {error!r:.300}")
        file.write_bytes(kept)
    return refused, faults


def damage_on(folder: Path, read: Callable[[Path], Any], name: str, most: int) -> str:
    """What the next so many damaged files came to, those of earlier runs not among them.

    Raises:
        AssertionError: of the faults.
    """
    return _soak("damaged files", damage_each, folder, read, name, most)


def damage_folders_on(folder: Path, read: Callable[[Path], Any], name: str, most: int) -> str:
    """As :func:`damage_on`, of folders that are damaged by structure."""
    return _soak("damaged structure", damage_folders, folder, read, name, most)


def _soak(kind: str, damage_all: Any, folder: Path, read: Any, name: str, most: int) -> str:
    found = []
    for seeds in soaked.ahead(kind, name, most, PIECE):
        refused, faults = damage_all(folder, read, seeds, name)
        soaked.add(kind, name, len(seeds), refused, len(faults))
        found += faults
    assert not found, "\n".join(found)
    tried = soaked.so_far(kind, name)
    return f"{name}: {tried.tried:,} so far, {tried.refused:,} refused, the others read"


def damage_folders(
    folder: Path, read: Callable[[Path], Any], seeds: range, name: str
) -> tuple[int, list[str]]:
    """As :func:`damage_each`, of copies of a whole folder that are damaged by structure."""
    read(folder)  # as it is
    refused, faults = 0, []
    for seed in seeds:
        rng = random.Random(f"structure of {name} {seed}")
        with TemporaryDirectory(dir=folder.parent) as place:
            copied = Path(shutil.copytree(folder, Path(place) / folder.name))
            done = [structures.damage(copied, rng) for _ in range(rng.choice([1, 1, 1, 2]))]
            try:
                with _limited():
                    read(copied)
            except InputError:
                refused += 1
            except BaseException as error:
                if isinstance(error, KeyboardInterrupt):
                    raise
                faults.append(f"seed {seed}, {', '.join(done)}: {error!r:.300}")
    return refused, faults


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


def _held() -> int:
    """The bytes of data of this process."""
    status = Path("/proc/self/status")
    return (
        int(status.read_text().split("VmData:")[1].split()[0]) * 1024 if status.exists() else 2**40
    )


def damage(path: Path, rng: random.Random) -> None:
    """Changes one file, as its kind allows; of a packed one mostly what is in it."""
    if path.suffix == ".gz" and rng.random() < 0.8:
        inner = path.with_suffix("")
        inner.write_bytes(gzip.decompress(path.read_bytes()))
        damage(inner, rng)
        path.write_bytes(gzip.compress(inner.read_bytes(), 1))
        inner.unlink()
    else:
        rng.choice(_ways(path))(path, rng)


def _ways(path: Path) -> list[Callable[[Path, random.Random], None]]:
    ways = [_flip, _cut, _replace, _splice, _splice, _number, _word, _word]
    if path.suffix in OBJECTS:
        ways += [_json] * 8
    if path.suffix in TABLES:
        ways += [_table] * 8
    return ways


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
    new = rng.choice(
        [
            b"\xff" * size,
            b"\xff" * (size - 1) + b"\x7f",
            b"\x00" * size,
            b"\x00" * (size - 1) + b"@",
        ]
    )
    content[start : start + size] = new
    path.write_bytes(content)


def _word(path: Path, rng: random.Random) -> None:
    """A word or a number of a text replaced by something hostile."""
    content = path.read_bytes()
    if places := [match.span() for match in re.finditer(rb"[\w.+-]+", content)]:
        start, end = rng.choice(places)
        path.write_bytes(content[:start] + rng.choice(HOSTILE) + content[end:])


def _json(path: Path, rng: random.Random) -> None:
    text = path.read_text()
    lines = text.splitlines() if text.startswith('{"') and text.count("\n") else [text]
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(_changed(json.loads(lines[at]), rng))
    path.write_text("\n".join(lines))


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one part lost, renamed or replaced by something strange."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    return rng.choice(STRANGE)


def _table(path: Path, rng: random.Random) -> None:
    csv = path.suffix == ".csv"
    table = pd.read_csv(path) if csv else pd.read_parquet(path)
    name = rng.choice(list(table.columns))
    way = rng.randrange(5)
    if way == 0:
        table = table.drop(columns=name)
    elif way == 1:
        table = table.rename(columns={name: f"{name}x"})
    elif way == 2:
        table[name] = rng.choice(["x", -1, 1e308, float("nan"), ""])
    elif way == 3:
        table = table.iloc[:0]
    else:
        table[name] = (
            table[name].astype(str).sample(frac=1, random_state=rng.randrange(99)).to_numpy()
        )
    table.to_csv(path, index=False) if csv else table.to_parquet(path)
