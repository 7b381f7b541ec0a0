"""What figures are made of, and what makes one: the door of plug-ins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Input:
    """What figures are made of: its description, its loader, what finds it in folders, what is there by default."""

    text: str
    load: Callable[..., object]
    find: Callable[[Sequence[Path]], Sequence[Path]]
    default: Sequence[str] | None = None


@dataclass(frozen=True)
class Maker:
    """What makes a figure: a function whose keywords are inputs, loaded, and options.

    Of a store it is made where the store holds ``sites``, patterns (or several, divided by ``|``) that each name at least one, ``labels`` of words, and
    where ``questions`` is true, questions of mathematics. ``inputs`` are those beside INPUTS, by name.
    ``like`` names the figure of which this one is the drawing with other settings: a report has one of them.
    """

    make: Callable[..., Any]
    sites: tuple[str, ...] = ()
    questions: bool = False
    labels: tuple[str, ...] = ()
    inputs: Mapping[str, Input] = field(default_factory=dict)
    like: str = ""
