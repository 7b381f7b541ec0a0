"""What an extraction will take: bytes by the shapes of its sites, time and memory by a trial on a few samples."""

import json
import math
import resource
import sys
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from tprprobe.console import size_text
from tprprobe.extraction.blocks import plan, plan_controls
from tprprobe.extraction.division import BLOCK_BYTES
from tprprobe.extraction.extractions import Control, Extraction

N_FEW, N_TRIAL = 16, 128  # samples of the trials
UNIT = 1 if sys.platform == "darwin" else 1024  # bytes of the kernel's figure of memory


@dataclass(frozen=True)
class Forecast:
    """What an extraction will take.

    Attributes:
        sites: Site, axes, shape, dtype, rows and bytes; controls have the same sites.
        samples: The number of samples.
        controls: The number of samples that each control reads, by kind.
        passes: The number of times that a sample passes through a model.
        tokens: The number of source tokens, reckoned from the first samples.
        bytes: Of the store, with its controls.
        seconds: From now to the finished store, without the time to load the model.
        memory: The most bytes that the process holds.
    """

    sites: pd.DataFrame
    samples: int
    controls: dict[str, int]
    passes: int
    tokens: int
    bytes: int
    seconds: float
    memory: int

    def as_dict(self) -> dict[str, Any]:
        """The forecast in JSON types."""
        return asdict(self) | {"sites": json.loads(self.sites.to_json(orient="records"))}

    def as_text(self) -> str:
        """The table of sites, and a line of totals."""
        table = self.sites.assign(bytes=self.sites["bytes"].map(size_text))
        lines = [f"control {kind}: {n:,} samples" for kind, n in self.controls.items()]
        lines += [
            f"{self.samples:,} samples, about {self.tokens:,} tokens, {self.passes:,} passes: "
            f"{size_text(self.bytes)} on disk, {self.seconds:,.0f} s, {size_text(self.memory)} of memory"
        ]
        return "\n".join([table.to_string(index=False), *lines])


def forecast(
    model: Any,
    data: Any,
    sites: Any = None,
    control: bool = True,
    twins: Any = None,
    control_samples: int | None = None,
    **options: Any,
) -> Forecast:
    """What :func:`tprprobe.extract` will take with the same arguments; it writes nothing that stays.

    Args:
        model: The model.
        data: The examples.
        sites: Sites, as patterns.
        control: Whether twins are read.
        twins: Kinds of twins.
        control_samples: How many samples a twin reads; default: all.
        **options: Further arguments of ``extract`` but ``out`` and ``resume``.

    Returns:
        The forecast.

    Raises:
        InputError: As ``extract``.
    """
    run = plan(model, data, sites, **options)
    samples = len(run.data)
    kinds = plan_controls(run, control, twins, control_samples)
    n_controlled = min(samples, control_samples or samples)
    controls = dict.fromkeys(kinds, n_controlled)
    _try(run, N_FEW, kinds)  # warms up
    seconds_of_few, n_few, _ = _try(run, N_FEW, kinds)
    seconds, n_trial, memory = _try(run, N_TRIAL, kinds)
    counts = [samples, *controls.values()]
    sizes = run.sizes(samples)
    specs = run.stored_specs.items()
    rows = [(k, " × ".join(s.axes), s.shape, s.dtype, *sizes[k]) for k, s in specs]
    table = pd.DataFrame(rows, columns=["site", "axes", "shape", "dtype", "rows", "bytes"])
    total = sum(size for count in counts for _, size in run.sizes(count).values())
    stored = (sum(size for _, size in run.sizes(n).values()) for n in (samples, n_trial))
    held_bytes = [min(BLOCK_BYTES, size) for size in stored]
    lengths = (run.sample.source.lengths + run.sample.target.lengths).double()
    trial_tokens = lengths[:n_trial].sum().item()
    fraction = lengths[:n_few].sum().item() / trial_tokens
    rate = seconds / trial_tokens  # seconds a token, without what a store takes in any case
    if fraction < 1:
        rate = max(0, seconds - seconds_of_few) / (1 - fraction) / trial_tokens
    start_up = max(0, seconds - rate * trial_tokens)
    n_full = n_controlled + (samples - n_controlled) / len(counts)  # the rest without controls
    tokens = run.sample.source.lengths.double().mean().item()
    return Forecast(
        table, samples, controls, sum(counts), round(tokens * samples), total,
        start_up + rate * lengths.mean().item() * n_full, memory + max(0, held_bytes[0] - held_bytes[1]),
    )  # fmt: skip


def _try(run: Extraction, samples: int, controls: Mapping[str, Control]) -> tuple[float, int, int]:
    """The seconds of an extraction of the first samples, how many there are, and the most memory."""
    n_maps = math.ceil(run.attention_samples * min(1, samples / len(run.data)))  # the share of all
    trial = replace(run, data=run.data[:samples], attention_samples=n_maps, prepared={})
    began = time.perf_counter()
    with TemporaryDirectory(prefix="tprprobe-") as folder:
        store, all_samples = Path(folder) / "store", range(len(trial.data))
        trial.extract(store, all_samples, controls, samples, resume=False)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT
    return time.perf_counter() - began, len(trial.data), peak
