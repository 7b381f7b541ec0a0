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

from tprprobe.site.hooks import PlacedEdit

REAL, ANY = "", "any"  # the control of an edit itself; the edit of controls of all edits
States = Float[Tensor, "item word *shape"]
IDENTITY, MEAN = "identity", "mean"
WRONG_ROLE, WRONG_POSITION, RANDOM_DIRECTION = "wrong role", "wrong position", "random direction"


class EditVariant(NamedTuple):
    """An edit, or a control of it: the states at the positions, in the items that allow it."""

    edit: str
    control: str
    is_possible: Bool[Tensor, " item"]
    positions: Int[Tensor, "item word"]
    states: States


# The states of an edit, those of the same with the wrong roles and at other tokens; where the first two are possible.
EditedStates = tuple[tuple[Tensor, Tensor, Tensor], Bool[Tensor, " item"], Bool[Tensor, " item"]]


@dataclass(frozen=True, eq=False)
class WordStates:
    """The states of a site at two words of every item, at two tokens beside them, and of the other text."""

    names: tuple[tuple[str, str], ...]
    positions: Int[Tensor, "item word"]
    aside: Int[Tensor, "item word"]
    x: States
    y: States
    aside_x: States
    aside_y: States
    seed: int = 0

    @property
    def all(self) -> Bool[Tensor, " item"]:
        return torch.ones(len(self.x), dtype=torch.bool)


def draw_directions(change: Float[Tensor, "row seq *shape"], generator: torch.Generator) -> Tensor:
    """Random directions, as long as the change of every position."""
    directions = torch.randn(change.shape, generator=generator).to(change).flatten(2)
    lengths = change.flatten(2).norm(dim=-1, keepdim=True)
    return (directions / directions.norm(dim=-1, keepdim=True) * lengths).reshape(change.shape)


def list_edits(words: WordStates, edits: Sequence[str]) -> Iterator[EditVariant]:
    """The edits of these names with their controls, and the controls of all."""
    yield EditVariant(ANY, IDENTITY, words.all, words.positions, words.x)
    mean = words.x.mean((0, 1)).expand_as(words.x)
    yield EditVariant(ANY, MEAN, words.all, words.positions, mean)
    for name in edits:
        (real, wrong_role, aside), is_possible, has_wrong_role = EDITS[name](words)
        yield EditVariant(name, REAL, is_possible, words.positions, real)
        generator = torch.Generator().manual_seed(words.seed)
        moved = words.x + draw_directions(real - words.x, generator)
        yield EditVariant(name, RANDOM_DIRECTION, is_possible, words.positions, moved)
        yield EditVariant(name, WRONG_ROLE, has_wrong_role, words.positions, wrong_role)
        is_aside = is_possible & (words.aside >= 0).all(1)
        yield EditVariant(name, WRONG_POSITION, is_aside, words.aside, aside)


def _surgery(words: WordStates) -> EditedStates:
    """A trial needs either word at either place in further items."""
    change, is_known = _changes(words, wrong=False)
    elsewhere, is_known_elsewhere = _changes(words, wrong=True)
    states = words.x + change, words.x + elsewhere, words.aside_x + change
    return states, is_known, is_known & is_known_elsewhere


def _changes(words: WordStates, wrong: bool) -> tuple[States, Bool[Tensor, " item"]]:
    """V[other word, role] − V[word, role] of means over further items, and in which items they are known."""
    ids = {name: i for i, name in enumerate(dict.fromkeys(w for pair in words.names for w in pair))}
    name = torch.tensor([[ids[word] for word in pair] for pair in words.names])  # [item, word]
    role = torch.arange(2).expand_as(name)
    # either text has a state of both words: the text's own, and those of the other text, of swapped words
    cells = torch.cat([name * 2 + role, name.flip(1) * 2 + role], 1)  # [item, state]
    states = torch.cat([words.x, words.y], 1).flatten(2).float()
    n, flat = 2 * len(ids), cells.flatten()
    sums = torch.zeros(n, states.shape[-1]).index_add(0, flat, states.flatten(0, 1))
    counts = torch.zeros(n).index_add(0, flat, torch.ones(cells.numel()))

    def mean(cell: Tensor) -> tuple[Tensor, Tensor]:
        """The mean state of every [item, word] cell over all other items, and whether there is any."""
        is_own = (cells[:, None] == cell[..., None]).float()  # [item, word, state]
        n = counts[cell] - is_own.sum(-1)
        return (sums[cell] - is_own @ states) / n.clamp_min(1)[..., None], n > 0

    roles = role.flip(1) if wrong else role
    new_mean, new_known = mean(name.flip(1) * 2 + roles)
    old_mean, old_known = mean(name * 2 + roles)
    return (new_mean - old_mean).reshape(words.x.shape), (new_known & old_known).all(1)


