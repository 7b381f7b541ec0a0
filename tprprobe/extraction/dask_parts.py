"""An extraction by Dask's workers: each writes parts of the store, which this process joins.

The parts depend on the data alone, so the store is byte for byte that of a single process, whoever computes them.
"""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

from tprprobe.console import progress
from tprprobe.errors import InputError
from tprprobe.extraction.division import cut_ranges, join_ranges, part_of, stride_of
from tprprobe.extraction.extractions import Extraction
from tprprobe.files.locks import alone
from tprprobe.files.processes import Ranks
from tprprobe.files.writing import refuse_existing
from tprprobe.models.loading import find_controls
from tprprobe.store.dask_workers import each_part
from tprprobe.store.manifests import is_finished

MAX_PARTS = 64


def write_part(
    run: Extraction,
    out: Path,
    ranges: Sequence[range],
    twins: Sequence[str],
    n_control: int,
    number: int,
) -> int:
    """Writes a part, or the rest of one whose worker was lost: the number of its samples. Twins read the first ``n_control`` of all."""
    samples, share = ranges[number], part_of(out, f"{number}-of-{len(ranges)}")
    controls = find_controls(run.model, twins) if samples.start < n_control and twins else {}
    if not is_finished(share):
        with alone(share):
            run.extract(share, samples, controls, n_control, resume=share.exists())
    return len(samples)


def extract_parts(
    run: Extraction, out: Path, twins: Sequence[str], n_control: int, resume: bool
) -> None:
    """Writes the store by the workers of this process's Dask client, which reach its folder by the same path."""
    refuse_existing(out)
    if (folder := part_of(out, "joined").parent).exists() and not resume:
        raise InputError(f"{folder} has parts of an earlier run: go on with --resume, or remove it")
    out.parent.mkdir(parents=True, exist_ok=True)
    starts = range(0, len(run.data), stride_of(run.data))
    ranges = cut_ranges(starts, len(run.data), min(MAX_PARTS, len(starts)))
    write = partial(write_part, run, out.absolute(), ranges, twins, n_control)
    with progress() as bars:
        bar = bars.add_task(f"{out}", total=len(run.data), note="")
        for n_samples in each_part(write, range(len(ranges))):
            bars.advance(bar, n_samples)
    join_ranges(out, ranges, Ranks(0, len(ranges)))
