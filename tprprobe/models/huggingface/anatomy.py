"""Where the layers of a model of transformers are, and the parts of each, found by running it once.

Structure tells, not names: layers are the modules of a list, each of which reads what the one before it returned; an attention
is what calls the library's common attention, or computes one; the feed-forward layer makes the last vector a position behind it.
"""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import cast

import torch
from torch import Tensor, nn
from transformers import PreTrainedModel

from tprprobe.models.huggingface.calls import Call, Operation, Record, Tap, find_taps, record, view
from tprprobe.models.huggingface.tokenizer import count_rows
from tprprobe.models.placement import input_device
from tprprobe.site.site import Site

BATCH, SOURCE, TARGET = 2, 5, 3  # of the ids that a model is run on: three sizes that differ
CAUSAL = 1e-6  # of the change of a state, what states before it may change by rounding
ORDERS = ((0, 1, 2), (1, 0, 2), (0, 2, 1))  # where a tensor has [batch, seq, d_model]
FEED_FORWARD = ("mlp", "ffn")
EMBEDDING = "embedding"  # the site of what the first layer of a stack reads
NUMBER = re.compile(r"(?<=\.)\d+(?=\.|$)")  # of a module in a list


@dataclass(frozen=True)
class Route:
    """Where a tensor of a site passes: a submodule's input or output."""

    path: str
    end: str
    site: str


@dataclass(frozen=True)
class Layer:
    """The call that a layer begins with and the one that returns its states; of a layer that is a module the same."""

    enter: Call
    leave: Call

    def holds(self, call: Call) -> bool:
        is_itself = call is self.enter is self.leave
        return self.enter.start <= call.start and call.end <= self.leave.end and not is_itself

    def spans(self, time: int) -> bool:
        return self.enter.start < time < self.leave.end


@dataclass(frozen=True)
class Stack:
    """The layers of a stack in order, and where their tensors have batch, positions and vectors."""

    layers: list[Layer]
    order: tuple[int, ...] = ORDERS[0]

    @property
    def width(self) -> int:
        return self.layers[0].leave.shape[self.order[2]]

    @property
    def states(self) -> Tensor | None:
        returned = self.layers[-1].leave.returned
        return None if returned is None else returned.permute(self.order)


@dataclass(frozen=True)
class Attention:
    """A call of an attention, of its stack (``self``) or of another (``cross``), and the shapes of its heads."""

    call: Call
    kind: str
    shapes: dict[str, tuple[int, int]]  # query, key, value, filler → heads, width of a head
    taps: tuple[Tap, ...] = ()  # of its tensors; empty where it calls the attention in common


@dataclass
class Anatomy:
    """The stacks of a model, the sites, and where their tensors pass."""

    stacks: dict[str, Stack] = field(default_factory=dict)
    sites: dict[str, Site] = field(default_factory=dict)
    routes: set[Route] = field(default_factory=set)
    # by path: self or cross, and the taps of an attention that the model computes itself
    attentions: dict[str, tuple[str, tuple[Tap, ...]]] = field(default_factory=dict)


def explore(module: PreTrainedModel, run: Callable[..., object], two_stacks: bool) -> Anatomy:
    """The anatomy of a model, which ``run(ids, target, **options)`` calls."""
    size = min(count_rows(module), 30)
    device = input_device(module)
    ids = torch.arange(BATCH * SOURCE, device=device).reshape(BATCH, SOURCE) % (size - 2) + 1
    target = ids[:, :TARGET]
    run_record = record(module, lambda: run(ids, target))
    stacks = find_stacks(module, run_record.calls)
    if len(stacks) < 1 + two_stacks:
        second_calls = partial(run, ids, target, output_hidden_states=True)
        stacks = _stacks_by_states(run_record.calls, second_calls) | stacks
    only = None if two_stacks else stacks.get("encoder")
    if not two_stacks:
        stacks = {}
    if only is not None:
        flags = [getattr(call.module, "is_causal", None) for call in run_record.attended]
        is_causal = any(flags)
        if not any(flag is not None for flag in flags):
            changed = ids.clone()
            changed[:, -1] = (changed[:, -1] + 1) % size
            second_calls = record(module, lambda: run(changed, target)).calls
            path = only.layers[-1].leave.path
            last_call = [call for call in second_calls if call.path == path][-1]
            after = Stack([Layer(last_call, last_call)], only.order).states
            is_causal = looks_back(only.states, after)
        stacks = {"layers" if is_causal else "encoder": only}
    anatomy = Anatomy(stacks)
    for name, stack in stacks.items():
        anatomy.sites[f"{name}.{EMBEDDING}"] = Site("batch seq d_model", stack.width)
        for number, layer in enumerate(stack.layers):
            _add_layer(anatomy, f"{name}.{number}", stack, layer, run_record)
    return anatomy