def _erase(words: WordStates) -> EditedStates:
    """Fitted on one half of the items, made in the other; it needs four items."""
    enough = words.all & (len(words.x) >= 4)
    shuffled = _erased(words, words.x, shuffled=True)
    return (_erased(words, words.x), shuffled, _erased(words, words.aside_x)), enough, enough


def _erased(words: WordStates, x: States, shuffled: bool = False) -> States:
    out, half = x.clone(), torch.arange(len(x)) % 2 == 0
    for fold in (half, ~half) if len(x) >= 4 else ():
        classes = torch.arange(2).bool().expand(int((~fold).sum()), 2).flatten()
        if shuffled:
            order = np.random.default_rng(words.seed).permutation(len(classes))
            classes = classes[torch.as_tensor(order)]
        out[fold] = Eraser.fit(words.x[~fold].flatten(0, 1), classes).erase(x[fold])
    return out


EDITS: dict[str, Callable[[WordStates], EditedStates]] = {
    "exchange": lambda w: ((w.x.flip(1), w.y.flip(1), w.aside_x.flip(1)), w.all, w.all),
    "substitute": lambda w: ((w.y, w.y.flip(1), w.aside_y), w.all, w.all),
    "surgery": _surgery,
    "erase": _erase,
}


@dataclass(frozen=True, eq=False)
class SetAt(PlacedEdit):
    """An edit to given states at two positions of every row."""

    positions: Int[Tensor, "row word"]
    states: Float[Tensor, "row word *shape"]

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        if start:
            return tensor  # what is written behind the text
        out = tensor.clone()
        row, positions = torch.arange(len(tensor))[:, None], self.positions.to(tensor.device)
        out[row, positions] = self.states.to(tensor)
        return out


@dataclass(frozen=True, eq=False)
class Eraser:
    """Least-squares concept erasure (LEACE): x − (x − μ) A, head by head where vectors have heads; A has rank one.

    x − Σ^½ P Σ^−½ (x − μ), with P the projection on Σ^−½ cov(x, z), moves vectors as little as can be so that no
    linear function of them predicts the class. Source: Belrose et al. 2023, arXiv:2306.03819.
    """

    mean: Float[Tensor, "*head d"]
    matrix: Float[Tensor, "*head d d2"]

    @classmethod
    def fit(
        cls, vectors: Float[Tensor, "token *head d"], classes: Bool[Tensor, " token"]
    ) -> "Eraser":
        """The least change of vectors after which no linear function of them tells two classes."""
        mean = vectors.mean(0)
        x = (vectors - mean).movedim(0, -2).double()  # [*head, token, d]
        z = classes.double() - classes.double().mean()
        values, basis = torch.linalg.eigh(x.mT @ x / x.shape[-2])
        root = values.clamp_min(0).sqrt()
        has_variance = root > 1e-6 * root.amax(-1, keepdim=True)
        inverse = torch.where(has_variance, 1 / root, 0)
        covariance = basis.mT @ (x.mT @ z)[..., None]
        along = inverse[..., None] * covariance  # Σ^−½ cov(x, z), in the basis
        along = along / along.norm(dim=-2, keepdim=True).clamp_min(1e-12)
        writer = basis @ (root[..., None] * along)
        reader = basis @ (inverse[..., None] * along)
        return cls(mean, (reader @ writer.mT).to(vectors))

    def erase(self, x: Float[Tensor, "*batch d"]) -> Float[Tensor, "*batch d"]:
        """The vectors without what tells the classes."""
        return x - torch.einsum("...d,...de->...e", x - self.mean.to(x), self.matrix.to(x))
