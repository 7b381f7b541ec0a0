"""Whether padding changes the vectors of a module that is not ours."""

from collections.abc import Sequence

import torch

from tprprobe.console import note
from tprprobe.data.pairs import Pairs
from tprprobe.extraction.passes import read_block
from tprprobe.site.attachment import Attached


def compare_padded(
    model: Attached, pairs: Pairs, sites: Sequence[str], pad: int, numbers: Sequence[int]
) -> None:
    """Reads texts of several lengths, samples of these numbers, together and alone; if these differ, batches have texts of one length,
    and a line says so.
    """
    together = read_block(model, pairs, sites, pad, numbers=numbers)
    model.needs_equal_lengths = True
    separate = read_block(model, pairs, sites, pad)
    arrays = [(together.rows[name], rows) for name, rows in separate.rows.items()]
    for name, maps in separate.maps.items():
        arrays += zip(together.maps[name], maps, strict=True)
    weights = (w for w in model.parameters() if w.is_floating_point())
    dtype = next(weights, torch.zeros(0)).dtype  # whose rounding counts
    tensors = (tuple(map(torch.from_numpy, pair)) for pair in arrays)
    model.compare_padded((a.to(dtype), b.to(dtype)) for a, b in tensors)
    if model.needs_equal_lengths:
        note(f"{model.name}: batches: {model.notes['batches']}")
