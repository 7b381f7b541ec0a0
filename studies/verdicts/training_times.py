"""Processor time of training steps of the TPGN and of the CNN-LSTM, at the paper's sizes."""

import statistics
import time
from pathlib import Path
from typing import Any

import pandas as pd
import torch
import torch.nn.functional as F

from studies.intervals import student_mean
from tprpapers.claims import Evidence, Verdict, find_claim, judge
from tprprobe.console import stderr
from tprprobe.models import build

PRESETS = ("tpgn", "cnn-lstm")
CAPTIONS, WORDS, FEATURES, VOCABULARY = 64, 11, 2048, 8791  # a batch, a caption: huang's means
RUNS, STEPS = 3, 5  # a run is models of its own; its time is the median step


def judge_time(runs: Path) -> Verdict:
    """The verdict on the time of a step, TPGN over CNN-LSTM, with Student's interval over runs."""
    file = runs / "training-times.csv"
    if not file.is_file():
        stderr.print("timing training steps …")
        file.parent.mkdir(parents=True, exist_ok=True)
        time_steps().to_csv(file, index=False)
    timings = pd.read_csv(file)
    times = timings.pivot(index="run", columns="model", values="seconds")
    ratios = (times[PRESETS[0]] / times[PRESETS[1]]).to_numpy()
    evidence = Evidence(
        {"": student_mean(ratios)}, "run", len(ratios), conditions=frozenset({"the paper's size"})
    )
    return judge(find_claim("huang-training-time"), evidence)


def time_steps(runs: int = RUNS, steps: int = STEPS) -> pd.DataFrame:
    """run, model and seconds of processor time on one thread, the median of the steps; one more
    step, the first, is not counted. The models take turns.
    """
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        rows = [row for run in range(runs) for row in _time_run(run, steps)]
    finally:
        torch.set_num_threads(threads)
    return pd.DataFrame(rows, columns=["run", "model", "seconds"])


def _time_run(seed: int, steps: int) -> list[tuple[int, str, float]]:
    generator = torch.Generator().manual_seed(seed)
    source = torch.randn(CAPTIONS, FEATURES, generator=generator)
    target = torch.randint(4, VOCABULARY, (CAPTIONS, WORDS + 2), generator=generator)
    trained: dict[str, tuple[Any, Any]] = {}
    for name in PRESETS:
        model = build({"preset": name}, seed=seed)
        trained[name] = model, torch.optim.Adam(model.parameters())
    seconds: dict[str, list[float]] = {name: [] for name in PRESETS}
    for _ in range(steps + 1):
        for name, model_and_optimizer in trained.items():
            seconds[name].append(_step(*model_and_optimizer, source, target))
    return [(seed, name, statistics.median(durations[1:])) for name, durations in seconds.items()]


def _step(model: Any, optimizer: Any, source: torch.Tensor, target: torch.Tensor) -> float:
    """Seconds of one step: forward, cross-entropy, backward, Adam."""
    began = time.process_time()
    logits = model(source, target[:, :-1])
    F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten()).backward()
    optimizer.step()
    optimizer.zero_grad()
    return time.process_time() - began
