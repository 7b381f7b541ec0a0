"""What the long runs have tried, in ``tests/soaked.csv``: one that was cut off goes on behind it."""

import csv
import io
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from tprprobe.files.writing import held, write_file

FILE = Path(__file__).parents[1] / "soaked.csv"
LOCK = Path(gettempdir()) / f"{FILE.name}.lock"
KEYS = ("kind", "name", "seed")


class Tried(NamedTuple):
    """How many were tried of a kind, name and seed, how many of them refused in one line, ended in another
    error or not in time, and the most megabytes that the process held.
    """

    tried: int = 0
    refused: int = 0
    faults: int = 0
    hangs: int = 0
    megabytes: int = 0


def so_far(kind: str, name: str, seed: int = 0) -> Tried:
    """What was tried before."""
    return _read().get((kind, name, str(seed)), Tried())


def add(kind: str, name: str, now: Tried, seed: int = 0) -> None:
    """Adds what was tried now; processes may run side by side."""
    with held(LOCK):
        counts_by_key, key = _read(), (kind, name, str(seed))
        before = counts_by_key.get(key, Tried())
        sums = (a + b for a, b in zip(before[:-1], now[:-1], strict=True))
        counts_by_key[key] = Tried(*sums, max(before.megabytes, now.megabytes))
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow((*KEYS, *Tried._fields))
        writer.writerows((*names, *counts_by_key[names]) for names in sorted(counts_by_key))
        write_file(FILE, stream.getvalue())


def ahead(kind: str, name: str, n_cases: int, chunk: int, seed: int = 0) -> list[range]:
    """The numbers of the next tries, in pieces: up to ``most`` of them, or what a cut-off run left."""
    start = so_far(kind, name, seed).tried
    end = (start // n_cases + 1) * n_cases
    return [range(begin, min(begin + chunk, end)) for begin in range(start, end, chunk)]


def _read() -> dict[tuple[str, ...], Tried]:
    if not FILE.exists():
        return {}
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        tuple(row[key] for key in KEYS): Tried(*(int(row[name]) for name in Tried._fields))
        for row in rows
    }
