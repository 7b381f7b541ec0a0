"""The permuted baseline model: the weights of a model in another order within every matrix and vector.

It needs no second copy: weights are permuted where they lie and put back in their order, or, those on
disk, permuted whenever they are read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn

from tprprobe.models.placement import weight_maps
from tprprobe.site.site import FOREIGN

SMALL = (
    2**28
)  # weights; the order of more is drawn in groups, since a processor's cache does not hold them
GROUP = 16  # weights of a row that stay in one row of a large model


class Permutation:
    """The order of every weight of a model.

    All numbers of a tensor change places with one another. In a model of more than SMALL weights, columns of a
    matrix do, and then its groups of GROUP numbers, which takes a tenth of the time.
    """

    def __init__(self, sizes: Mapping[str, int], seed: int, tied: Mapping[str, str]):
        self.numbers = {name: number for number, name in enumerate(sizes)}
        self.sizes, self.seed, self.tied = (
            list(sizes.values()),
            seed,
            tied,
        )  # name → of the same weights
        self.is_small = sum(self.sizes) <= SMALL
        self.states = [torch.Generator().manual_seed(seed).get_state()]  # before each weight

    def _draw(self, number: int) -> Tensor:
        """The order of all numbers of a weight of a small model, whose weights are drawn one after another."""
        generator, begin = torch.Generator(), min(number, len(self.states) - 1)
        generator.set_state(self.states[begin])
        for size in self.sizes[begin:number]:
            torch.randperm(size, generator=generator)
            self.states.append(generator.get_state())
        order = torch.randperm(self.sizes[number], generator=generator)
        if number + 1 == len(self.states):
            self.states.append(generator.get_state())
        return order

    def _draw_groups(self, number: int, weights: Tensor) -> tuple[Tensor, Tensor]:
        """The order of columns, and that of groups of numbers."""
        generator = torch.Generator().manual_seed(self.seed * len(self.sizes) + number)
        width = weights.shape[-1]
        size = GROUP if width % GROUP == 0 and weights.ndim > 1 else 1
        groups = torch.randperm(weights.numel() // size, generator=generator)
        return torch.randperm(width, generator=generator), groups

    def apply(self, name: str, weights: Tensor, back: bool = False) -> Tensor:
        """The weights in this order, or (``back``) in their own one again."""
        number = self.numbers[name]
        if self.is_small:
            order = self._draw(number).to(weights.device)
            return _reordered(weights.flatten(), order, 0, back).view_as(weights)
        columns, groups = (each.to(weights.device) for each in self._draw_groups(number, weights))
        moved = weights if back else _reordered(weights, columns, -1, back)
        moved = _reordered(moved.reshape(len(groups), -1), groups, 0, back).view_as(weights)
        return _reordered(moved, columns, -1, back) if back else moved


def _reordered(values: Tensor, order: Tensor, axis: int, back: bool) -> Tensor:
    if not back:
        return values.index_select(axis, order)
    return torch.empty_like(values).index_copy_(axis, order, values)


class _PermutedMap(Mapping[str, Tensor]):
    """The weights of a submodule on disk, permuted when they are read."""

    def __init__(self, weights: Any, path: str, permutation: Permutation):
        self.weights, self.path, self.permutation = weights, path, permutation

    def __getitem__(self, key: str) -> Tensor:
        name = f"{self.path}.{key}"
        name = self.permutation.tied.get(name, name)
        weights = self.weights[key]
        is_moved = name in self.permutation.numbers
        return self.permutation.apply(name, weights) if is_moved else weights

    def __iter__(self) -> Iterator[str]:
        return iter(self.weights)

    def __len__(self) -> int:
        return len(self.weights)


@torch.no_grad()
def permute(model: nn.Module, seed: int) -> Permutation:
    """Permutes the weights of a model; see :func:`permuted` for what puts them back."""
    held = getattr(model, FOREIGN, None)
    keys = getattr(held, "all_tied_weights_keys", None) or {}
    tied = {f"{FOREIGN}.{other}": f"{FOREIGN}.{name}" for other, name in keys.items()}
    named = {name: each for name, each in model.named_parameters() if name not in tied}
    permutation = Permutation({name: each.numel() for name, each in named.items()}, seed, tied)
    _move(named, permutation, back=False)
    for path, weights in weight_maps(model).items():
        hook: Any = model.get_submodule(path)._hf_hook
        hook.weights_map = _PermutedMap(weights, path, permutation)
    return permutation


@contextmanager
def permuted(model: Any, seed: int = 0) -> Iterator[Any]:
    """A block in which a model is its own permuted baseline, with the name of that."""
    maps, name = weight_maps(model), model.name
    permutation = permute(model, seed)
    model.name = f"permuted:{name}"
    try:
        yield model
    finally:
        model.name = name
        for path, weights in maps.items():
            hook: Any = model.get_submodule(path)._hf_hook
            hook.weights_map = weights
        with torch.no_grad():
            named = dict(model.named_parameters())
            _move({name: named[name] for name in permutation.numbers}, permutation, back=True)


def _move(named: Mapping[str, nn.Parameter], permutation: Permutation, back: bool) -> None:
    for name, weights in named.items():
        if not weights.is_meta:
            weights.copy_(permutation.apply(name, weights, back))
