"""Where the layers of a model of transformers are, and the parts of each, found by running it once.

Structure tells, not names: layers are the modules of a list that return a vector a position, an
attention is what calls the library's common attention (or has a map whose rows sum to one), the
feed-forward layer is what makes the last such vector behind it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor, nn

from tprprobe.models.huggingface.calls import Attended, Call, record
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
class Route:
    """Where a tensor of a site passes: a submodule's input or output, split into heads if there are any."""

    path: str
    end: str
    part: str
    heads: int | None = None


@dataclass(frozen=True)
class Attention:
    """A call of an attention, of its stack (``self``) or of another (``cross``), and the shapes of its heads."""

    call: Call
    kind: str
    shapes: dict[str, tuple[int, int]]  # query, key, value, filler → heads, width of a head
    routes: tuple[Route, ...] = ()  # of its tensors; empty where it calls the attention in common


@dataclass
class Anatomy:
    """The layers of a model by stack, the sites, and where their tensors pass."""

    stacks: dict[str, list[str]] = field(default_factory=dict)  # the paths of the layers
    sites: dict[str, Site] = field(default_factory=dict)
    routes: set[Route] = field(default_factory=set)
    attentions: dict[str, str] = field(default_factory=dict)  # by path: self or cross


def explore(module: Any, run: Callable[[Tensor, Tensor], Any], two_stacks: bool) -> Anatomy:
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
    for stack, members in layers.items():
        anatomy.stacks[stack] = list(dict.fromkeys(call.path for call in members))
        anatomy.sites[f"{stack}.{EMBEDDING}"] = Site("batch seq d_model", members[0].shape[-1])
        for number, layer in enumerate(members):
            _add_layer(anatomy, f"{stack}.{number}", layer, calls, attended)
    return anatomy


def _says_causal(attended: Sequence[Attended]) -> bool | None:
    """What the attentions themselves say; None where they say nothing."""
    flags = [call.module.is_causal for call in attended if hasattr(call.module, "is_causal")]
    return any(flags) if flags else None


def looks_back(before: Tensor | None, after: Tensor | None) -> bool:
    """True if a change of the last id changed no state before it."""
    if before is None or after is None:
        return False
    change = (before - after).abs().float().amax((0, 2))
    return bool(change[:-1].max() <= CAUSAL * change[-1])


def find_layers(module: nn.Module, calls: Sequence[Call]) -> dict[str, list[Call]]:
    """The calls of layers by stack, in order: of a stack's lists of modules the one with most weights."""
    largest: dict[str, tuple[int, list[Call]]] = {}
    outer: list[str] = []
    for path, part in module.named_modules():
        if not isinstance(part, nn.ModuleList) or any(path.startswith(f"{o}.") for o in outer):
            continue
        names = {f"{path}.{i}" for i in range(len(part))}
        members = sorted((c for c in calls if c.path in names), key=lambda call: call.start)
        if not members or not all(map(_is_states, members)):
            continue
        outer.append(path)
        stack = {SOURCE: "encoder", TARGET: "decoder"}[members[0].shape[1]]
        size = sum(weights.numel() for weights in part.parameters())
        if size > largest.get(stack, (0, []))[0]:
            largest[stack] = (size, members)
    return {stack: members for stack, (_, members) in sorted(largest.items(), reverse=True)}


def _is_states(call: Call) -> bool:
    shape = call.shape
    return len(shape) == 3 and shape[0] == BATCH and shape[1] in (SOURCE, TARGET)


def _add_layer(
    anatomy: Anatomy,
    prefix: str,
    layer: Call,
    calls: Sequence[Call],
    attended: Sequence[Attended],
) -> None:
    inside = [call for call in calls if layer.holds(call)]
    attentions = {each.kind: each for each in reversed(list(_attentions(inside, attended)))}
    for kind in sorted(attentions, reverse=True):
        _add_attention(anatomy, f"{prefix}.{kind}", attentions[kind])
    width = layer.shape[-1]
    if (path := _find_mlp(layer, inside, list(attentions.values()))) is not None:
        anatomy.sites[f"{prefix}.mlp"] = Site("batch seq d_model", width)
        anatomy.routes.add(Route(path, "output", "mlp"))
    anatomy.sites[f"{prefix}.hidden"] = Site("batch seq d_model", width)


