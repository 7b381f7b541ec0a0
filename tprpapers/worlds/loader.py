"""What the entry points of ``tprprobe.data`` load: a world's data sets by name."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tprprobe.data.dataset import Dataset, Request


@dataclass(frozen=True)
class Loader:
    """A world, called with a data set's name and options; ``pin_version`` is a name with its version."""

    draw: Callable[[Request], Dataset]
    pin_version: Callable[[str], str] = str

    def __call__(self, name: str, **options: Any) -> Dataset:
        return self.draw(Request(name, **options))
