"""The Mathematics Dataset, generated: nothing to download; one seed always gives the same
questions.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from tprprobe.data.dataset import Dataset, Request
from tprprobe.data.generated import make
from tprprobe.data.mathematics.generator import LEVELS, samplers, samples
from tprprobe.data.mathematics.questions import Part, Question, parts
from tprprobe.errors import unknown

PREFIX = "mathematics:"
SPLITS = (*LEVELS, "train", "interpolate", "extrapolate", "small", "small-test")


@dataclass(frozen=True)
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


def is_generated(spec: str) -> bool:
    """True if a data set is to be generated: `mathematics:` and a module, `a+b` or `all`."""
    return spec.startswith(PREFIX)


def generate_questions(request: Request) -> Generated:
    """The generated data set; by default 1,000 questions of `interpolate`.

    `train` mixes the three difficulties evenly, a mix its modules. `small` and `small-test` exist
    for arithmetic only; no question of `small-test` is in `small` or in a training split.
    """
    split = request.split or "interpolate"
    if split not in SPLITS:
        raise unknown("split", split, SPLITS)
    asked = parts(request.spec.removeprefix(PREFIX), split, samplers)
    rows = range(request.n or 1000)
    return Generated(request.spec, split, request.seed, rows, asked, request.workers)
