"""Questions of the Mathematics Dataset, and the names of its modules and splits."""

from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tprpapers.worlds.mathematics.generator import LEVELS, samplers, samples
from tprpapers.worlds.parallel_draws import make
from tprprobe.data.dataset import Dataset, Labels, Request
from tprprobe.errors import InputError, unknown

SUFFIXES = ("", "_big", "_longer", "_more", "_more_samples")  # of the extrapolating modules

ModuleSplit = tuple[str, str]  # module, split


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

    def labels(self, _text: str | None) -> Labels:
        """No labels: the words of a question are not known."""
        return None, None


def levels(split: str) -> Sequence[str]:
    """The splits that a split consists of: `train` mixes easy, medium and hard evenly."""
    return tuple(LEVELS) if split == "train" else (split,)


def modules() -> tuple[str, ...]:
    return tuple(samplers("interpolate"))


def select_module_splits(
    selection: str, split: str, available: Callable[[str], Collection[str]]
) -> tuple[ModuleSplit, ...]:
    """The modules that `a`, `a+b` or `all` names in a split, chosen from those ``available``."""
    splits, selected = levels(split), _select_modules(selection)
    # in `extrapolate`, `arithmetic__mixed` becomes its `_longer` form
    suffixes, present = SUFFIXES if split == "extrapolate" else ("",), available(splits[0])
    variants = {
        name: [name + end for end in suffixes if name + end in present] for name in modules()
    }
    lacking = [module for module in selected if not variants[module]]
    if lacking and selection != "all":
        names = ", ".join(module for module in variants if variants[module])
        raise InputError(f"{lacking[0]} has no split {split!r}; these modules have it: {names}")
    return tuple((name, level) for level in splits for m in selected for name in variants[m])


def _select_modules(selection: str) -> Sequence[str]:
    selected = modules() if selection == "all" else selection.split("+")
    for module in selected:
        full = [name for name in modules() if name.endswith(f"__{module}")]
        if module not in modules() and len(full) == 1:
            raise InputError(f"unknown module {module!r}; write its full name, {full[0]!r}")
        if module not in modules():
            raise unknown("module", module, [*modules(), "all"])
    if len(set(selected)) < len(selected):
        raise InputError(f"a module is named twice in {selection!r}; name every module once")
    return selected


NAME = "mathematics"
SPLITS = (*LEVELS, "train", "interpolate", "extrapolate", "small", "small-test")


@dataclass(frozen=True, repr=False)
class Generated(Dataset[Question]):
    """Questions generated when they are read; row i is number i // k of part i % k of the k parts."""

    module_splits: tuple[ModuleSplit, ...]
    workers: int

    def read(self, rows: Sequence[int]) -> Iterator[Question]:
        return make(partial(_generate, self.module_splits, self.seed), rows, self.workers)


def _generate(
    module_splits: Sequence[ModuleSplit], seed: int, rows: Sequence[int]
) -> list[Question]:
    requests = [
        (*module_splits[row % len(module_splits)], row // len(module_splits)) for row in rows
    ]
    pairs = samples(requests, seed)
    return [Question(*pair, request[0]) for pair, request in zip(pairs, requests, strict=True)]


def generate_questions(request: Request) -> Generated:
    """The generated data set; by default 1,000 questions of `interpolate`.

    `train` mixes the three difficulties evenly, a mix its modules. `small` and `small-test` exist
    for arithmetic only; no question of `small-test` is in `small` or in a training split.
    """
    split = request.split or "interpolate"
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    module_splits = select_module_splits(request.spec.removeprefix(f"{NAME}:"), split, samplers)
    rows = range(request.n or 1000)
    return Generated(request.spec, split, request.seed, rows, module_splits, request.workers)
