"""Questions of the Mathematics Dataset, and the names of its modules and splits."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass

from tprprobe.data.dataset import Labels
from tprprobe.data.mathematics.generator import LEVELS, MAX_ANSWER, MAX_QUESTION, samplers
from tprprobe.errors import InputError, unknown

SUFFIXES = ("", "_big", "_longer", "_more", "_more_samples")  # of the extrapolating modules
LIMITS = {"question": MAX_QUESTION, "answer": MAX_ANSWER}

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
    """The 56 modules, as `area__module`."""
    return tuple(samplers("interpolate"))


def parts(
    selection: str, split: str, available: Callable[[str], Collection[str]]
) -> tuple[Part, ...]:
    """The modules that `a`, `a+b` or `all` names in a split, chosen from those ``available``."""
    splits = levels(split)
    wanted = _chosen(selection)
    having = {module: _within(module, split, available(splits[0])) for module in modules()}
    lacking = [module for module in wanted if not having[module]]
    if lacking and selection != "all":
        names = ", ".join(module for module in having if having[module])
        raise InputError(f"{lacking[0]} has no split {split!r}; these modules have it: {names}")
    return tuple((name, level) for level in splits for m in wanted for name in having[m])


def _within(module: str, split: str, available: Collection[str]) -> list[str]:
    """The module's names in a split; in `extrapolate`, `arithmetic__mixed` becomes its `_longer` form."""
    suffixes = SUFFIXES if split == "extrapolate" else ("",)
    return [module + suffix for suffix in suffixes if module + suffix in available]


def _chosen(selection: str) -> Sequence[str]:
    if selection == "all":
        return modules()
    chosen = selection.split("+")
    for module in chosen:
        if module not in modules():
            raise _unknown_module(module)
    if len(set(chosen)) < len(chosen):
        raise InputError(f"a module is named twice in {selection!r}; name every module once")
    return chosen


def _unknown_module(module: str) -> InputError:
    full = [name for name in modules() if name.endswith(f"__{module}")]
    if len(full) == 1:
        return InputError(f"unknown module {module!r}; write its full name, {full[0]!r}")
    return unknown("module", module, [*modules(), "all"])


def check_length(kind: str, text: str, where: str = "") -> None:
    """Checks that a question or answer (the kind) is short enough."""
    if len(text) > LIMITS[kind]:
        raise InputError(
            f"{where}{kind} of {len(text)} characters, at most {LIMITS[kind]} are accepted: {text!r}"
        )
