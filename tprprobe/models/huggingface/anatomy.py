"""Where the layers of a model of transformers are, and the parts of each, found by running it once.

Structure tells, not names: layers are the modules of a list that return a vector a position, an
attention is what calls the library's common attention (or has a map whose rows sum to one), the
feed-forward layer is what makes the last such vector behind it.
"""

import itertools
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tprprobe.models.huggingface.interface import Attend, intercepted
from tprprobe.site.site import Site

BATCH, SOURCE, TARGET = 2, 5, 3  # of the ids that a model is run on: three sizes that differ
CAUSAL = 1e-6  # of the change of a state, what states before it may change by rounding
PROJECTIONS = {  # names of linear maps, for attentions that do not call the common one
    "query": ("query", "query_proj", "q_proj", "q_lin", "q"),
    "key": ("key", "key_proj", "k_proj", "k_lin", "k"),
    "value": ("value", "value_proj", "v_proj", "v_lin", "v"),
}
FEED_FORWARD = ("mlp", "ffn")
EMBEDDING = "embedding"  # the site of what the first layer of a stack reads


@dataclass(frozen=True)
class Call:
    """A call of a submodule: when it began and ended, the first tensors it was given and returned."""

    path: str
    module: nn.Module
    start: int
    end: int
    given: Tensor | None
    returned: Tensor | None

    def holds(self, other: "Call") -> bool:
        return self.start < other.start and other.end < self.end

    def shape(self) -> tuple[int, ...]:
        return () if self.returned is None else tuple(self.returned.shape)


@dataclass(frozen=True)
class Attention:
    """A call of an attention: of keys beside queries (``cross``) or not, and the shapes of its heads."""

    call: Call
    is_cross: bool
    shapes: dict[str, tuple[int, int]]  # query, key, value, filler → heads, width of a head
    is_common: bool  # whether it calls the library's attention

    @property
    def kind(self) -> str:
        return "cross" if self.is_cross else "self"


@dataclass(frozen=True)
class Route:
    """Where a tensor of a site passes: a submodule's input or output, split into heads if there are any."""

    path: str
    end: str
    part: str
    heads: int | None = None


@dataclass
class Anatomy:
    """The layers of a model by stack, the sites, and where their tensors pass."""

    stacks: dict[str, list[str]] = field(default_factory=dict)  # the paths of the layers
    sites: dict[str, Site] = field(default_factory=dict)
    routes: set[Route] = field(default_factory=set)
    attentions: dict[str, str] = field(default_factory=dict)  # by path: self or cross


Attended = list[tuple[int, nn.Module, dict[str, tuple[int, ...]]]]  # when, by which, the shapes


def explore(module: Any, run: Callable[[Tensor, Tensor], Any], two_stacks: bool) -> Anatomy:
    """The anatomy of a model, which ``run`` calls with source and target ids."""
    size = min(module.get_input_embeddings().weight.shape[0], 30)
    ids = torch.arange(BATCH * SOURCE, device=module.device).reshape(BATCH, SOURCE) % (size - 2) + 1
    target = ids[:, :TARGET]
    calls, attended = record(module, lambda: run(ids, target))
    layers = find_layers(module, calls)
    if not two_stacks and layers:
        (only,) = layers.values()
        is_causal = _says_causal(attended)
        if is_causal is None:
            changed = ids.clone()
            changed[:, -1] = (changed[:, -1] + 1) % size
            again, _ = record(module, lambda: run(changed, target))
            same = [call for call in again if call.path == only[-1].path][-1]
            is_causal = looks_back(only[-1].returned, same.returned)
        layers = {"layers" if is_causal else "encoder": only}
    anatomy = Anatomy()
    for stack, found in layers.items():
        anatomy.stacks[stack] = list(dict.fromkeys(call.path for call in found))
        anatomy.sites[f"{stack}.{EMBEDDING}"] = Site("batch seq d_model", found[0].shape()[-1])
        for number, layer in enumerate(found):
            _add_layer(anatomy, f"{stack}.{number}", layer, calls, attended)
    return anatomy


def _says_causal(attended: Attended) -> bool | None:
    """What the attentions themselves say; None where they say nothing."""
    said = [part.is_causal for _, part, _ in attended if hasattr(part, "is_causal")]
    return any(said) if said else None


def looks_back(before: Tensor | None, after: Tensor | None) -> bool:
    """True if a change of the last id changed no state before it."""
    if before is None or after is None:
        return False
    change = (before - after).abs().float().amax((0, 2))
    return bool(change[:-1].max() <= CAUSAL * change[-1])


