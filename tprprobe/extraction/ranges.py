"""An extraction shared by processes: each writes the store of a range of samples, one joins them.

A range is of whole blocks, so that every process makes the batches that a single one would make, and
the joined store is that of a single process. The parts lie beside the store until it is complete.
"""

import os
import shutil
from collections.abc import Sequence
from pathlib import Path

from tprprobe.files.processes import Ranks
from tprprobe.store.layout import MANIFEST, TWINS
from tprprobe.store.parts import concatenate


def cut_ranges(firsts: Sequence[int], samples: int, count: int) -> list[range]:
    """The range of samples of every process, as equal as blocks with these first samples allow."""
    wanted = [samples * rank / count for rank in range(count)]
    starts = [next((first for first in firsts if first >= each), samples) for each in wanted]
    return [range(start, end) for start, end in zip(starts, [*starts[1:], samples], strict=True)]


def part_of(out: Path, rank: int, count: int) -> Path:
    """The folder of a process's part of a store."""
    return _parts(out) / f"{rank}-of-{count}"


def join_ranges(out: Path, ranges: Sequence[range], ranks: Ranks) -> None:
    """Waits for the parts of all processes, and for the first of them to join these to the store,
    which is there whole or not at all.
    """
    if ranks.rank:
        return ranks.wait((out / MANIFEST).exists)
    parts = [part_of(out, rank, ranks.count) for rank, each in enumerate(ranges) if each]
    ranks.wait(lambda: all((part / MANIFEST).exists() for part in parts))
    joined = _parts(out) / "joined"
    concatenate(parts, joined, resume=True)
    for kind in TWINS:
        twins = [part / kind for part in parts if (part / kind).exists()]
        if twins and not (joined / kind).exists():
            concatenate(twins, _parts(out) / kind, resume=True)
            os.replace(_parts(out) / kind, joined / kind)
    os.replace(joined, out)
    return shutil.rmtree(_parts(out))


def _parts(out: Path) -> Path:
    return out.with_name(f".{out.name}.parts")
