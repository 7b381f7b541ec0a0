"""Questions of the Mathematics Dataset, and how its modules and splits are chosen by name."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from tprprobe.data.generator import LEVELS, MAX_ANSWER, MAX_QUESTION
from tprprobe.errors import InputError, unknown

SUFFIXES = ("", "_big", "_longer", "_more", "_more_samples")  # of the extrapolating modules


@dataclass(frozen=True, slots=True)
class Question:
    """A question with its answer, and the module that asks it."""

    question: str
    answer: str
    module: str

    @property
    def source(self) -> str:
        return self.question

    @property
    def target(self) -> str:
        return self.answer


def levels(split: str) -> Sequence[str]:
    """The splits that a split consists of: `train` is easy, medium and hard mixed evenly."""
    return tuple(LEVELS) if split == "train" else (split,)


def extrapolation(module: str, available: Collection[str]) -> list[str]:
    """The modules that extrapolate a module: `arithmetic__mixed` → `arithmetic__mixed_longer`."""
    return [module + suffix for suffix in SUFFIXES if module + suffix in available]


def chosen(selection: str, accepted: Sequence[str]) -> list[str]:
    """The modules that `a`, `a+b` or `all` means.

    Raises: InputError for a module that is unknown or named twice.
    """
    if selection == "all":
        return list(accepted)
    modules = selection.split("+")
    for module in modules:
        if module not in accepted:
            raise _unknown_module(module, accepted)
    if len(set(modules)) < len(modules):
        raise InputError(f"a module is named twice in {selection!r}; name every module once")
    return modules


def _unknown_module(module: str, accepted: Sequence[str]) -> InputError:
    full = [name for name in accepted if name.endswith(f"__{module}")]
    if len(full) == 1:
        return InputError(f"unknown module {module!r}; write its full name, {full[0]!r}")
    return unknown("module", module, [*accepted, "all"])


def too_long(question: str, answer: str) -> str | None:
    """What is wrong with the length of a question or answer, if anything is."""
    if len(question) > MAX_QUESTION:
        return f"a question of {len(question)} characters, at most {MAX_QUESTION} are accepted"
    if len(answer) > MAX_ANSWER:
        return f"an answer of {len(answer)} characters, at most {MAX_ANSWER} are accepted"
    return None
