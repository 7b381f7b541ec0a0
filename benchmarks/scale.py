"""Extraction by 1, 2 and 4 processes, a training step of the paper's size, and what large runs take.

    python benchmarks/scale.py [--questions 40000]

Processes are started as torchrun starts them. Plans are arithmetic on the rates measured here, on one
core; a GPU's are estimates from its data sheet and say so.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from tprprobe.models import build

CKPT, DATA, SPLIT, SITES = (
    "tpt-c-arithmetic",
    "mathematics:arithmetic__mul",
    "small-test",
    "encoder.*.self.role",
)
DAY = 86_400


def seconds_of(processes: int, questions: int, folder: Path) -> float:
    """Seconds of an extraction by so many processes, from start to the finished store."""
    out = folder / str(processes)
    command = ["-m", "tprprobe", "extract", "--ckpt", CKPT, "--data", DATA, "--split", SPLIT]
    command += ["-n", str(questions), "--sites", SITES, "--attention-samples", "0", "--no-control"]
    torchrun = ["-m", "torch.distributed.run", "--nproc-per-node", str(processes)]
    began = time.perf_counter()
    subprocess.run(
        [sys.executable, *(torchrun if processes > 1 else []), *command, "--out", str(out)],
        check=True, capture_output=True, env={**os.environ, "OMP_NUM_THREADS": "1"},
    )  # fmt: skip
    return time.perf_counter() - began


def step_seconds(batch: int = 128, source: int = 60, target: int = 10) -> float:
    """Seconds of a training step of a TP-Transformer of the paper's size, on one thread."""
    model: Any = build({"preset": "tp-transformer"})
    optimizer = torch.optim.Adam(model.parameters(), fused=True)
    sides = [torch.randint(4, 70, (batch, length)) for length in (source, target)]
    times = []
    for _ in range(2):
        began = time.perf_counter()
        model(sides[0], sides[1]).logsumexp(-1).mean().backward()
        optimizer.step()
        optimizer.zero_grad()
        times.append(time.perf_counter() - began)
    return min(times)


def forward_rate(batch: int = 64, source: int = 60, target: int = 10) -> float:
    """Questions a second through a TP-Transformer of the paper's size, on one thread."""
    model: Any = build({"preset": "tp-transformer"}).eval()
    sides = [torch.randint(4, 70, (batch, length)) for length in (source, target)]
    with torch.no_grad():
        began = time.perf_counter()
        model(*sides)
        return batch / (time.perf_counter() - began)


def plans(forward: float, step: float) -> list[str]:
    """What three large runs take, a line each."""
    questions, tokens = 120e6, 60.0
    role = 6 * 8 * 64 * 2  # six layers of eight heads of 64, in bytes of float16
    disk = questions * tokens * role / 1e12
    steps = 1.7e6
    flop, wide, layers, n_tokens = 2 * 8e9, 4096, 32, 1e9
    gpu = 0.4 * 990e12  # 40 % of an H100's dense bfloat16 rate, by its data sheet
    return [
        f"| 120M questions through 49M weights, roles of six layers kept as float16 | {questions / forward / DAY:,.0f} core-days | {disk:,.1f} TB |",
        f"| 1.7M training steps of 128 questions | {steps * step / DAY:,.0f} core-days | – |",
        f"| 8B weights over 10⁹ tokens, one layer's hidden state as bfloat16 | {flop * n_tokens / gpu / 3600:,.1f} hours of an H100 (data sheet) | {wide * 2 * n_tokens / 1e12:,.1f} TB |",
        f"| the same, all {layers} layers | the same | {layers * wide * 2 * n_tokens / 1e12:,.0f} TB |",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--questions", type=int, default=40_000)
    questions = parser.parse_args().questions
    torch.set_num_threads(1)
    print("| processes | seconds | times as fast |\n|---|---:|---:|")
    with tempfile.TemporaryDirectory() as folder:
        one_process = seconds_of(1, questions, Path(folder))
        print(f"| 1 | {one_process:.1f} | 1.00× |")
        for processes in (2, 4):
            seconds = seconds_of(processes, questions, Path(folder))
            print(f"| {processes} | {seconds:.1f} | {one_process / seconds:.2f}× |")
    forward, step = forward_rate(), step_seconds()
    print("\n| paper's size, one core | rate |\n|---|---:|")
    print(
        f"| questions a second, forward | {forward:.1f} |\n| seconds of a step of 128 | {step:.1f} |"
    )
    print("\n| plan | time | disk |\n|---|---:|---:|")
    print("\n".join(plans(forward, step)))


if __name__ == "__main__":
    main()
