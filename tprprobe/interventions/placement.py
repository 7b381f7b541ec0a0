"""Where an edit of a site's tensor works: heads, positions and strength; and edits put together."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypedDict

import torch
import torch.nn.functional as F
from jaxtyping import Bool
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.site.hooks import PlacedEdit
from tprprobe.site.patterns import head_axis

MakeTensor = Callable[[Tensor, "Place"], Tensor]


@dataclass(frozen=True)
class Place:
    """The axes of a tensor, and the position of its first vector."""

    axes: tuple[str, ...]
    start: int = 0

    @property
    def head(self) -> int | None:
        return head_axis(self.axes)

    @property
    def has_positions(self) -> bool:
        """True unless there is one vector a sample."""
        return not {"query", "seq"}.isdisjoint(self.axes)

    @property
    def seq(self) -> int:
        """The number of the axis of positions; in an attention map, of those that attend."""
        if not self.has_positions:
            raise InputError(
                f"a site of {' × '.join(self.axes)} has no positions to choose or move"
            )
        return self.axes.index("query" if "query" in self.axes else "seq")


class Where(TypedDict, total=False):
    """Where an edit works, see :class:`Edit`."""

    heads: Sequence[int] | None
    positions: Bool[Tensor, "sample position"] | Sequence[int] | None
    strength: float


@dataclass(frozen=True, eq=False)
class Edit(PlacedEdit):
    """An edit of a site's tensor, at some heads and positions; all others stay as they are.

    Attributes:
        make: The function that makes the new tensor from the tensor and its :class:`Place`.
        heads: Numbers of heads; default: all.
        positions: Numbers of positions, the same in every sample, or True where vectors are edited; default: all.
        strength: The share of the way from a vector to the new one; 1 replaces it.

    Examples:
        >>> tp.interventions.zero(heads=[0], strength=0.5).heads
        [0]
    """

    make: MakeTensor
    heads: Sequence[int] | None = None
    positions: Bool[Tensor, "sample position"] | Sequence[int] | None = None
    strength: float = 1.0

    def __repr__(self) -> str:
        name = getattr(self.make, "__qualname__", type(self.make).__name__).partition(".")[0]
        places = {"heads": self.heads, "positions": self.positions}
        texts = [f"{key}={value}" for key, value in places.items() if value is not None]
        texts += [f"strength={self.strength:g}"] * (self.strength != 1)
        return f"{name}({', '.join(texts)})"

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        place = Place(axes, start)
        edited = self.make(tensor, place)
        if self.strength != 1.0:
            edited = torch.lerp(tensor, edited, self.strength)
        if self.heads is not None:
            edited = torch.where(_head_mask(self.heads, tensor, place), edited, tensor)
        if self.positions is not None:
            plan = _plan(self.positions)
            edited = torch.where(at_positions(plan, tensor, place), edited, tensor)
        return edited


@dataclass(frozen=True, eq=False)
class Chain(PlacedEdit):
    """Edits of one site, one after another.

    Attributes:
        edits: The edits, in their order.

    Examples:
        >>> edits = tp.interventions
        >>> len(edits.Chain((edits.zero(heads=[0]), edits.one(heads=[1]))).edits)
        2
    """

    edits: tuple[PlacedEdit, ...]

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        for edit in self.edits:
            tensor = edit(tensor, axes, start)
        return tensor


@dataclass(frozen=True, eq=False)
class ByVariant(PlacedEdit):
    """An edit per row of every sample: edit i for row i, or none."""

    edits: tuple[PlacedEdit | None, ...]

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        out, n = tensor.clone(), len(self.edits)
        for variant, edit in enumerate(self.edits):
            if edit is not None:
                out[variant::n] = edit(tensor[variant::n], axes, start)
        return out


def rows_for(plan: Tensor, x: Tensor) -> Tensor:
    """A row of the plan for every row of the tensor."""
    times, remainder = divmod(len(x), len(plan))
    if remainder:
        raise InputError(
            f"an edit for {len(plan)} samples was used on {len(x)} rows: give one row for every sample"
        )
    return plan if times == 1 else plan.repeat_interleave(times, 0)


def _head_mask(heads: Sequence[int], x: Tensor, place: Place) -> Bool[Tensor, "..."]:
    if place.head is None:
        raise InputError(f"heads {list(heads)}: a site of {' × '.join(place.axes)} has no heads")
    n = x.shape[place.head]
    if wrong := [head for head in heads if not -n <= head < n]:
        raise InputError(f"head {wrong[0]}: this site has heads 0 to {n - 1}")
    mask = torch.zeros(n, dtype=torch.bool, device=x.device)
    mask[list(heads)] = True
    return _spread(mask, {place.head: n}, x)


def _plan(positions: Tensor | Sequence[int]) -> Bool[Tensor, "sample position"]:
    """The positions as a mask; numbers are those of one row, which stands for every sample."""
    if isinstance(positions, Tensor):
        return positions
    if min(positions, default=0) < 0:
        raise InputError(f"positions {list(positions)}: count from 0, samples differ in length")
    plan = torch.zeros(1, max(positions, default=0) + 1, dtype=torch.bool)
    plan[0, list(positions)] = True
    return plan


def at_positions(plan: Tensor, x: Tensor, place: Place) -> Tensor:
    """A value per sample and position, with the axes of the tensor; 0 behind the plan's end."""
    n = x.shape[place.seq]
    values = rows_for(plan, x).to(x.device)[:, place.start : place.start + n]
    values = F.pad(values, (0, n - values.shape[1]))
    return _spread(values, {0: len(x), place.seq: n}, x)


def _spread(mask: Tensor, size_of_axis: dict[int, int], x: Tensor) -> Tensor:
    """The mask with 1 for every axis of the tensor that it does not have."""
    return mask.view([size_of_axis.get(axis, 1) for axis in range(x.ndim)])