@torch.no_grad()
def record(module: nn.Module, run: Callable[[], Any]) -> tuple[list[Call], Attended]:
    """All calls of submodules during a run, and all calls of the library's common attention."""
    clock, calls, attended = itertools.count(), [], []
    begun: dict[str, list[tuple[int, Tensor | None]]] = defaultdict(list)

    def enter(path: str, given: tuple, named: dict) -> None:
        begun[path].append((next(clock), first_tensor((*given, *named.values()))))

    def leave(path: str, part: nn.Module, returned: Any) -> None:
        start, given = begun[path].pop()
        calls.append(Call(path, part, start, next(clock), given, first_tensor(returned)))

    def attend(attention: Attend) -> Attend:
        def noted(
            part: nn.Module, query: Tensor, key: Tensor, value: Tensor, *more: Any, **options: Any
        ) -> Any:
            output, weights = attention(part, query, key, value, *more, **options)
            shapes = {
                "query": query.shape,
                "key": key.shape,
                "value": value.shape,
                "filler": output.shape,
            }
            attended.append(
                (next(clock), part, {name: tuple(shape) for name, shape in shapes.items()})
            )
            return output, weights

        return noted

    with ExitStack() as stack:
        for path, part in module.named_modules():
            before = part.register_forward_pre_hook(
                lambda _m, given, named, path=path: enter(path, given, named), with_kwargs=True
            )
            after = part.register_forward_hook(lambda m, _i, out, path=path: leave(path, m, out))
            stack.callback(before.remove)
            stack.callback(after.remove)
        stack.enter_context(intercepted(attend))
        run()
    return calls, attended


def first_tensor(values: Any) -> Tensor | None:
    """The first tensor of floating-point numbers of what a module is given or returns."""
    values = values if isinstance(values, tuple | list) else (values,)
    floats = (each for each in values if isinstance(each, Tensor) and each.is_floating_point())
    return next(floats, None)


def find_layers(module: nn.Module, calls: Sequence[Call]) -> dict[str, list[Call]]:
    """The calls of layers by stack, in order: of a stack's lists of modules the one with most weights."""
    lists = [path for path, part in module.named_modules() if isinstance(part, nn.ModuleList)]
    found: dict[str, tuple[int, list[Call]]] = {}
    outer: list[str] = []
    for path in lists:
        if any(path.startswith(f"{each}.") for each in outer):
            continue
        members = {f"{path}.{i}" for i in range(len(module.get_submodule(path)))}  # type: ignore[arg-type]
        own = [call for call in sorted(calls, key=lambda c: c.start) if call.path in members]
        stack = (
            {SOURCE: "encoder", TARGET: "decoder"}.get(own[0].shape()[1])
            if own and _is_states(own[0])
            else None
        )
        if stack is None or not all(map(_is_states, own)):
            continue
        outer.append(path)
        size = sum(weights.numel() for weights in module.get_submodule(path).parameters())
        if size > found.get(stack, (0, []))[0]:
            found[stack] = (size, own)
    return {stack: own for stack, (_, own) in sorted(found.items(), reverse=True)}


def _is_states(call: Call) -> bool:
    """True if a call returned a vector a position."""
    shape = call.shape()
    return len(shape) == 3 and shape[0] == BATCH and shape[1] in (SOURCE, TARGET)


def _add_layer(
    anatomy: Anatomy, prefix: str, layer: Call, calls: Sequence[Call], attended: Attended
) -> None:
    inside = [call for call in calls if layer.holds(call)]
    attentions = {each.kind: each for each in reversed(list(_attentions(layer, inside, attended)))}
    for kind in sorted(attentions, reverse=True):
        _add_attention(anatomy, f"{prefix}.{kind}", attentions[kind], layer, inside)
    width = layer.shape()[-1]
    if (path := _find_mlp(layer, inside, list(attentions.values()))) is not None:
        anatomy.sites[f"{prefix}.mlp"] = Site("batch seq d_model", width)
        anatomy.routes.add(Route(path, "output", "mlp"))
    anatomy.sites[f"{prefix}.hidden"] = Site("batch seq d_model", width)


def _add_attention(
    anatomy: Anatomy, prefix: str, found: Attention, layer: Call, inside: Sequence[Call]
) -> None:
    path, given = found.call.path, found.call.given
    if given is not None and given.ndim == 3:
        anatomy.sites[f"{prefix}.input"] = Site("batch seq d_model", given.shape[-1])
        anatomy.routes.add(Route(path, "input", f"{found.kind}.input"))
    heads = found.shapes["filler"][0]
    for part in ("query", "key", "value", "attention", "filler"):
        if part == "attention":
            anatomy.sites[f"{prefix}.{part}"] = Site("batch head query key")
        elif part in found.shapes:
            count, width = found.shapes[part]
            axis = "head" if count == heads else "key_head"
            anatomy.sites[f"{prefix}.{part}"] = Site(f"batch seq {axis} d_head", width)
    if found.is_common:
        anatomy.attentions[path] = found.kind
    else:
        anatomy.routes |= set(_own_routes(found, layer, inside))


