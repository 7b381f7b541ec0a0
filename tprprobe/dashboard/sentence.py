"""Statements: a sentence with numbers, links to the pages that show what it names, and examples."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Link:
    """A page with its choices: ``query`` is what its address says."""

    told: str
    page: str
    query: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Statement:
    """A sentence, the pages that show what it names, and examples."""

    text: str
    links: tuple[Link, ...] = ()
    examples: tuple[str, ...] = ()

    def __str__(self) -> str:
        return self.text
