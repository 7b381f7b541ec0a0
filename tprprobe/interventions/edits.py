"""The vocabulary of interventions: edits for ``tp.intervene``, at chosen heads and positions.

    with tp.intervene(model, {"encoder.-1.self.role": edits.zero(heads=[0])}):
        model(source, target)

Every edit takes ``heads`` (default: all), ``positions`` (numbers, the same in every sample, or
[sample, position], True where vectors are edited; default: all; positions behind its end are not) and ``strength`` (the share of the way from
a vector to what replaces it). Where a tensor has n rows a sample (the hypotheses of a beam, the variants
of a sweep), these stand behind each other.
"""

from collections.abc import Sequence
from typing import Unpack

import torch
import torch.nn.functional as F
from jaxtyping import Float, Int
from torch import Tensor

from tprprobe.errors import InputError
from tprprobe.interventions.placement import Edit, Place, Where, at_positions, rows_for

MAX_POSITIONS = 1024  # positions for which a resampled vector is drawn


def set_to(values: Tensor, **where: Unpack[Where]) -> Edit:
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


def zero(**where: Unpack[Where]) -> Edit:
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


def one(**where: Unpack[Where]) -> Edit:
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


def mean(reference: Float[Tensor, "token *shape"], **where: Unpack[Where]) -> Edit:
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


def resample(
    reference: Float[Tensor, "token *shape"], seed: int = 0, **where: Unpack[Where]
) -> Edit:
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
        token_ids = torch.randint(len(reference), (len(x), MAX_POSITIONS), generator=generator)
        ids_at_positions = token_ids[:, place.start : place.start + x.shape[place.seq]]
        return reference.to(x)[ids_at_positions.to(x.device)]

    return Edit(draw, **where)


def snap(
    centers: Float[Tensor, "*head cluster d"], scale: Tensor | None = None, **where: Unpack[Where]
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
        candidates = centers.to(x)
        divisor = x.new_ones(1) if scale is None else scale.to(x)
        scaled_vectors, scaled_centers = x / divisor, candidates / divisor[..., None, :]
        axes = "bshd,hkd->bshk" if candidates.ndim == 3 else "bsd,kd->bsk"
        products = torch.einsum(axes, scaled_vectors, scaled_centers)
        index = (scaled_centers.square().sum(-1) - 2 * products).argmin(-1)
        if candidates.ndim == 2:
            return candidates[index]
        return candidates[torch.arange(len(candidates), device=x.device), index]

    return Edit(nearest, **where)


def one_hot(**where: Unpack[Where]) -> Edit:
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


def patch(values: Float[Tensor, "sample *shape"], **where: Unpack[Where]) -> Edit:
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
            return rows_for(values, x).to(x)
        n_captured, n = values.shape[place.seq], x.shape[place.seq]
        if n_captured < place.start + n and where.get("positions") is None:
            raise InputError(
                f"patch has {n_captured} positions, the site {place.start + n}: give all of them"
            )
        start = min(place.start, n_captured)
        replacement = rows_for(values.narrow(place.seq, start, min(n, n_captured - start)), x).to(x)
        n_replaced = replacement.shape[place.seq]
        remaining = x.narrow(place.seq, n_replaced, n - n_replaced)
        return torch.cat([replacement, remaining], place.seq)

    return Edit(copy, **where)


def shift(
    by: Float[Tensor, "*shape"], signs: Float[Tensor, "sample position"], **where: Unpack[Where]
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
        return x + at_positions(signs, x, place) * by.to(x)

    return Edit(move, **where)


def swap(order: Int[Tensor, "sample position"], **where: Unpack[Where]) -> Edit:
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
        rows = rows_for(order, x).to(x.device)[:, place.start : place.start + length] - place.start
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
    for row, positions_a, positions_b in zip(order, first, second, strict=True):
        exchanged = torch.tensor([*positions_b, *positions_a], dtype=torch.long)
        row[[*positions_a, *positions_b]] = exchanged
    return order
