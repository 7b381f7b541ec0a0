"""The calls of one run of a model of transformers: of its submodules, of the attention in common, and of products.

An attention that a model computes itself, softmax(q kᵀ) v, is found among the torch functions that it calls: the map is what a
softmax returns whose rows are distributions over keys, queries and keys are the factors of the first product of its shape
before it, values are what a product after it multiplies the map with.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple
from unittest.mock import patch

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode
from transformers import AttentionInterface

SOFTMAX = {F.softmax, torch.softmax, Tensor.softmax}
MATMUL = {torch.matmul, Tensor.matmul, Tensor.__matmul__, torch.bmm, Tensor.bmm}
BADDBMM = {torch.baddbmm, Tensor.baddbmm}  # adds a product to their first argument
# z: all heads of the batch in a row
LETTERS = {3: ("zij", "zjk", "zik"), 4: ("bhij", "bhjk", "bhik")}
Letters = tuple[str, ...]  # of axes of factors and result, as in einsum; empty for a softmax
Tensors = tuple[Tensor, ...]
Around = Callable[[Letters, Callable[..., Tensor], Tensors], Tensor]


class Operation(NamedTuple):
    """A call of a product or a softmax."""

    letters: Letters
    tensors: Tensors  # factors and result; of a softmax its result


@dataclass(frozen=True)
class Tap:
    """A tensor of an attention: in which product (a map: in which softmax) it stands, as which of its tensors."""

    site: str
    number: int
    place: int
    letters: str  # b, h, s (q and k of a map), d; z for batch and heads in one axis
    order: str = "bshd"  # of the letters in the tensor of the site

    def is_in(self, letters: Letters, number: int) -> bool:
        return number == self.number and bool(letters) == (self.site != "attention")


class Watched(TorchFunctionMode):
    """A block in which ``around(letters, compute, factors)`` is called for every product and softmax."""

    def __init__(self, around: Around):
        self.around = around

    def __torch_function__(
        self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        kwargs = dict(kwargs or {})
        if func in SOFTMAX:
            return self.around((), lambda: func(*args, **kwargs), ())
        if func in BADDBMM:
            args = (*args, *(kwargs.pop(name) for name in ("batch1", "batch2") if name in kwargs))
        if func is torch.einsum and not isinstance(args[1], Tensor):
            args = (args[0], *args[1])
        place = 1 if func is torch.einsum or func in BADDBMM else 0
        letters = _letters(func, args, place)
        if letters is None:
            return func(*args, **kwargs)
        before, after = args[:place], args[place + 2 :]
        return self.around(
            letters, lambda a, b: func(*before, a, b, *after, **kwargs), args[place : place + 2]
        )


def _letters(func: Callable[..., object], args: tuple, place: int) -> Letters | None:
    """The axes of a product's factors and result; None of what is no product of two factors with a batch."""
    if func is torch.einsum:
        letters = tuple(args[0].replace(" ", "").replace("->", ",").split(","))
        return letters if len(letters) == len(args) == 3 else None
    if (func not in MATMUL and func not in BADDBMM) or len(args) < place + 2:
        return None
    ranks = {getattr(factor, "ndim", 0) for factor in args[place : place + 2]}
    return LETTERS.get(ranks.pop()) if len(ranks) == 1 else None


def find_taps(operations: Sequence[Operation], batch: int) -> dict[str, Tap]:
    """Where queries, keys, values, map and filler of the first attention pass; empty where there is none."""
    products = [(time, operation) for time, operation in enumerate(operations) if operation.letters]
    softmaxes = [(time, o) for time, o in enumerate(operations) if not o.letters]
    for number, (now, softmax) in enumerate(softmaxes):
        weights = _per_head(softmax.tensors[-1], batch)
        if weights is None or not is_map(weights):
            continue
        before = (i for i, (t, p) in enumerate(products) if t < now and _has_scores(p, weights))
        scores = next(before, None)
        behind = (i for i, (t, p) in enumerate(products) if t > now and _mixes(p, weights) >= 0)
        mixed = next(behind, None)
        if scores is not None and mixed is not None:
            letters = "zqk" if softmax.tensors[-1].ndim == 3 else "bhqk"
            place = _mixes(products[mixed][1], weights)
            return {
                "attention": Tap("attention", number, 0, letters, "bhqk"),
                **_factors(scores, products[scores][1].letters),
                **_sum(mixed, products[mixed][1].letters, place),
            }
    return {}


def _factors(number: int, letters: Letters) -> dict[str, Tap]:
    left_factor, right_factor, scores = letters
    place = 0 if scores[-2] in left_factor else 1
    width = next(iter({*left_factor} & {*right_factor} - {*scores}))
    axes = _axes(scores, width)
    return {
        "query": Tap("query", number, place, _named(letters[place], axes)),
        "key": Tap("key", number, 1 - place, _named(letters[1 - place], axes)),
    }


def _sum(number: int, letters: Letters, map_place: int) -> dict[str, Tap]:
    weights, values = letters[map_place], letters[1 - map_place]
    axes = _axes(weights, next(iter({*values} - {*weights})))
    return {
        "value": Tap("value", number, 1 - map_place, _named(values, axes)),
        "filler": Tap("filler", number, 2, _named(letters[2], axes)),
    }


def _axes(weights: str, width: str) -> dict[str, str]:
    """The axes that letters stand for, by the letters of a map."""
    heads = {weights[0]: "z"} if len(weights) == 3 else {weights[0]: "b", weights[1]: "h"}
    return {weights[-2]: "s", weights[-1]: "s", width: "d", **heads}


def _named(letters: str, axes: dict[str, str]) -> str:
    return "".join(axes.get(letter, "?") for letter in letters)


