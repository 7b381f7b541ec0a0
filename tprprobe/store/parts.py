"""A store joined from parts, which processes wrote side by side, each its range of samples."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.errors import InputError
from tprprobe.store.layout import SAMPLE, SIDES
from tprprobe.store.manifests import check_same, without_progress
from tprprobe.store.reader import Store, open_store
from tprprobe.store.writer import StoreWriter

SAMPLES_PER_BLOCK = 512


def concatenate(paths: Sequence[str | Path], out: str | Path, resume: bool = False) -> None:
    """Writes the samples of all parts, in order, as the store that one writer would have written."""
    stores = [open_store(path) for path in paths]
    header = without_progress(stores[0].manifest)
    for store in stores[1:]:
        check_same(store.path, store.manifest, stores[0].manifest)
    writer = StoreWriter.create(out, stores[0].specs, header, resume)
    start_sample = 0
    for store in stores:
        samples = store.tokens["sample"].to_numpy() - start_sample
        if store.samples and (samples[0], samples[-1]) != (0, store.samples - 1):
            raise InputError(f"{store.path} does not begin with sample {start_sample}: sort them")
        sides = {side: samples[store.tokens["side"] == side] for side in SIDES}
        n_done = max(0, writer.samples_done - start_sample)
        for start in range(n_done, store.samples, SAMPLES_PER_BLOCK):
            stop = min(start + SAMPLES_PER_BLOCK, store.samples)
            table = store.tokens.iloc[slice(*np.searchsorted(samples, [start, stop]))]
            rows = {s: slice(*np.searchsorted(ids, [start, stop])) for s, ids in sides.items()}
            counts = {} if start else store.facts.counts
            _copy(store, table, rows | {SAMPLE: slice(start, stop)}, writer, counts)
        start_sample += store.samples
    writer.finish()


def _copy(
    store: Store,
    table: pd.DataFrame,
    rows: Mapping[str, slice],
    writer: StoreWriter,
    counts: Mapping[str, int],
) -> None:
    """Appends the samples of a table of tokens, whose rows these are, by what a site's rows count."""
    values, attention = {}, {}
    for name, spec in store.specs.items():
        if spec.is_attention:
            with_maps = range(rows[SAMPLE].start, min(rows[SAMPLE].stop, store.count_maps(name)))
            attention[name] = [store.attention(name, sample) for sample in with_maps]
        else:
            values[name] = store.read(name, rows[spec.rows])
    writer.append(values, table, attention, counts)
