"""The vocabulary of interventions: edits for ``tp.intervene``, at chosen heads and positions.

    with tp.intervene(model, {"encoder.-1.self.role": edits.zero(heads=[0])}):
        model(source, target)

Every edit takes ``heads`` (default: all), ``positions`` (numbers, the same in every sample, or
[sample, position], True where vectors are edited; default: all; positions behind its end are not) and ``strength`` (the share of the way from
a vector to what replaces it). Where a tensor has n rows a sample (the hypotheses of a beam, the variants
of a sweep), these stand behind each other.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Bool, Float, Int
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.files.notebook import as_html
from tprprobe.site.hooks import PlacedEdit
from tprprobe.site.patterns import head_axis

Make = Callable[[Tensor, "Place"], Tensor]
LONGEST = 1024  # positions for which a resampled vector is drawn


@dataclass(frozen=True)
class Place:
    """The axes of a tensor, and the position of its first vector."""

    axes: tuple[str, ...]
    start: int = 0

    @property
    def head(self) -> int | None:
        """The number of the axis of heads."""
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

    make: Make
    heads: Sequence[int] | None = None
    positions: Bool[Tensor, "sample position"] | Sequence[int] | None = None
    strength: float = 1.0

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        place = Place(axes, start)
        new = self.make(tensor, place)
        if self.strength != 1.0:
            new = torch.lerp(tensor, new, self.strength)
        if self.heads is not None:
            new = torch.where(_head_mask(self.heads, tensor, place), new, tensor)
        if self.positions is not None:
            plan = _plan(self.positions)
            new = torch.where(_at_positions(plan, tensor, place), new, tensor)
        return new

    def _repr_html_(self) -> str:
        return _edits_html([self])


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

    def _repr_html_(self) -> str:
        return _edits_html(self.edits)

    def __call__(self, tensor: Tensor, axes: tuple[str, ...], start: int = 0) -> Tensor:
        for edit in self.edits:
            tensor = edit(tensor, axes, start)
        return tensor


def _edits_html(edits: Sequence[PlacedEdit]) -> str:
    """The edits as a table: what each puts in, and where."""
    import pandas as pd

    rows = [
        {"edit": type(each).__name__} if not isinstance(each, Edit) else _row(each)
        for each in edits
    ]
    return as_html("Edit of vectors", pd.DataFrame(rows))


def _row(edit: Edit) -> dict[str, object]:
    """The function that made the edit, its heads, how many positions, and its strength."""
    made = getattr(edit.make, "__qualname__", type(edit.make).__name__).split(".<locals>")[0]
    heads = "all" if edit.heads is None else ", ".join(map(str, edit.heads))
    positions = "all"
    if edit.positions is not None:
        plan = _plan(edit.positions)
        positions = f"{int(plan.sum())} of {plan.numel()}"
    return {"edit": made, "heads": heads, "positions": positions, "strength": edit.strength}


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


def set_to(values: Tensor, **where: Any) -> Edit:
    """An edit to one vector.

    Args:
        values: The vector, [d] or [head, d].
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> tp.interventions.set_to(torch.tensor([1.0, 2.0]))(torch.zeros(1, 1, 2), ("batch", "seq", "d_model"))
        tensor([[[1., 2.]]])
    """
    return Edit(lambda x, _: values.to(x).expand_as(x), **where)


def zero(**where: Any) -> Edit:
    """An edit to 0: no role, and so no binding.

    Args:
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> with tp.intervene(model, {"encoder.*.self.role": tp.interventions.zero(heads=[0])}):
        ...     pass
    """
    return Edit(lambda x, _: torch.zeros_like(x), **where)


def one(**where: Any) -> Edit:
    """An edit to 1: a role that leaves its filler as it is.

    Its effect depends on the scale of every dimension of v and r, which the model leaves open.

    Args:
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> tp.interventions.one()(torch.zeros(1, 1, 2), ("batch", "seq", "d_model"))
        tensor([[[1., 1.]]])
    """
    return Edit(lambda x, _: torch.ones_like(x), **where)


def mean(reference: Float[Tensor, "token *shape"], **where: Any) -> Edit:
    """An edit to the mean of reference vectors.

    Args:
        reference: The vectors, [token, d] or [token, head, d].
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> edit = tp.interventions.mean(torch.tensor([[0.0, 2.0], [2.0, 2.0]]))
        >>> edit(torch.zeros(1, 1, 2), ("batch", "seq", "d_model"))
        tensor([[[1., 2.]]])
    """
    return set_to(reference.mean(0), **where)


def resample(reference: Float[Tensor, "token *shape"], seed: int = 0, **where: Any) -> Edit:
    """An edit to a random reference vector at every position; all heads are of one token.

    Args:
        reference: The vectors, [token, d] or [token, head, d].
        seed: Seed of the choice.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> tp.interventions.resample(torch.ones(3, 2))(torch.zeros(1, 1, 2), ("batch", "seq", "d_model"))
        tensor([[[1., 1.]]])
    """

    def draw(x: Tensor, place: Place) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        drawn = torch.randint(len(reference), (len(x), LONGEST), generator=generator)
        here = drawn[:, place.start : place.start + x.shape[place.seq]]
        return reference.to(x)[here.to(x.device)]

    return Edit(draw, **where)


def snap(
    centers: Float[Tensor, "*head cluster d"], scale: Tensor | None = None, **where: Any
) -> Edit:
    """An edit to the nearest center.

    Args:
        centers: The centers, [cluster, d] or [head, cluster, d].
        scale: What vectors and centers are divided by before distances are measured, [d] or [head, d]; default: 1.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> edit = tp.interventions.snap(torch.tensor([[0.0, 0.0], [4.0, 4.0]]))
        >>> edit(torch.tensor([[[1.0, 1.0]]]), ("batch", "seq", "d_model"))
        tensor([[[0., 0.]]])
    """

    def nearest(x: Tensor, _: Place) -> Tensor:
        among = centers.to(x)
        unit = x.new_ones(1) if scale is None else scale.to(x)
        of, to = x / unit, among / unit[..., None, :]
        products = torch.einsum("bshd,hkd->bshk" if among.ndim == 3 else "bsd,kd->bsk", of, to)
        index = (to.square().sum(-1) - 2 * products).argmin(-1)
        if among.ndim == 2:
            return among[index]
        return among[torch.arange(len(among), device=x.device), index]

    return Edit(nearest, **where)


def one_hot(**where: Any) -> Edit:
    """An edit to one-hot: 1 for the strongest entry of a distribution, 0 for the others.

    Args:
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> tp.interventions.one_hot()(torch.tensor([[[0.3, 0.7]]]), ("batch", "seq", "n_roles"))
        tensor([[[0., 1.]]])
    """
    return Edit(lambda x, _: F.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype), **where)


def patch(values: Float[Tensor, "sample *shape"], **where: Any) -> Edit:
    """An edit to the tensor that was captured at the same site in another run.

    Args:
        values: The tensor, of the same shape as the one that it replaces.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Raises:
        InputError: When the model runs: the tensor has another shape.

    Examples:
        >>> tp.interventions.patch(torch.ones(1, 1, 2))(torch.zeros(1, 1, 2), ("batch", "seq", "d_model"))
        tensor([[[1., 1.]]])
    """

    def copy(x: Tensor, place: Place) -> Tensor:
        if not place.has_positions:
            return _rows(values, x).to(x)
        known, n = values.shape[place.seq], x.shape[place.seq]
        if known < place.start + n and where.get("positions") is None:
            raise InputError(
                f"patch has {known} positions, the site {place.start + n}: give all of them"
            )
        start = min(place.start, known)
        here = _rows(values.narrow(place.seq, start, min(n, known - start)), x).to(x)
        rest = x.narrow(place.seq, here.shape[place.seq], n - here.shape[place.seq])
        return torch.cat([here, rest], place.seq)

    return Edit(copy, **where)


def shift(
    by: Float[Tensor, "*shape"], signs: Float[Tensor, "sample position"], **where: Any
) -> Edit:
    """An edit that adds a vector, times the sign of the position.

    Args:
        by: The vector, [d] or [head, d].
        signs: What the vector is multiplied by at every position; 0 leaves a position as it is.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Examples:
        >>> edit = tp.interventions.shift(torch.tensor([1.0, 2.0]), torch.tensor([[1.0, -1.0]]))
        >>> edit(torch.zeros(1, 2, 2), ("batch", "seq", "d_model"))
        tensor([[[ 1.,  2.],
                 [-1., -2.]]])
    """

    def move(x: Tensor, place: Place) -> Tensor:
        return x + _at_positions(signs, x, place) * by.to(x)

    return Edit(move, **where)


def swap(order: Int[Tensor, "sample position"], **where: Any) -> Edit:
    """An edit to the vector at another position.

    Args:
        order: For every position the position whose vector it gets (see :func:`exchange`); positions behind its end
            stay as they are.
        **where: ``heads``, ``positions`` and ``strength``, see :class:`Edit`.

    Returns:
        The edit.

    Raises:
        InputError: When the model runs: the order is of another number of samples.

    Examples:
        >>> edit = tp.interventions.swap(torch.tensor([[1, 0]]))
        >>> edit(torch.tensor([[[1.0], [2.0]]]), ("batch", "seq", "d_model"))
        tensor([[[2.],
                 [1.]]])
    """

    def move(x: Tensor, place: Place) -> Tensor:
        length = x.shape[place.seq]
        rows = _rows(order, x).to(x.device)[:, place.start : place.start + length] - place.start
        if rows.numel() and (int(rows.min()) < 0 or int(rows.max()) >= length):
            raise InputError(
                f"swap reads a position that is not among {place.start} to "
                f"{place.start + length - 1}: a decoder's positions are swapped in whole passes only"
            )
        out, sample = x.clone(), torch.arange(len(x), device=x.device)[:, None]
        out.movedim(place.seq, 1)[:, : rows.shape[1]] = x.movedim(place.seq, 1)[sample, rows]
        return out

    return Edit(move, **where)


def exchange(
    first: Sequence[Sequence[int]], second: Sequence[Sequence[int]], length: int
) -> Int[Tensor, "sample position"]:
    """The order of positions in which two words of every sample have changed places, for :func:`swap`.

    Args:
        first: The positions of one word in every sample.
        second: The positions of the other word in every sample, as many.
        length: The number of positions.

    Returns:
        For every position the position whose vector it gets.

    Examples:
        >>> tp.interventions.exchange([[0]], [[2]], length=4)
        tensor([[2, 1, 0, 3]])
    """
    order = torch.arange(length).repeat(len(first), 1)
    for row, one, other in zip(order, first, second, strict=True):
        row[[*one, *other]] = torch.tensor([*other, *one], dtype=torch.long)
    return order


def _rows(plan: Tensor, x: Tensor) -> Tensor:
    """A row of the plan for every row of the tensor."""
    times, rest = divmod(len(x), len(plan))
    if rest:
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


def _at_positions(plan: Tensor, x: Tensor, place: Place) -> Tensor:
    """A value per sample and position, with the axes of the tensor; 0 behind the plan's end."""
    n = x.shape[place.seq]
    here = _rows(plan, x).to(x.device)[:, place.start : place.start + n]
    here = F.pad(here, (0, n - here.shape[1]))
    return _spread(here, {0: len(x), place.seq: n}, x)


def _spread(mask: Tensor, at: dict[int, int], x: Tensor) -> Tensor:
    """The mask with 1 for every axis of the tensor that it does not have."""
    return mask.view([at.get(axis, 1) for axis in range(x.ndim)])
