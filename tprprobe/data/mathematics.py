"""The Mathematics Dataset, generated: nothing to download, the same questions for the same seed."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import islice
from multiprocessing import get_context

from tprprobe.data.dataset import Dataset
from tprprobe.data.generator import LEVELS, samplers, samples
from tprprobe.data.questions import Question, chosen, extrapolation, levels
from tprprobe.errors import InputError, unknown

PREFIX = "mathematics:"
SPLITS = (*LEVELS, "train", "interpolate", "extrapolate", "small", "small-test")
CHUNK = 32  # questions a worker makes at a time

Part = tuple[str, str]  # module, split


def modules() -> tuple[str, ...]:
    """The 56 modules, as `area__module`."""
    return tuple(samplers("interpolate"))


@dataclass(frozen=True)
class Generated(Dataset[Question]):
    """Questions made when they are read; row i is number i // k of part i % k of the k parts."""

    parts: tuple[Part, ...]
    workers: int

    def read(self, rows: range) -> Iterator[Question]:
        chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
        generate = partial(_generate, self.parts, self.seed)
        if self.workers and len(rows) > CHUNK:
            made = _in_order(generate, chunks, self.workers)
        else:
            made = map(generate, chunks)
        for questions in made:
            yield from questions


def _generate(parts: Sequence[Part], seed: int, rows: range) -> list[Question]:
    wanted = [(*parts[row % len(parts)], row // len(parts)) for row in rows]
    drawn = samples(wanted, seed)
    return [Question(*pair, part[0]) for pair, part in zip(drawn, wanted, strict=True)]


def _in_order(function: Callable, chunks: Iterator[range], workers: int) -> Iterator:
    """The function of every chunk in order, made by processes that stay a few chunks ahead."""
    with ProcessPoolExecutor(workers, get_context("spawn")) as pool:
        ahead = deque(pool.submit(function, chunk) for chunk in islice(chunks, 2 * workers))
        try:
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(function, chunk) for chunk in islice(chunks, 1))
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def generate_questions(
    spec: str, split: str | None, n: int | None, seed: int, workers: int
) -> Generated:
    """The data set that `mathematics:MODULE`, `mathematics:A+B` or `mathematics:all` means.

    Without a split `interpolate`, without n 1,000 questions. `train` mixes the three difficulties
    evenly, a mix its modules. The splits small and small-test exist for arithmetic only; no
    question of small-test is in small or in a training split.
    Raises: InputError for an unknown module or split, or one that does not have the other.
    """
    split = split or "interpolate"
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    n = 1000 if n is None else n
    if n < 1 or workers < 0:
        raise InputError(f"n = {n}, workers = {workers}; n is at least 1 and workers at least 0")
    parts = _parts(spec.removeprefix(PREFIX), split)
    return Generated(spec, split, seed, range(n), parts, workers)


def _parts(selection: str, split: str) -> tuple[Part, ...]:
    wanted = chosen(selection, modules())
    splits = levels(split)
    has = {module: _within(module, splits[0]) for module in modules()}
    lacking = [module for module in wanted if not has[module]]
    if lacking and selection != "all":
        having = ", ".join(module for module in has if has[module])
        raise InputError(f"{lacking[0]} has no split {split!r}; these have it: {having}")
    return tuple((name, level) for level in splits for module in wanted for name in has[module])


def _within(module: str, split: str) -> list[str]:
    """The names under which a split has a module: none, its own, or those that extrapolate it."""
    available = samplers(split)
    if split == "extrapolate":
        return extrapolation(module, available)
    return [module] if module in available else []
