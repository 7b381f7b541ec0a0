"""A model in memory and on disk: peak memory, fingerprint, passes, an early end, the permuted baseline; and forecasts.

    python benchmarks/size.py hf:FOLDER [hf:FOLDER …] [--texts 64]

Every model is read by a process of its own, first in memory, then on disk; times are processor time. The plans at the end
are arithmetic: passes take 2 operations a weight and token, states 2 bytes a number.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

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
    began = time.process_time()
    run()
    return time.process_time() - began


def peak() -> float:
    """The most memory that this process held, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * UNIT / 1e9


def measure(name: str, place: str, texts: int) -> None:
    """Prints the figures of one model in memory (``place`` empty) or on disk."""
    began = time.process_time()
    model: Any = tp.load_model(name, device_map=place or None)
    loaded = time.process_time() - began
    size = sum(each.nbytes for each in model.state_dict().values()) / 1e9
    source = model.read([TEXT] * texts)
    states = [site for site in tp.sites(model)["site"] if site.endswith(".hidden")]

    def read(sites: list[str]) -> None:
        with tp.capture(model, sites), torch.no_grad():
            model.run(source, source[:, :1])

    read(states)
    whole = processor_seconds(lambda: read(states))
    early = processor_seconds(lambda: read(states[5:6]))
    summed, before = processor_seconds(lambda: fingerprint(model)), peak()
    began = time.process_time()
    with permuted(model):
        read(states)
    control = time.process_time() - began
    print(
        f"{name} {place or 'memory'}: weights {size:.2f} GB, peak {before:.2f} GB, with the baseline {peak():.2f} GB; "
        f"load {loaded:.1f} s, fingerprint {summed:.2f} s, pass over {source.numel():,} tokens {whole:.1f} s, up to "
        f"layer 5 of {len(states)} {early:.1f} s, permuted baseline {control:.1f} s",
        flush=True,
    )


def compare(name: str, texts: int) -> None:
    """Prints what a forecast says, and what the extraction takes."""
    model, data = tp.load_model(name), [TEXT] * (4 * texts)
    expected = forecast(model, data, control=False)
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        tp.extract(model, data, out=f"{folder}/store", control=False)
        took = time.perf_counter() - began
        files = sum(f.stat().st_size for f in Path(folder).rglob("*") if f.is_file())
    print(
        f"{name}: bytes {expected.bytes / files:.2f}, time {expected.seconds / took:.2f}, memory "
        f"{expected.memory / 1e9 / peak():.2f} of the measured"
    )


def plans(rate: float) -> None:
    """Prints the days and the disk of one layer's states of a model of 8B weights, by the number of tokens."""
    for title, tokens in TOKENS.items():
        days = [2 * WEIGHTS * tokens / (known or rate) / 86_400 for known in RATES.values()]
        times = ", ".join(f"{n:,.3g} days of {where}" for n, where in zip(days, RATES, strict=True))
        print(f"{title} tokens: {times}; {tokens * WIDTH * 2 / 1e12:,.3g} TB a layer")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*")
    parser.add_argument("--texts", type=int, default=64)
    parser.add_argument("--rate", type=float, default=1.4e11, help="operations a second of a core")
    parser.add_argument("--place", help=argparse.SUPPRESS)
    given = parser.parse_args()
    for name in given.models:
        if given.place is not None:
            measure(name, given.place, given.texts)
            continue
        for place in ("", "disk"):
            command = [sys.executable, __file__, name, "--texts", str(given.texts)]
            subprocess.run([*command, "--place", place], check=True)
        compare(name, given.texts)
    if given.place is None:
        plans(given.rate)


if __name__ == "__main__":
    main()