def looks_back(before: Tensor | None, after: Tensor | None) -> bool:
    """True if a change of the last id changed no state before it."""
    if before is None or after is None:
        return False
    change = (before - after).abs().float().amax((0, 2))
    return bool(change[:-1].max() <= CAUSAL * change[-1])


def find_stacks(module: nn.Module, calls: Sequence[Call]) -> dict[str, Stack]:
    """The stacks: of the lists of modules in which each reads what the one before returned, those with most weights."""
    largest: dict[str, tuple[int, Stack]] = {}
    outer: list[str] = []
    for path, submodule, members in _lists(module, calls):
        if any(path.startswith(f"{name}.") for name in outer):
            continue
        order = next((o for o in ORDERS if all(_is_states(call, o) for call in members)), None)
        if order is None or not all(map(_follows, members[1:], members)):
            continue
        outer.append(path)
        name = {SOURCE: "encoder", TARGET: "decoder"}[members[0].shape[order[1]]]
        size = sum(weights.numel() for weights in submodule.parameters())
        if size > largest.get(name, (0, None))[0]:
            largest[name] = (size, Stack([Layer(call, call) for call in members], order))
    return {name: stack for name, (_, stack) in sorted(largest.items(), reverse=True)}


def _stacks_by_states(calls: Sequence[Call], run: Callable[[], object]) -> dict[str, Stack]:
    """The stacks whose layers are no modules, or pad texts: lists of modules that return the library's own states."""
    try:
        with torch.no_grad():
            output = run()
    except TypeError:  # the model has no such option
        return {}
    if not isinstance(output, Mapping):
        return {}
    stacks = {}
    keys = ("decoder_hidden_states", "encoder_hidden_states", "hidden_states")
    for name in keys:
        states = [tensor for tensor in output.get(name) or () if isinstance(tensor, Tensor)]
        for members in _families(calls):
            orders = {_returns(*pair) for pair in zip(members, states[1:], strict=False)}
            if len(states) == len(members) + 1 and len(orders) == 1 and (order := orders.pop()):
                stack = "decoder" if name.startswith("decoder") else "encoder"
                stacks[stack] = Stack(list(_between(members, calls)), order)
    return stacks


def _lists(
    module: nn.Module, calls: Sequence[Call]
) -> Iterator[tuple[str, nn.ModuleList, list[Call]]]:
    """The lists of modules of a model, with the calls of their members in order."""
    for path, submodule in module.named_modules():
        if isinstance(submodule, nn.ModuleList):
            names = {f"{path}.{i}" for i in range(len(submodule))}
            members = sorted((c for c in calls if c.path in names), key=lambda call: call.start)
            if members:
                yield path, submodule, members


def _families(calls: Sequence[Call]) -> Iterator[list[Call]]:
    """Calls of modules whose paths differ in a number alone, in order: ``layer_norm2.0``, ``layer_norm2.1``, …"""
    families: dict[tuple[str, str], list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.start):
        for number in NUMBER.finditer(call.path):
            families[call.path[: number.start()], call.path[number.end() :]].append(call)
    yield from families.values()


def _is_states(call: Call, order: tuple[int, ...]) -> bool:
    is_batch = len(call.shape) == 3 and call.shape[order[0]] == BATCH
    return is_batch and call.shape[order[1]] in (SOURCE, TARGET)


def _follows(after: Call, before: Call) -> bool:
    received, states = after.received, before.returned
    return received is not None and states is not None and torch.equal(received, states)


def _returns(call: Call, states: Tensor) -> tuple[int, ...]:
    """The order of axes by which a call returned these states, with padding behind them or without; empty if it did not."""
    tensor = call.returned
    for order in ORDERS if tensor is not None and tensor.ndim == 3 else ():
        candidate = cast(Tensor, tensor).permute(order)[:, : states.shape[1]]
        if candidate.shape == states.shape and torch.allclose(candidate, states, atol=1e-6):
            return order
    return ()


def _between(members: Sequence[Call], calls: Sequence[Call]) -> Iterator[Layer]:
    """The layers that these calls end: modules, or all that is called from the end of the layer before."""
    if all(map(_follows, members[1:], members)):
        yield from (Layer(call, call) for call in members)
        return
    by_start = sorted(calls, key=lambda call: call.start)
    starts = [next(c for c in by_start if c.start > m.end) for m in members[:-1]]
    first_path = NUMBER.sub("0", starts[0].path, count=1)
    starts.insert(0, next(call for call in calls if call.path == first_path))
    yield from map(Layer, starts, members)


