"""What the long runs have tried so far, in ``tests/soaked.csv``: one that was cut off goes on behind it."""

import csv
import io
from pathlib import Path
from tempfile import gettempdir
from typing import NamedTuple

from tprprobe.files.locks import held
from tprprobe.files.writing import write_file

FILE = Path(__file__).parents[1] / "soaked.csv"
LOCK = Path(gettempdir()) / f"{FILE.name}.lock"


class Tried(NamedTuple):
    """How many were tried of a kind and name, how many of them refused in one line, and how many faults
    were found, which had to be mended.
    """

    tried: int = 0
    refused: int = 0
    faults: int = 0


def so_far(kind: str, name: str) -> Tried:
    """What was tried before."""
    return _read().get((kind, name), Tried())


def add(kind: str, name: str, tried: int, refused: int = 0, faults: int = 0) -> None:
    """Adds what was tried now; processes may run side by side."""
    with held(LOCK):
        known = _read()
        before = known.get((kind, name), Tried())
        known[kind, name] = Tried(*map(sum, zip(before, (tried, refused, faults), strict=True)))
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerows(
            [("kind", "name", *Tried._fields), *((*key, *known[key]) for key in sorted(known))]
        )
        write_file(FILE, stream.getvalue())


def ahead(kind: str, name: str, most: int, piece: int) -> list[range]:
    """The numbers of the next tries, in pieces: up to ``most`` of them, or what a cut-off run left."""
    start = so_far(kind, name).tried
    end = (start // most + 1) * most
    return [range(first, min(first + piece, end)) for first in range(start, end, piece)]


def _read() -> dict[tuple[str, str], Tried]:
    if not FILE.exists():
        return {}
    with FILE.open(newline="") as file:
        rows = list(csv.DictReader(file))
    return {
        (row["kind"], row["name"]): Tried(*(int(row[name]) for name in Tried._fields))
        for row in rows
    }
