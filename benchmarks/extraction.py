"""Extraction of all encoder roles: tokens a second beside the bare forward pass, and peak memory.

    python benchmarks/extraction.py [--rounds 5] [--memory]

The bare pass makes the same batches of the same encoded questions and keeps nothing; freed memory is kept in
this process for both, as the command does. A freshly
built model of paper size is given as an attached module, which is not asked for answers: what an
untrained model writes would take longer than what is measured here.
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch

from tprprobe.cli.process import keep_freed_memory
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_pairs
from tprprobe.data.vocabularies.characters import characters
from tprprobe.extraction import extract
from tprprobe.extraction.passes import BATCH
from tprprobe.files.writing import write_file
from tprprobe.models import build, load_model
from tprprobe.site.attachment import attach

ROLES, TPRS = "encoder.*.self.role", "encoder.*.self.tpr"
CHECKPOINT, DATA, SPLIT = "tpt-c-arithmetic", "mathematics:arithmetic__mul", "small-test"
QUESTION_COUNTS = {1_000: "1k", 5_000: "5k", 50_000: "50k"}  # a block holds 4,096


def paper_size() -> Any:
    """A freshly built TP-Transformer of 49.2M weights, as a module that writes no answers.

    Its TPRs are as long as its roles, which only a model of ours has by head.
    """
    model: Any = build({"preset": "tp-transformer"})
    tprs = {f"encoder.{layer}.self.tpr": f"encoder.{layer}.self.tpr" for layer in range(6)}
    attached: Any = attach(model, tprs)
    attached.config, attached.vocabulary = model.config, characters()
    return attached


def bare(model: Any, data: Dataset) -> float:
    """Seconds of the forward passes alone."""
    pairs = encode_pairs(data, model.vocabulary)
    began = time.perf_counter()
    with torch.no_grad():
        for indices in pairs.by_length(BATCH):
            source, target = pairs.batch(indices, model.config.pad)
            model(source, target[:, :-1])
    return time.perf_counter() - began


def extracted(model: Any, data: Dataset, sites: str) -> float:
    """Seconds of an extraction, from texts to a finished store."""
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        extract(model, data, sites, Path(folder) / "store", attention_samples=0, control=False)
        return time.perf_counter() - began


def throughput(title: str, model: Any, data: Dataset, sites: str, rounds: int) -> str:
    """A line of the table: medians of both, run in turn; the first round is not counted."""
    tokens = len(encode_pairs(data, model.vocabulary).source.values)
    seconds_by_round = [
        (bare(model, data), extracted(model, data, sites)) for _ in range(rounds + 1)
    ][1:]
    rates = [tokens / statistics.median(seconds) for seconds in zip(*seconds_by_round, strict=True)]
    cells = f"{rates[0]:,.0f} | {rates[1]:,.0f} | {rates[1] / rates[0]:.2f}×"
    return f"| {title} | {len(data):,} | {cells} |"


def write_questions(data: Dataset, folder: str) -> None:
    """Writes questions as the Mathematics Dataset's published files have them."""
    lines = "".join(f"{example.source}\n{example.target}\n" for example in data)
    write_file(Path(folder) / "interpolate" / f"{DATA.partition(':')[2]}.txt", lines)


def measure_memory(folder: str, n: int) -> str:
    """Peak resident megabytes (Linux) of a process that extracts the first n questions of a folder."""
    code = (
        "import re, tempfile; from pathlib import Path; import tprprobe as tp\n"
        f"with tempfile.TemporaryDirectory() as folder:\n"
        f"    tp.extract(tp.load_model('{CHECKPOINT}'), tp.load_data('{folder}', n={n}), '{ROLES}',\n"
        "        Path(folder) / 'store', attention_samples=0, control=False)\n"
        "print(re.search(r'VmHWM:\\s+(\\d+)', Path('/proc/self/status').read_text())[1])"
    )
    process = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    )
    return f"| {QUESTION_COUNTS[n]} questions | {int(process.stdout) / 1024:,.0f} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--memory", action="store_true", help="only the peak memory (minutes)")
    arguments = parser.parse_args()
    keep_freed_memory()
    with tempfile.TemporaryDirectory() as folder:
        if arguments.memory:
            write_questions(load_data(DATA, split=SPLIT, n=max(QUESTION_COUNTS), workers=2), folder)
            print("| peak memory of extraction | MB |\n|---|---|")
            for n in QUESTION_COUNTS:
                print(measure_memory(folder, n), flush=True)
            return
        write_questions(load_data(DATA, split=SPLIT, n=8_000), folder)
        print("| extraction of all encoder roles | questions | bare, tokens/s | extracted | |")
        print("|---|---|---|---|---|")
        data = load_data(folder)
        print(
            throughput(CHECKPOINT, load_model(CHECKPOINT), data, ROLES, arguments.rounds),
            flush=True,
        )
        title = "49.2M weights, fresh, without answers"
        print(throughput(title, paper_size(), data[:512], TPRS, arguments.rounds), flush=True)


if __name__ == "__main__":
    main()
