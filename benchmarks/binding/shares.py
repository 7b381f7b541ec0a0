"""``python -m benchmarks.binding.shares``: do shares of variance hold what they say?

Nulls that bind nothing and planted effects are drawn anew by seed; a run that was cut off goes on.
"""

import sys
import time
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Annotated

import numpy as np
import pandas as pd
import typer

from benchmarks.binding.effects import plant, plant_in_mean, split_halves
from benchmarks.binding.nulls import NULLS, draw_null, draw_sequences, read_sentences
from benchmarks.binding.structure import Array
from tprprobe.analyses.decomposition.binding_claims import MIN_SHARE
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.components import BINDINGS, BindingComponents
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.files.runs import KeptRun
from tprprobe.statistics import Interval, wilson

MANIFEST, VERSION = "shares.json", 2
SHARES = (0.0, 0.002, 0.005, 0.01, 0.02, 0.05)
IN_MEAN = (
    0.03,
    0.1,
)  # of a mean of words in the order of real text; what of it the bag predicts is not known
SIZES, VOCABULARIES = (400, 1500, 10_000), (8, 300, 5000)
MAX_SPLIT = 400  # pairs that split halves can fit
CHUNK = 10  # draws of a part of the run
RANDOM, REAL = "random order", "order of real text"
N_NULL, REPEATS = 956, 4  # sequences of a null; how often a document repeats one of them


def run(
    out: Path, draws: int, seed: int, data: Path | None, cells: str, report: Callable
) -> pd.DataFrame:
    """A row for every draw of every cell whose name has ``cells`` in it, of ``draws`` draws."""
    kept = KeptRun.open(out, {"version": VERSION, "seed": seed}, True, MANIFEST, MANIFEST)
    chosen = {name: measure for name, measure in list_cells(data).items() if cells in name}
    if not chosen:
        raise InputError(f"no cell has {cells!r} in its name: {', '.join(list_cells(data))}")
    rows = []
    for start in range(0, draws, CHUNK):
        for name, measure in chosen.items():
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
    real = {f"{share:.3f} in a mean, {REAL}": partial(_effect_in_mean, share, sentences)
            for share in IN_MEAN if sentences}  # fmt: skip
    return nulls | real | effects


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


def _effect_in_mean(share: float, sentences: list, rng: np.random.Generator) -> list[dict]:
    states = plant_in_mean(rng, sentences, share)
    return _row("components", np.nan, _fit, counts_of(sentences), states)


def counts_of(sequences: list[np.ndarray]) -> PairCounts:
    """The pairs of words with their places from the left."""
    return PairCounts.from_bindings([[(int(word), place) for place, word in enumerate(words)] for words in sequences])  # fmt: skip


def _fit(counts: PairCounts, states: Array, groups: Array | None = None) -> Interval:
    return BindingComponents(steps=[BINDINGS]).fit(counts, states, groups).bindings_


def _row(
    method: str, share: float, measure: Callable[..., Interval], *inputs: object
) -> list[dict]:
    begun = time.process_time()
    found = measure(*inputs)
    seconds = time.process_time() - begun
    return [{"method": method, "truth": share, "estimate": found.value, "low": found.low, "high": found.high, "seconds": seconds}]  # fmt: skip


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """Per cell and method: the mean estimate, how many intervals hold the truth, and how many lie above what is called binding."""
    table = []
    for (cell, method), of in rows.groupby(["cell", "method"], sort=False):
        is_known = of["truth"].notna()
        held = (of["low"] <= of["truth"]) & (of["truth"] <= of["high"])
        covered = wilson(int(held.sum()), int(is_known.sum()))
        claimed = wilson(int((of["low"] > MIN_SHARE).sum()), len(of))
        table.append({"cell": cell, "method": method, "draws": len(of), "truth": of["truth"].iloc[0],
                      "estimate": of["estimate"].mean(), "error": of["estimate"].std() / np.sqrt(len(of)),
                      **claimed.columns("claimed"), **covered.columns("covered"),
                      "seconds": of["seconds"].mean()})  # fmt: skip
    return pd.DataFrame(table)


def main(
    out: Annotated[Path, typer.Option(help="Where draws are kept.")] = Path("runs/shares"),
    draws: Annotated[int, typer.Option(min=1, help="Draws of every cell.")] = 20,
    seed: Annotated[int, typer.Option(help="Of all draws; tests use others.")] = 0,
    data: Annotated[
        Path | None, typer.Option(help="The folder that has ewt/, for the order of real text.")
    ] = None,
    cells: Annotated[
        str, typer.Option(help="A part of the names of the cells that are measured.")
    ] = "",
) -> None:
    """Measure how often shares of variance claim bindings, and whether their intervals hold the truth."""
    rows = run(out, draws, seed, data, cells, lambda line: typer.echo(line, err=True))
    typer.echo(summarize(rows).round(4).to_string(index=False))


if __name__ == "__main__":
    try:
        typer.run(main)
    except InputError as error:
        sys.exit(f"benchmarks.binding.shares: {error}")
