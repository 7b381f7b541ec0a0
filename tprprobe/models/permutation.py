"""The permuted baseline model: the weights of a model in another order within every matrix and vector.

Weights are permuted where they lie, without a second copy of a large model, and put back in their order, or, those
on disk, permuted whenever they are read.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from tprprobe.models.placement import replace_weight_map, weight_maps
from tprprobe.models.protocol import Readable
from tprprobe.site.site import FOREIGN

SMALL = 2**28  # weights of the largest model whose weights are permuted one by one
GROUP = 64  # weights that stay side by side in a larger model: two lines of a processor's cache in bfloat16


class Permutation:
    """The order of the weights of a model: of all numbers of a tensor, or of groups of them in a model of more than SMALL."""

    def __init__(self, sizes: Mapping[str, int], seed: int, tied_names: Mapping[str, str]):
        self.names, self.sizes, self.seed = list(sizes), list(sizes.values()), seed
        self.tied_names = tied_names  # name → that of the same weights
        self.is_small = sum(self.sizes) <= SMALL
        self.originals: dict[str, Tensor] = {}  # of a small model: quicker than putting in order
        self.states = [torch.Generator().manual_seed(seed).get_state()]  # before each weight

    def _draw(self, index: int) -> Tensor:
        """The order of all numbers of a weight of a small model, whose weights are drawn one after another."""
        generator, start = torch.Generator(), min(index, len(self.states) - 1)
        generator.set_state(self.states[start])
        for size in self.sizes[start:index]:
            torch.randperm(size, dtype=torch.int32, generator=generator)
            self.states.append(generator.get_state())
        # the order of int64, in half the memory
        order = torch.randperm(self.sizes[index], dtype=torch.int32, generator=generator)
        if index + 1 == len(self.states):
            self.states.append(generator.get_state())
        return order

    def _draw_groups(self, index: int, n_groups: int) -> Tensor:
        generator = torch.Generator().manual_seed(self.seed * len(self.sizes) + index)
        return torch.randperm(n_groups, generator=generator)

    def apply(
        self, name: str, weights: Tensor, inverse: bool = False, out: Tensor | None = None
    ) -> Tensor:
        """The weights in this order, or (``inverse``) in the model's again; in ``out``, whose numbers lie in order."""
        if out is None:
            out = torch.empty_like(weights, memory_format=torch.contiguous_format)
        index, numbers, permuted_numbers = self.names.index(name), weights.flatten(), out.view(-1)
        if self.is_small:
            order = self._draw(index)
        else:
            if weights.ndim > 1 and len(numbers) % GROUP == 0:  # moves 8 bytes at once
                numbers = numbers.view(-1, GROUP).view(torch.int64)
                permuted_numbers = permuted_numbers.view(-1, GROUP).view(torch.int64)
            order = self._draw_groups(index, len(numbers))
        if inverse:
            order = torch.empty_like(order).index_copy_(0, order, torch.arange(len(order)))
        torch.index_select(numbers, 0, order.to(weights.device), out=permuted_numbers)
        return out


class _PermutedMap(Mapping[str, Tensor]):
    """The weights of a submodule on disk, permuted when they are read."""

    def __init__(self, weights: Mapping, path: str, permutation: Permutation):
        self.weights, self.path, self.permutation = weights, path, permutation

    def __getitem__(self, key: str) -> Tensor:
        name = f"{self.path}.{key}"
        name = self.permutation.tied_names.get(name, name)
        is_weight = name in self.permutation.names
        return self.permutation.apply(name, self.weights[key]) if is_weight else self.weights[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.weights)

    def __len__(self) -> int:
        return len(self.weights)


@torch.no_grad()
def permute(model: nn.Module, seed: int) -> Permutation:
    """Permutes the weights of a model; :func:`permuted` puts them back."""
    module = getattr(model, FOREIGN, None)
    tied_keys = getattr(module, "all_tied_weights_keys", None) or {}
    tied_names = {f"{FOREIGN}.{key}": f"{FOREIGN}.{name}" for key, name in tied_keys.items()}
    weights = {name: w for name, w in model.named_parameters() if name not in tied_names}
    sizes = {name: w.numel() for name, w in weights.items()}
    permutation = Permutation(sizes, seed, tied_names)
    _permute_in_place(weights, permutation, inverse=False)
    for path, weight_map in weight_maps(model).items():
        replace_weight_map(model, path, _PermutedMap(weight_map, path, permutation))
    return permutation


@contextmanager
def permuted(model: Readable, seed: int = 0) -> Iterator[Readable]:
    """A block in which a model is its own permuted baseline, with the name of that."""
    maps, name = weight_maps(model), model.name
    permutation = permute(model, seed)
    model.name = f"permuted:{name}"
    try:
        yield model
    finally:
        model.name = name
        for path, weight_map in maps.items():
            replace_weight_map(model, path, weight_map)
        weights = dict(model.named_parameters())
        weights = {name: weights[name] for name in permutation.names}
        _permute_in_place(weights, permutation, inverse=True)


@torch.no_grad()
def _permute_in_place(
    weights: Mapping[str, nn.Parameter], permutation: Permutation, inverse: bool
) -> None:
    for name, parameter in weights.items():
        if parameter.is_meta or not parameter.ndim:
            continue
        if inverse and permutation.is_small:
            parameter.copy_(permutation.originals.pop(name))
            continue
        original = parameter.data.clone()
        place = parameter.data if parameter.is_contiguous() else None
        permuted_weights = permutation.apply(name, original, inverse, place)
        if place is None:
            parameter.copy_(permuted_weights)
        if permutation.is_small:
            permutation.originals[name] = original