def view(tensor: Tensor, tap: Tap, batch: int) -> Tensor | None:
    """The tensor with the axes of its site; None where it has others than when the model was explored."""
    letters = tap.letters
    if tensor.ndim != len(letters):
        return None
    if "z" in letters:
        axis = letters.index("z")
        if tensor.shape[axis] % batch:
            return None
        tensor, letters = tensor.unflatten(axis, (batch, -1)), letters.replace("z", "bh")
    if sorted(letters) != sorted(tap.order):
        return None
    return tensor.permute([letters.index(axis) for axis in tap.order])


def unview(edited: Tensor, tap: Tap) -> Tensor:
    """An edited tensor of a site with the axes that its operation has."""
    letters = tap.letters.replace("z", "bh")
    tensor = edited.permute([tap.order.index(axis) for axis in letters])
    axis = tap.letters.find("z")
    return tensor if axis < 0 else tensor.flatten(axis, axis + 1)


def is_map(weights: Tensor) -> bool:
    """True of maps of attention, [batch, head, query, key], whose rows sum to one."""
    rows = weights.float().sum(-1)
    return bool((weights >= 0).all() and torch.allclose(rows, torch.ones_like(rows), atol=1e-2))


def _per_head(tensor: Tensor, batch: int) -> Tensor | None:
    if tensor.ndim == 3 and len(tensor) % batch == 0:
        tensor = tensor.unflatten(0, (batch, -1))
    return tensor if tensor.ndim == 4 and len(tensor) == batch else None


def _has_scores(product: Operation, weights: Tensor) -> bool:
    result = _per_head(product.tensors[2], len(weights))
    return result is not None and result.shape == weights.shape


def _mixes(product: Operation, weights: Tensor) -> int:
    """Which factor of a product is the map; -1 where none is."""
    for place, factor in enumerate(product.tensors[:2]):
        factor_map = _per_head(factor, len(weights))
        if (
            factor_map is not None
            and factor_map.shape == weights.shape
            and torch.allclose(factor_map.float(), weights.float(), atol=1e-3)
        ):
            return place
    return -1


AttentionResult = tuple[Tensor, Tensor | None]  # the sums of values, and the map
Attend = Callable[..., AttentionResult]  # of module, query, key, value, mask, …


@dataclass(frozen=True)
class Call:
    """A call of a submodule: when it began and ended, the first tensors it was given and returned."""

    path: str
    module: nn.Module
    start: int
    end: int
    received: Tensor | None
    returned: Tensor | None

    def holds(self, inner: "Call") -> bool:
        return self.start < inner.start and inner.end < self.end

    @property
    def shape(self) -> tuple[int, ...]:
        return () if self.returned is None else tuple(self.returned.shape)

    @property
    def is_linear(self) -> bool:
        return isinstance(self.module, nn.Linear) or type(self.module).__name__ == "Conv1D"


class Attended(NamedTuple):
    """A call of the attention in common: when, by which module, of tensors [batch, head, seq, d_head]."""

    time: int
    module: nn.Module
    query: torch.Size
    key: torch.Size
    value: torch.Size


def intercepted(around: Callable[..., AttentionResult]) -> AbstractContextManager[object]:
    """A block in which models call ``around``, of their attention and its arguments, in place of their attention."""
    before: Callable[..., Attend] = AttentionInterface.get_interface
    return patch.object(
        AttentionInterface,
        "get_interface",
        lambda *args, **kw: partial(around, before(*args, **kw)),
    )


class Record(NamedTuple):
    """What happened during a run: calls of submodules, of the attention in common, and operations outside of that."""

    calls: list[Call]
    attended: list[Attended]
    operations: list[tuple[int, Operation]]


@torch.no_grad()
def record(module: nn.Module, run: Callable[[], object]) -> Record:
    clock, calls, attended, operations = itertools.count(), [], [], []
    inside: list[nn.Module] = []  # an attention in common
    begun: dict[str, list[tuple[int, Tensor | None]]] = defaultdict(list)

    def enter(path: str, _module: nn.Module, args: tuple, kwargs: dict) -> None:
        begun[path].append((next(clock), first_tensor((*args, *kwargs.values()))))

    def leave(path: str, submodule: nn.Module, _args: object, returned: object) -> None:
        start, received = begun[path].pop()
        calls.append(Call(path, submodule, start, next(clock), received, first_tensor(returned)))

    def attend(
        attention: Attend,
        submodule: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *args: object,
        **options: object,
    ) -> AttentionResult:
        inside.append(submodule)
        result = attention(submodule, query, key, value, *args, **options)
        inside.pop()
        attended.append(Attended(next(clock), submodule, query.shape, key.shape, value.shape))
        return result

    def operate(letters: Letters, compute: Callable[..., Tensor], factors: Tensors) -> Tensor:
        result = compute(*factors)
        if not inside:
            operations.append((next(clock), Operation(letters, (*factors, result))))
        return result

    with ExitStack() as stack:
        for path, submodule in module.named_modules():
            before = submodule.register_forward_pre_hook(partial(enter, path), with_kwargs=True)
            stack.callback(before.remove)
            stack.callback(submodule.register_forward_hook(partial(leave, path)).remove)
        stack.enter_context(intercepted(attend))
        stack.enter_context(Watched(operate))
        run()
    return Record(calls, attended, operations)


def first_tensor(values: object) -> Tensor | None:
    """The first tensor of floating-point numbers of what a module is given or returns."""
    values = values if isinstance(values, tuple | list) else (values,)
    floats = (value for value in values if isinstance(value, Tensor) and value.is_floating_point())
    return next(floats, None)
