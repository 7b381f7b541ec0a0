"""``python -m benchmarks.binding.shares``: do shares of variance hold what they say?

Nulls that bind nothing and planted effects are drawn anew by seed; a run that was cut off goes on.
"""

import sys
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import pandas as pd
import typer

from benchmarks.binding.effects import plant, plant_in_mean, split_halves
from benchmarks.binding.nulls import (
    NULLS,
    draw_null,
    draw_sentences,
    draw_sequences,
    read_sentences,
)
from benchmarks.binding.structure import Array
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.components import BINDINGS, Steps, narrow
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.files.runs import KeptRun
from tprprobe.statistics import Interval, wilson

MANIFEST, VERSION = "shares.json", 7
SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
# of a mean of words in the order of real text; what of it the bag predicts is not known
IN_MEAN = (0.03, 0.1)
SIZES, VOCABULARIES = (400, 1500, 10_000), (8, 300, 5000)
MAX_SPLIT = 400  # pairs that split halves can fit
CHUNK = 10  # draws of a part of the run, of the same sequences
REPEATED = "repeated documents"
Cell = Callable[[np.random.Generator, int], Iterable[dict]]
Out = Annotated[Path, typer.Option(help="Where draws are kept.")]
Draws = Annotated[int, typer.Option(min=1, help="Draws of every cell.")]
Seed = Annotated[int, typer.Option(help="Of all draws; tests use others.")]
Part = Annotated[str, typer.Option(help="A part of the names of the cells that are measured.")]
RANDOM, REAL = "random order", "order of real text"
N_NULL, REPEATS = 956, 4  # sequences of a null; how often a document repeats one of them
SAME = 5  # draws of a null in the same sequences: the interval is one of new texts


def run(
    folder: KeptRun, cells: Mapping[str, Cell], part: str, draws: int, seed: int, chunk: int = 1
) -> pd.DataFrame:
    """A row for every draw of every cell whose name has ``part`` in it; draws of a chunk have one generator."""
    selected = {name: measure for name, measure in cells.items() if part in name}
    if not selected:
        raise InputError(f"no cell has {part!r} in its name: {', '.join(cells)}")
    rows = []
    for start in range(0, draws, chunk):
        for name, measure in selected.items():
            key = f"{name}-{start}".replace(" ", "_").replace("×", "x")
            numbers = range(start, start + chunk)
            job = folder.part(key, partial(_measure, measure, name, seed, numbers))
            begun = time.process_time()
            job.finish()
            rows.append(job.read("draws"))
            typer.echo(f"{name}, draws from {start}: {time.process_time() - begun:.0f} s", err=True)
    return pd.concat(rows, ignore_index=True)


def _measure(measure: Cell, name: str, seed: int, draws: range) -> dict[str, pd.DataFrame]:
    rng = np.random.default_rng((seed, draws.start, zlib.crc32(name.encode())))
    rows = [{"cell": name, **row, "draw": draws.start + row["draw"]} for row in measure(rng, len(draws))]  # fmt: skip
    return {"draws": pd.DataFrame(rows)}


