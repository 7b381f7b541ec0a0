"""A model in memory and on disk: peak memory, fingerprint, passes, an early end, the permuted baseline; and forecasts.

    python benchmarks/size.py hf:FOLDER [hf:FOLDER …] [--texts 64]
    python benchmarks/size.py --forecast MODEL DATA SAMPLES [--forecast …]

Every model is read by a process of its own, first in memory, then on disk; times are processor time, peaks the kernel's
figure for that process. The plans at the end are arithmetic: passes take 2 operations a weight and token, states 2 bytes a
number.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch

import tprprobe as tp
from tprprobe.extraction.forecasts import UNIT, forecast
from tprprobe.models.architectures import fingerprint
from tprprobe.models.permutation import permuted

TEXT = (
    "The committee that the two directors appointed last year has not yet answered every question ."
)
RATES = {"a core (measured)": None, "an H100 (data sheet, 40 %)": 0.4 * 989e12}
TOKENS = {"100M": 1e8, "7B": 7e9, "70B": 7e10, "1T": 1e12}
WEIGHTS, WIDTH = 8e9, 4096  # of the model that is planned for


def processor_seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def peak() -> float:
    """The most memory that this process held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 1e9


def measure(name: str, place: str, texts: int) -> None:
    """Prints the figures of one model in memory (``place`` empty) or on disk."""
    start = time.process_time()
    model: Any = tp.load_model(name, device_map=place or None)
    loaded = time.process_time() - start
    size = sum(tensor.nbytes for tensor in model.state_dict().values()) / 1e9
    source = model.read([TEXT] * texts)
    states = [site for site in tp.sites(model)["site"] if site.endswith(".hidden")]

    def read(sites: list[str]) -> None:
        with tp.capture(model, sites), torch.no_grad():
            model.run(source, source[:, :1])

    def read_permuted() -> None:
        with permuted(model):
            read(states)

    read(states)
    full_pass = median(processor_seconds(lambda: read(states)) for _ in range(3))
    early = processor_seconds(lambda: read(states[5:6]))
    summed, before = processor_seconds(lambda: fingerprint(model)), peak()
    control = median(processor_seconds(read_permuted) for _ in range(3))
    print(
        f"{name} {place or 'memory'}: weights {size:.2f} GB, peak {before:.2f} GB, with the baseline {peak():.2f} GB; "
        f"load {loaded:.1f} s, fingerprint {summed:.2f} s, pass over {source.numel():,} tokens {full_pass:.1f} s, up to "
        f"layer 5 of {len(states)} {early:.1f} s, permuted baseline {control:.1f} s ({control / full_pass:.2f} of a pass)",
        flush=True,
    )


def compare(name: str, source: str, samples: int) -> None:
    """Prints what a forecast says and what the extraction takes, in processor time."""
    if name == "g2p":
        from studies.real.pronunciation import attach_pronouncer, read_pronouncer

        model: Any = attach_pronouncer(read_pronouncer("models/real/g2p"))
    else:
        model = tp.load_model(name)
    data = tp.load_data(source, n=samples)
    with patch("time.perf_counter", time.process_time):  # other work on the machine does not count
        expected = forecast(model, data)
    with tempfile.TemporaryDirectory() as folder:
        seconds = processor_seconds(lambda: tp.extract(model, data, out=f"{folder}/store"))
        size = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
    print(
        f"{name}, {len(data)} samples: forecast {expected.bytes / 1e6:,.1f} MB, {expected.seconds:,.1f} s, "
        f"{expected.memory / 1e9:.2f} GB; measured {size / 1e6:,.1f} MB, {seconds:,.1f} s of "
        f"processor time, {peak():.2f} GB; bytes {expected.bytes / size:.2f}, time {expected.seconds / seconds:.2f}",
        flush=True,
    )


def plans(rate: float) -> None:
    """Prints the days and the disk of one layer's states of a model of 8B weights, by the number of tokens."""
    for title, tokens in TOKENS.items():
        days = [
            2 * WEIGHTS * tokens / (known_rate or rate) / 86_400 for known_rate in RATES.values()
        ]
        times = ", ".join(f"{n:,.3g} days of {where}" for n, where in zip(days, RATES, strict=True))
        print(f"{title} tokens: {times}; {tokens * WIDTH * 2 / 1e12:,.3g} TB a layer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1.4e11, help="operations a second of a core")
    parser.add_argument(
        "--forecast", nargs=3, action="append", default=[], help="MODEL DATA SAMPLES"
    )
    parser.add_argument("--place", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.place is not None:
        measure(options.models[0], options.place, options.texts)
        return
    if len(options.forecast) == 1:
        [(model, data, samples)] = options.forecast
        compare(model, data, int(samples))
        return
    for case in options.forecast:
        subprocess.run([sys.executable, __file__, "--forecast", *case], check=True)
    for name in options.models:
        for place in ("", "disk"):
            command = [sys.executable, __file__, name, "--texts", str(options.texts)]
            subprocess.run([*command, "--place", place], check=True)
    if options.models:
        plans(options.rate)


if __name__ == "__main__":
    main()
