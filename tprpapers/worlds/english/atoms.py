"""Feature values: sets of atoms as bit masks, which agree where they share an atom."""

from collections.abc import Mapping
from functools import cache
from itertools import count

Features = Mapping[str, int]

ANY = -1  # every atom
_fresh = count()


@cache
def _bit(atom: str) -> int:
    return 1 << next(_fresh)


@cache
def mask(atoms: str) -> int:
    """The mask of `a|b|c`; `any` is every atom."""
    if atoms == "any":
        return ANY
    value = 0
    for atom in atoms.split("|"):
        value |= _bit(atom)
    return value


def features(**values: str) -> dict[str, int]:
    """Named masks."""
    return {name: mask(value) for name, value in values.items()}
