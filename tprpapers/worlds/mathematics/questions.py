"""Questions of the Mathematics Dataset, and the names of its modules and splits."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tprpapers.worlds.mathematics.generator import LEVELS, samplers, samples
from tprpapers.worlds.parallel_draws import make
from tprprobe.data.dataset import Dataset, Labels, Request
from tprprobe.errors import InputError, unknown

SUFFIXES = ("", "_big", "_longer", "_more", "_more_samples")  # of the extrapolating modules

Part = tuple[str, str]  # module, split


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer, and its module."""

    question: str
    answer: str
    module: str
    has_one_answer, document_name = True, None

    @property
    def source(self) -> str:
        return self.question

    @property
    def target(self) -> str:
        return self.answer

    def labels(self, _written: str | None) -> Labels:
        """No labels: the words of a question are not known."""
        return None, None


def levels(split: str) -> Sequence[str]:
    """The splits that a split consists of: `train` mixes easy, medium and hard evenly."""
    return tuple(LEVELS) if split == "train" else (split,)


def modules() -> tuple[str, ...]:
    return tuple(samplers("interpolate"))


def parts(
    selection: str, split: str, available: Callable[[str], Collection[str]]
) -> tuple[Part, ...]:
    """The modules that `a`, `a+b` or `all` names in a split, chosen from those ``available``."""
    splits, wanted = levels(split), _chosen(selection)
    # in `extrapolate`, `arithmetic__mixed` becomes its `_longer` form
    suffixes, there = SUFFIXES if split == "extrapolate" else ("",), available(splits[0])
    having = {name: [name + end for end in suffixes if name + end in there] for name in modules()}
    lacking = [module for module in wanted if not having[module]]
    if lacking and selection != "all":
        names = ", ".join(module for module in having if having[module])
        raise InputError(f"{lacking[0]} has no split {split!r}; these modules have it: {names}")
    return tuple((name, level) for level in splits for m in wanted for name in having[m])


def _chosen(selection: str) -> Sequence[str]:
    chosen = modules() if selection == "all" else selection.split("+")
    for module in chosen:
        full = [name for name in modules() if name.endswith(f"__{module}")]
        if module not in modules() and len(full) == 1:
            raise InputError(f"unknown module {module!r}; write its full name, {full[0]!r}")
        if module not in modules():
            raise unknown("module", module, [*modules(), "all"])
    if len(set(chosen)) < len(chosen):
        raise InputError(f"a module is named twice in {selection!r}; name every module once")
    return chosen


NAME = "mathematics"
SPLITS = (*LEVELS, "train", "interpolate", "extrapolate", "small", "small-test")


@dataclass(frozen=True, repr=False)
class Generated(Dataset[Question]):
    """Questions generated when they are read; row i is number i // k of part i % k of the k parts."""

    parts: tuple[Part, ...]
    workers: int

    def read(self, rows: range) -> Iterator[Question]:
        return make(partial(_generate, self.parts, self.seed), rows, self.workers)


def _generate(parts: Sequence[Part], seed: int, rows: range) -> list[Question]:
    wanted = [(*parts[row % len(parts)], row // len(parts)) for row in rows]
    drawn = samples(wanted, seed)
    return [Question(*pair, part[0]) for pair, part in zip(drawn, wanted, strict=True)]


def generate_questions(request: Request) -> Generated:
    """The generated data set; by default 1,000 questions of `interpolate`.

    `train` mixes the three difficulties evenly, a mix its modules. `small` and `small-test` exist
    for arithmetic only; no question of `small-test` is in `small` or in a training split.
    """
    split = request.split or "interpolate"
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    asked = parts(request.spec.removeprefix(f"{NAME}:"), split, samplers)
    rows = range(request.n or 1000)
    return Generated(request.spec, split, request.seed, rows, asked, request.workers)
