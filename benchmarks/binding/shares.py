"""Do shares of variance hold what they say? Nulls that bind nothing, and planted effects, drawn anew by seed; a run goes on."""

import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.binding.effects import plant, split_halves
from benchmarks.binding.nulls import NULLS, draw_null, draw_sequences, read_sentences
from benchmarks.binding.structure import Array
from tprprobe.estimators.bindings.components import BindingComponents
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.files.runs import KeptRun
from tprprobe.statistics import Interval, wilson

MANIFEST, VERSION = "shares.json", 1
SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
SIZES, VOCABULARIES = (400, 1500, 10_000), (8, 300, 5000)
MAX_SPLIT = 400  # pairs that split halves can fit
CHUNK = 10  # draws of a part of the run
RANDOM, REAL = "random order", "order of real text"
N_NULL, REPEATS = 956, 4  # sequences of a null; how often a document repeats one of them


def run(out: Path, draws: int, seed: int, data: Path | None, report: Callable) -> pd.DataFrame:
    """A row for every draw of every cell, of ``draws`` draws."""
    kept = KeptRun.open(out, {"version": VERSION, "seed": seed}, True, MANIFEST, MANIFEST)
    rows = []
    for start in range(0, draws, CHUNK):
        for name, measure in list_cells(data).items():
            key = f"{name}-{start}".replace(" ", "_").replace("×", "x")
            part = kept.part(key, partial(_measure, measure, name, seed, range(start, start + CHUNK)))  # fmt: skip
            begun = time.process_time()
            part.finish()
            rows.append(part.read("draws"))
            report(f"{name}, draws from {start}: {time.process_time() - begun:.0f} s")
    return pd.concat(rows, ignore_index=True)


def _measure(measure: Callable, name: str, seed: int, draws: range) -> dict[str, pd.DataFrame]:
    rows = [{"cell": name, "draw": draw, **row} for draw in draws
            for row in measure(np.random.default_rng((seed, draw, zlib.crc32(name.encode()))))]  # fmt: skip
    return {"draws": pd.DataFrame(rows)}


def list_cells(data: Path | None) -> dict[str, Callable[[np.random.Generator], list[dict]]]:
    """What is drawn, by name."""
    sentences = read_sentences(data) if data else None
    orders = (RANDOM,) if sentences is None else (RANDOM, REAL)
    names = (*NULLS, "repeated documents")
    nulls = {f"{null}, {order}": partial(_null, null, sentences if order == REAL else None)
             for order in orders for null in names}  # fmt: skip
    effects = {f"{share:.3f}, {n} sequences, {n_words} words": partial(_effect, share, n, n_words)
               for n in SIZES for n_words in VOCABULARIES for share in SHARES}  # fmt: skip
    return nulls | effects


def _null(null: str, sentences: list | None, rng: np.random.Generator) -> list[dict]:
    sequences = sentences or draw_sequences(rng, N_NULL, 300, longest=12)
    groups, n_words = None, 1 + max(int(words.max()) for words in sequences)
    if null == "repeated documents":
        groups = np.repeat(np.arange(len(sequences) // REPEATS), REPEATS)
        sequences = [sequences[REPEATS * group] for group in groups]
        states = draw_null("hash", rng, sequences, n_words)
    else:
        states = draw_null(null, rng, sequences, n_words)
    return _row("components", 0.0, _fit, counts_of(sequences), states, groups)


def _effect(share: float, n: int, n_words: int, rng: np.random.Generator) -> list[dict]:
    zipf = n_words > VOCABULARIES[0]
    sequences = draw_sequences(rng, n, n_words, zipf)
    states, counts = plant(rng, sequences, n_words, zipf, share), counts_of(sequences)
    rows = _row("components", share, _fit, counts, states)
    if len(counts.filler_of) < MAX_SPLIT:
        rows += _row("split halves", share, partial(split_halves, rng=rng), counts, states)
    return rows


def counts_of(sequences: list[np.ndarray]) -> PairCounts:
    """The pairs of words with their places from the left."""
    return PairCounts.from_bindings([[(int(word), place) for place, word in enumerate(words)] for words in sequences])  # fmt: skip


def _fit(counts: PairCounts, states: Array, groups: Array | None = None) -> Interval:
    return BindingComponents().fit(counts, states, groups).bindings_


def _row(
    method: str, share: float, measure: Callable[..., Interval], *inputs: object
) -> list[dict]:
    begun = time.process_time()
    found = measure(*inputs)
    seconds = time.process_time() - begun
    return [{"method": method, "truth": share, "estimate": found.value, "low": found.low, "high": found.high, "seconds": seconds}]  # fmt: skip


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cell and method: the mean estimate, how many intervals hold the truth, and how many lie above 0."""
    table = []
    for (cell, method), of in rows.groupby(["cell", "method"], sort=False):
        covered = wilson(int(((of["low"] <= of["truth"]) & (of["truth"] <= of["high"])).sum()), len(of))  # fmt: skip
        claimed = int((of["low"] > 0).sum())
        table.append({"cell": cell, "method": method, "draws": len(of), "truth": of["truth"].iloc[0],
                      "estimate": of["estimate"].mean(), "error": of["estimate"].std() / np.sqrt(len(of)),
                      "covered": covered.value, "covered_low": covered.low, "covered_high": covered.high,
                      "claimed": claimed / len(of), "seconds": of["seconds"].mean()})  # fmt: skip
    return pd.DataFrame(table)