def _add_layer(
    anatomy: Anatomy, prefix: str, stack: Stack, layer: Layer, run_record: Record
) -> None:
    inside = [call for call in run_record.calls if layer.holds(call)]
    attentions: dict[str, Attention] = {}
    for attention in _attentions(layer, inside, run_record):
        attentions.setdefault(attention.kind, attention)
    for kind in sorted(attentions, reverse=True):
        _add_attention(anatomy, f"{prefix}.{kind}", attentions[kind], stack)
    if (path := _find_mlp(layer.leave, inside, list(attentions.values()))) is not None:
        anatomy.sites[f"{prefix}.mlp"] = Site("batch seq d_model", stack.width)
        anatomy.routes.add(Route(path, "output", "mlp"))
    anatomy.sites[f"{prefix}.hidden"] = Site("batch seq d_model", stack.width)


def _add_attention(anatomy: Anatomy, prefix: str, attention: Attention, stack: Stack) -> None:
    path, received = attention.call.path, attention.call.received
    if received is not None and received.ndim == 3:
        width = received.shape[stack.order[2]]
        anatomy.sites[f"{prefix}.input"] = Site("batch seq d_model", width)
        anatomy.routes.add(Route(path, "input", f"{attention.kind}.input"))
    heads = attention.shapes["filler"][0]
    for site in ("query", "key", "value", "attention", "filler"):
        if site == "attention":
            anatomy.sites[f"{prefix}.{site}"] = Site("batch head query key")
        elif site in attention.shapes:
            count, width = attention.shapes[site]
            axis = "head" if count == heads else "key_head"
            anatomy.sites[f"{prefix}.{site}"] = Site(f"batch seq {axis} d_head", width)
    anatomy.attentions[path] = attention.kind, attention.taps


def _attentions(layer: Layer, inside: Sequence[Call], run_record: Record) -> Iterator[Attention]:
    for time, module, query, key, value in run_record.attended:
        callers = [c for c in inside if c.module is module and c.start < time < c.end]
        if callers:
            shapes = {"query": query, "key": key, "value": value}
            heads = {name: (shape[1], shape[3]) for name, shape in shapes.items()}
            heads["filler"] = (query[1], value[3])
            yield Attention(callers[0], "self" if key[2] == query[2] else "cross", heads)
    operations = [(time, o) for time, o in run_record.operations if layer.spans(time)]
    around: list[Call] = []
    for call in sorted([*inside, layer.leave], key=lambda call: call.end - call.start):
        inner = [operation for time, operation in operations if call.start < time < call.end]
        if not any(call.holds(outer) for outer in around) and (taps := find_taps(inner, BATCH)):
            around.append(call)
            yield _own_attention(call, inner, taps)


def _own_attention(call: Call, operations: Sequence[Operation], taps: dict[str, Tap]) -> Attention:
    shapes, lengths = {}, {}
    products = [operation for operation in operations if operation.letters]
    for site, tap in taps.items():
        if site != "attention":
            tensor = view(products[tap.number].tensors[tap.place], tap, BATCH)
            if tensor is not None:
                shapes[site], lengths[site] = tuple(tensor.shape[2:]), tensor.shape[1]
    kind = "self" if lengths.get("query") == lengths.get("key") else "cross"
    site_taps = tuple(tap for site, tap in taps.items() if site in {*shapes, "attention"})
    return Attention(call, kind, shapes, site_taps)


def _find_mlp(layer: Call, inside: Sequence[Call], attentions: Sequence[Attention]) -> str | None:
    """The path of the module with experts, else of the last linear map beside the attention, else of one named as a feed-forward layer."""
    flat = (BATCH * layer.shape[1], layer.shape[2])  # OPT's rows are those of the whole batch
    inner = [call for call in inside if call.shape in (layer.shape, flat)]
    experts = [call for call in inner if hasattr(call.module, "experts")]
    if experts:
        return min(experts, key=lambda call: call.start).path
    by_name = [c for c in inner if {*c.path[len(layer.path) :].split(".")} & {*FEED_FORWARD}]
    for candidates in (*_beside(inner, inside, attentions), by_name):
        linear = [call for call in candidates if call.is_linear]
        if linear:
            return max(linear, key=lambda call: call.start).path
    return None


def _beside(
    inner: Sequence[Call], inside: Sequence[Call], attentions: Sequence[Attention]
) -> Iterator[list[Call]]:
    """The calls outside of the largest modules around a layer's attentions, of the next smaller ones, …"""
    by_start = sorted(inside, key=lambda call: call.start)
    calls = [attention.call for attention in attentions]
    around = [[c for c in by_start if c.holds(call) or c == call] for call in calls]
    for level in range(max(map(len, around), default=0)):
        outer = [attention[min(level, len(attention) - 1)] for attention in around]
        start = min(attention.start for attention in outer)
        yield [c for c in inner if c.start > start and not any(o == c or o.holds(c) for o in outer)]