@dataclass(frozen=True, eq=False)
class Sample:
    """Sequences in which any states are measured."""

    sequences: list[np.ndarray]
    repeats: int = 1  # units of every sequence, which are one group

    @cached_property
    def counts(self) -> PairCounts:
        """The pairs of words with their places from the left."""
        return counts_of(self.sequences)

    @cached_property
    def steps(self) -> Steps:
        """What measures states."""
        groups = np.repeat(np.arange(len(self.sequences) // self.repeats), self.repeats)
        return Steps([self.counts], groups, 0)

    @property
    def n_words(self) -> int:
        """The number of words."""
        return 1 + max(int(words.max()) for words in self.sequences)

    def measure(self, states: Array) -> Interval:
        """The share of bindings."""
        return self.steps.measure(BINDINGS, narrow(states, 0))


def list_cells(data: Path | None) -> dict[str, Cell]:
    """What is drawn, by name: a function of a generator and of the number of draws that gives their rows."""
    sentences = read_sentences(data) if data else []
    orders = {RANDOM: [], REAL: sentences} if sentences else {RANDOM: []}
    nulls = {f"{null}, {order}": partial(_null, null, sentences)
             for order, sentences in orders.items() for null in (*NULLS, REPEATED)}  # fmt: skip
    effects = {f"{share:.3f}, {n} sequences, {n_words} words": partial(_effect, share, n, n_words)
               for n in SIZES for n_words in VOCABULARIES for share in SHARES}  # fmt: skip
    in_mean = {f"{share:.3f} in a mean, {REAL}": partial(_effect_in_mean, share, sentences)
               for share in IN_MEAN if sentences}  # fmt: skip
    cells: dict[str, Any] = nulls | in_mean | effects
    return cells


def _draw_samples(
    rng: np.random.Generator, sentences: Sequence[tuple[str, ...]], repeats: int, n: int
) -> Iterator[tuple[int, Sample]]:
    """The numbers of draws, each with its sample of sentences, or of words in random order."""
    sample = None
    for draw in range(n):
        if sample is None or draw % SAME == 0:
            n_different = N_NULL // repeats
            sequences = draw_sentences(rng, sentences, n_different) if sentences else draw_sequences(rng, n_different, 300, longest=12)  # fmt: skip
            sample = Sample([words for words in sequences for _ in range(repeats)], repeats)
        yield draw, sample


def _null(
    null: str, sentences: Sequence[tuple[str, ...]], rng: np.random.Generator, n: int
) -> Iterator[dict]:
    is_repeated = null == REPEATED
    for draw, sample in _draw_samples(rng, sentences, REPEATS if is_repeated else 1, n):
        states = draw_null("hash" if is_repeated else null, rng, sample.sequences, sample.n_words)
        yield _row(draw, "components", 0.0, sample.measure, states)


def _effect(share: float, n: int, n_words: int, rng: np.random.Generator, n_draws: int) -> Iterator[dict]:  # fmt: skip
    zipf = n_words > VOCABULARIES[0]
    sample = Sample(draw_sequences(rng, n, n_words, zipf))
    for draw in range(n_draws):
        states = plant(rng, sample.sequences, n_words, zipf, share)
        yield _row(draw, "components", share, sample.measure, states)
        if len(sample.counts.filler_of) < MAX_SPLIT and n < SIZES[-1]:
            yield _row(draw, "split halves", share, partial(split_halves, sample.counts, rng=rng), states)  # fmt: skip


def _effect_in_mean(
    share: float, sentences: Sequence[tuple[str, ...]], rng: np.random.Generator, n: int
) -> Iterator[dict]:
    for draw, sample in _draw_samples(rng, sentences, 1, n):
        states = plant_in_mean(rng, sample.sequences, share)
        yield _row(draw, "components", np.nan, sample.measure, states)


def counts_of(sequences: list[np.ndarray]) -> PairCounts:
    """The pairs of words with their places from the left."""
    return PairCounts.from_bindings([[(int(word), place) for place, word in enumerate(words)] for words in sequences])  # fmt: skip


def _row(draw: int, method: str, share: float, measure: Callable[..., Interval], states: Array) -> dict:  # fmt: skip
    begun = time.process_time()
    interval = measure(states=states)
    seconds = time.process_time() - begun
    return {"draw": draw, "method": method, "truth": share, "estimate": interval.value, "low": interval.low, "high": interval.high, "seconds": seconds}  # fmt: skip


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cell and method: the mean estimate, how many intervals hold the truth, and how many lie above 0."""
    table = []
    for (cell, method), frame in rows.groupby(["cell", "method"], sort=False):
        is_known = frame["truth"].notna()
        is_covered = (frame["low"] <= frame["truth"]) & (frame["truth"] <= frame["high"])
        covered = wilson(int(is_covered.sum()), int(is_known.sum()))
        claimed = wilson(int((frame["low"] > 0).sum()), len(frame))
        table.append({"cell": cell, "method": method, "draws": len(frame), "truth": frame["truth"].iloc[0],
                      "estimate": frame["estimate"].mean(), "error": frame["estimate"].std() / np.sqrt(len(frame)),
                      **claimed.columns("claimed"), **covered.columns("covered"),
                      "seconds": frame["seconds"].mean()})  # fmt: skip
    return pd.DataFrame(table)


def main(
    out: Out = Path("runs/shares"),
    draws: Draws = 20,
    seed: Seed = 0,
    data: Annotated[
        Path | None, typer.Option(help="The folder that has ewt/, for the order of real text.")
    ] = None,
    cells: Part = "",
) -> None:
    """Measure how often shares of variance claim bindings, and whether their intervals hold the truth."""
    folder = KeptRun.open(out, {"version": VERSION, "seed": seed}, True, MANIFEST, MANIFEST)
    rows = run(folder, list_cells(data), cells, draws, seed, CHUNK)
    typer.echo(summarize(rows).round(4).to_string(index=False))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding.shares: {error}")