def _attentions(layer: Call, inside: Sequence[Call], attended: Attended) -> Iterator[Attention]:
    """The attentions of a layer, in order."""
    for time, part, shapes in attended:
        callers = [c for c in inside if c.module is part and c.start < time < c.end]
        if callers:
            heads = {
                name: (shape[1], shape[3]) for name, shape in shapes.items() if name != "filler"
            }
            heads["filler"] = (heads["query"][0], heads["value"][1])
            is_cross = shapes["key"][2] != shapes["query"][2]
            yield Attention(callers[0], is_cross, heads, True)
    for call in inside:
        if _is_map(call) and (own := _own_attention(call, inside)) is not None:
            yield own


def _is_map(call: Call) -> bool:
    """True if a call returned maps of attention, whose rows sum to one."""
    if call.returned is None or call.returned.ndim != 4 or call.shape()[0] != BATCH:
        return False
    rows = call.returned.float().sum(-1)
    return bool(
        (call.returned >= 0).all() and torch.allclose(rows, torch.ones_like(rows), atol=1e-2)
    )


def _own_attention(weights: Call, inside: Sequence[Call]) -> Attention | None:
    """The attention that a map is of, where it has linear maps of its own; None where nothing follows it."""
    around = [call for call in inside if call.holds(weights)]
    output = _output_projection(weights, inside)
    if not around or output is None or output.given is None:
        return None
    _, heads, queries, keys = weights.shape()
    shapes = {"filler": (heads, output.given.shape[-1] // heads)}
    module = max(around, key=lambda call: call.start)
    for part, names in PROJECTIONS.items():
        for call in inside:
            if module.holds(call) and call.path in {f"{module.path}.{name}" for name in names}:
                shapes[part] = (heads, call.shape()[-1] // heads)
    return Attention(module, queries != keys, shapes, False)


def _output_projection(weights: Call, inside: Sequence[Call]) -> Call | None:
    """The first linear map behind a map of attention."""
    later = [call for call in inside if call.start > weights.end and _is_linear(call)]
    return min(later, key=lambda call: call.start, default=None)


def _own_routes(found: Attention, layer: Call, inside: Sequence[Call]) -> Iterator[Route]:
    """The routes of an attention that does not call the common one."""
    weights = [call for call in inside if found.call.holds(call) and _is_map(call)][-1]
    heads = found.shapes["filler"][0]
    yield Route(weights.path, "output", f"{found.kind}.attention")
    output = _output_projection(weights, inside)
    if output is not None:
        yield Route(output.path, "input", f"{found.kind}.filler", heads)
    for part, names in PROJECTIONS.items():
        for name in names:
            path = f"{found.call.path}.{name}"
            if part in found.shapes and any(call.path == path for call in inside):
                yield Route(path, "output", f"{found.kind}.{part}", heads)


def _find_mlp(layer: Call, inside: Sequence[Call], attentions: Sequence[Attention]) -> str | None:
    """The path of what makes a layer's feed-forward vectors; None where it has none.

    It is the module that has experts, else the last linear map beside the attention, else that of a
    module with the name of a feed-forward layer.
    """
    flat = (BATCH * layer.shape()[1], layer.shape()[2])  # OPT's rows are those of the whole batch
    inner = [call for call in inside if call.shape() in (layer.shape(), flat)]
    experts = [call for call in inner if hasattr(call.module, "experts")]
    if experts:
        return min(experts, key=lambda call: call.start).path
    named = [c for c in inner if {*c.path[len(layer.path) :].split(".")} & {*FEED_FORWARD}]
    for rest in (*_beside(inner, inside, attentions), named):
        linear = [call for call in rest if _is_linear(call)]
        if linear:
            return max(linear, key=lambda call: call.start).path
    return None


def _beside(
    inner: Sequence[Call], inside: Sequence[Call], attentions: Sequence[Attention]
) -> Iterator[list[Call]]:
    """The calls outside of the largest modules around a layer's attentions, of the next smaller ones, …"""
    if not attentions:
        return
    around = [
        sorted((c for c in inside if c.holds(each.call) or c == each.call), key=lambda c: c.start)
        for each in attentions
    ]
    for level in range(max(map(len, around))):
        outer = [each[min(level, len(each) - 1)] for each in around]
        yield [
            call
            for call in inner
            if not any(each == call or each.holds(call) for each in outer)
            and call.start > min(each.start for each in outer)
        ]


def _is_linear(call: Call) -> bool:
    """True for a linear map: torch's, or GPT-2's, which transformers calls a convolution."""
    return isinstance(call.module, nn.Linear) or type(call.module).__name__ == "Conv1D"