def _add_attention(anatomy: Anatomy, prefix: str, attention: Attention) -> None:
    path, read = attention.call.path, attention.call.given
    if read is not None and read.ndim == 3:
        anatomy.sites[f"{prefix}.input"] = Site("batch seq d_model", read.shape[-1])
        anatomy.routes.add(Route(path, "input", f"{attention.kind}.input"))
    heads = attention.shapes["filler"][0]
    for part in ("query", "key", "value", "attention", "filler"):
        if part == "attention":
            anatomy.sites[f"{prefix}.{part}"] = Site("batch head query key")
        elif part in attention.shapes:
            count, width = attention.shapes[part]
            axis = "head" if count == heads else "key_head"
            anatomy.sites[f"{prefix}.{part}"] = Site(f"batch seq {axis} d_head", width)
    anatomy.routes.update(attention.routes)
    if not attention.routes:
        anatomy.attentions[path] = attention.kind


def _attentions(inside: Sequence[Call], attended: Sequence[Attended]) -> Iterator[Attention]:
    for time, part, query, key, value in attended:
        callers = [c for c in inside if c.module is part and c.start < time < c.end]
        if callers:
            shapes = {"query": query, "key": key, "value": value}
            heads = {name: (shape[1], shape[3]) for name, shape in shapes.items()}
            heads["filler"] = (query[1], value[3])
            yield Attention(callers[0], "self" if key[2] == query[2] else "cross", heads)
    for call in inside:
        if _is_map(call) and (own := _own_attention(call, inside)) is not None:
            yield own


def _is_map(call: Call) -> bool:
    """True if a call returned maps of attention, whose rows sum to one."""
    weights = call.returned
    if weights is None or weights.ndim != 4 or len(weights) != BATCH:
        return False
    rows = weights.float().sum(-1)
    return bool((weights >= 0).all() and torch.allclose(rows, torch.ones_like(rows), atol=1e-2))


def _own_attention(weights: Call, inside: Sequence[Call]) -> Attention | None:
    """The attention that a map is of, where it has linear maps of its own; None where nothing follows it."""
    around = [call for call in inside if call.holds(weights)]
    linear = [call for call in inside if call.start > weights.end and call.is_linear]
    output = min(linear, key=lambda call: call.start, default=None)
    if not around or output is None or output.given is None:
        return None
    module = max(around, key=lambda call: call.start)
    last = [call for call in inside if module.holds(call) and _is_map(call)][-1]
    _, heads, queries, keys = weights.shape
    kind = "self" if queries == keys else "cross"
    shapes = {"filler": (heads, output.given.shape[-1] // heads)}
    routes = [
        Route(last.path, "output", f"{kind}.attention"),
        Route(output.path, "input", f"{kind}.filler", heads),
    ]
    for part, names in PROJECTIONS.items():
        for call in inside:
            if module.holds(call) and call.path in {f"{module.path}.{name}" for name in names}:
                shapes[part] = (heads, call.shape[-1] // heads)
                routes.append(Route(call.path, "output", f"{kind}.{part}", heads))
    return Attention(module, kind, shapes, tuple(routes))


def _find_mlp(layer: Call, inside: Sequence[Call], attentions: Sequence[Attention]) -> str | None:
    """The path of what makes a layer's feed-forward vectors; None where it has none.

    It is the module that has experts, else the last linear map beside the attention, else that of a
    module with the name of a feed-forward layer.
    """
    flat = (BATCH * layer.shape[1], layer.shape[2])  # OPT's rows are those of the whole batch
    inner = [call for call in inside if call.shape in (layer.shape, flat)]
    experts = [call for call in inner if hasattr(call.module, "experts")]
    if experts:
        return min(experts, key=lambda call: call.start).path
    named = [c for c in inner if {*c.path[len(layer.path) :].split(".")} & {*FEED_FORWARD}]
    for rest in (*_beside(inner, inside, attentions), named):
        linear = [call for call in rest if call.is_linear]
        if linear:
            return max(linear, key=lambda call: call.start).path
    return None


def _beside(
    inner: Sequence[Call], inside: Sequence[Call], attentions: Sequence[Attention]
) -> Iterator[list[Call]]:
    """The calls outside of the largest modules around a layer's attentions, of the next smaller ones, …"""
    around = [
        sorted((c for c in inside if c.holds(each.call) or c == each.call), key=lambda c: c.start)
        for each in attentions
    ]
    for level in range(max(map(len, around), default=0)):
        outer = [each[min(level, len(each) - 1)] for each in around]
        first = min(each.start for each in outer)
        yield [c for c in inner if c.start > first and not any(o == c or o.holds(c) for o in outer)]
