"""Edits of two words' states, and their controls: which vectors stand where after each.

Of an item, x are the states of its two words a and b at a site, y those at the same places of the other text,
in which a and b have changed places.

exchange     x_a ↔ x_b: the states change places, and with them all that they say of their words
substitute   y: the states of the other text, a word at the other's place
surgery      x + V[other word, role] − V[word, role]; V are means over the other items at a role (place)
erase        x without what tells the two places linearly, as the other half of the items has it

Controls: wrong role (the words stay, their roles change: x_a ← y_b; surgery with V of the other role; erasing
what tells shuffled places), wrong position (the same at two other tokens), random (as far in a random direction).
Of all: identity (x itself) and mean (the mean state of all words).
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.errors import unknown
from tprprobe.interventions.erasers import Eraser
from tprprobe.site.hooks import PlacedEdit

REAL, ANY = "", "any"  # the control of an edit itself; the edit of controls of all edits
IDENTITY, MEAN = "identity", "mean"
ROLE, POSITION, RANDOM = "wrong role", "wrong position", "random direction"


class Way(NamedTuple):
    """An edit, or a control of it: the states ``to`` at the positions ``at``, in the items that allow it."""

    edit: str
    control: str
    made: Bool[Tensor, " item"]
    at: Int[Tensor, "item word"]
    to: Float[Tensor, "item word *shape"]


@dataclass(frozen=True, eq=False)
class Words:
    """The states of a site at two words of every item, at two tokens beside them, and of the other text."""

    names: tuple[tuple[str, str], ...]
    at: Int[Tensor, "item word"]
    aside: Int[Tensor, "item word"]
    x: Float[Tensor, "item word *shape"]
    y: Float[Tensor, "item word *shape"]
    beside: Float[Tensor, "item word *shape"]
    other_beside: Float[Tensor, "item word *shape"]
    seed: int = 0

    @property
    def has_aside(self) -> Bool[Tensor, " item"]:
        return (self.aside >= 0).all(1)

    @property
    def all(self) -> Bool[Tensor, " item"]:
        return torch.ones(len(self.x), dtype=torch.bool)

    def turned(
        self, change: Float[Tensor, "item word *shape"]
    ) -> Float[Tensor, "item word *shape"]:
        """Random directions, as long as the changes."""
        generator = torch.Generator().manual_seed(self.seed)
        drawn = torch.randn(change.shape, generator=generator).flatten(2)
        lengths = change.flatten(2).norm(dim=-1, keepdim=True)
        return (drawn / drawn.norm(dim=-1, keepdim=True) * lengths).reshape(change.shape)


def list_ways(words: Words, edits: Sequence[str]) -> Iterator[Way]:
    """The edits of these names with their controls, and the controls of all."""
    yield Way(ANY, IDENTITY, words.all, words.at, words.x)
    mean = words.x.mean((0, 1)).expand_as(words.x)
    yield Way(ANY, MEAN, words.all, words.at, mean)
    for name in edits:
        for way in EDITS[name](words):
            yield way
            if way.control == REAL:
                to = words.x + words.turned(way.to - words.x)
                yield Way(name, RANDOM, way.made, words.at, to)


def check_edits(names: Sequence[str]) -> None:
    """Checks that there are edits of these names."""
    if strange := [name for name in names if name not in EDITS]:
        raise unknown("edit of pairs", strange[0], EDITS)


def _exchange(words: Words) -> Iterator[Way]:
    yield Way("exchange", REAL, words.all, words.at, words.x.flip(1))
    yield Way("exchange", ROLE, words.all, words.at, words.y.flip(1))
    yield Way("exchange", POSITION, words.has_aside, words.aside, words.beside.flip(1))


def _substitute(words: Words) -> Iterator[Way]:
    yield Way("substitute", REAL, words.all, words.at, words.y)
    yield Way("substitute", ROLE, words.all, words.at, words.y.flip(1))
    yield Way("substitute", POSITION, words.has_aside, words.aside, words.other_beside)


def _surgery(words: Words) -> Iterator[Way]:
    """A trial needs either word at either place in further items."""
    change, known = _changes(words, wrong=False)
    elsewhere, also = _changes(words, wrong=True)
    yield Way("surgery", REAL, known, words.at, words.x + change)
    yield Way("surgery", ROLE, known & also, words.at, words.x + elsewhere)
    yield Way("surgery", POSITION, known & words.has_aside, words.aside, words.beside + change)


def _changes(
    words: Words, wrong: bool
) -> tuple[Float[Tensor, "item word *shape"], Bool[Tensor, " item"]]:
    """V[other word, role] − V[word, role] of means over further items, and in which items they are known."""
    ids = {name: i for i, name in enumerate(dict.fromkeys(w for pair in words.names for w in pair))}
    name = torch.tensor([[ids[word] for word in pair] for pair in words.names])  # [item, word]
    role = torch.arange(2).expand_as(name)
    # either text has a state of both words: the text's own, and those of the other text, of swapped words
    cells = torch.cat([name * 2 + role, name.flip(1) * 2 + role], 1)  # [item, state]
    states = torch.cat([words.x, words.y], 1).flatten(2)
    n, flat = 2 * len(ids), cells.flatten()
    sums = torch.zeros(n, states.shape[-1]).index_add(0, flat, states.flatten(0, 1))
    counts = torch.zeros(n).index_add(0, flat, torch.ones(cells.numel()))

    def mean(cell: Tensor) -> tuple[Tensor, Tensor]:
        """The mean state of every [item, word] cell over all other items, and whether there is any."""
        here = (cells[:, None] == cell[..., None]).float()  # [item, word, state]
        n = counts[cell] - here.sum(-1)
        return (sums[cell] - here @ states) / n.clamp_min(1)[..., None], n > 0

    at = role.flip(1) if wrong else role
    (new, has_new), (old, has_old) = mean(name.flip(1) * 2 + at), mean(name * 2 + at)
    return (new - old).reshape(words.x.shape), (has_new & has_old).all(1)


def _erase(words: Words) -> Iterator[Way]:
    """Fitted on one half of the items, made in the other; it needs four items."""
    enough = words.all & (len(words.x) >= 4)
    yield Way("erase", REAL, enough, words.at, _erased(words, words.x))
    yield Way("erase", ROLE, enough, words.at, _erased(words, words.x, shuffled=True))
    aside = enough & words.has_aside
    yield Way("erase", POSITION, aside, words.aside, _erased(words, words.beside))


def _erased(
    words: Words, x: Float[Tensor, "item word *shape"], shuffled: bool = False
) -> Float[Tensor, "item word *shape"]:
    out, half = x.clone(), torch.arange(len(x)) % 2 == 0
    for fold in (half, ~half) if len(x) >= 4 else ():
        classes = torch.arange(2).bool().expand(int((~fold).sum()), 2).flatten()
        if shuffled:
            order = np.random.default_rng(words.seed).permutation(len(classes))
            classes = classes[torch.as_tensor(order)]
        out[fold] = Eraser.fit(words.x[~fold].flatten(0, 1), classes).erase(x[fold])
    return out


EDITS: dict[str, Callable[[Words], Iterator[Way]]] = {
    "exchange": _exchange,
    "substitute": _substitute,
    "surgery": _surgery,
    "erase": _erase,
}


@dataclass(frozen=True, eq=False)
class SetAt(PlacedEdit):
    """An edit to given states at two positions of every row."""

    at: Int[Tensor, "row word"]
    to: Float[Tensor, "row word *shape"]

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        if start:
            return tensor  # what is written behind the text
        out = tensor.clone()
        out[torch.arange(len(tensor))[:, None], self.at.to(tensor.device)] = self.to.to(tensor)
        return out
