"""A model of transformers as it runs: the tensors of its parts are led through sites."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial

from torch import Tensor, nn
from transformers import PreTrainedModel

from tprprobe.models.huggingface.anatomy import EMBEDDING, ORDERS, Anatomy
from tprprobe.models.huggingface.calls import (
    Attend,
    AttentionResult,
    Letters,
    Tap,
    Tensors,
    Watched,
    intercepted,
    unview,
    view,
)
from tprprobe.site.attachment import Attached, pass_through, place_site
from tprprobe.site.patterns import layer_of
from tprprobe.site.site import FOREIGN, Site

STACKS = ("encoder", "decoder", "layers")  # in the order in which they run
EAGER = "eager"  # the implementation of attention that has maps
ATTENTION_SITES = ("query", "key", "value", "attention", "filler")


class Passed(Exception):
    """Ends a pass behind the last layer that is read."""


class Taps:
    """The sites, and the layer that runs: known by how often one of its stack was called before, as ALBERT's are one module."""

    def __init__(self, attached: Attached, anatomy: Anatomy):
        self.sites: dict[str, Site] = anatomy.sites
        module = attached.get_submodule(FOREIGN)
        attentions = {module.get_submodule(path): a for path, a in anatomy.attentions.items()}
        self.kinds = {
            id(submodule): kind for submodule, (kind, taps) in attentions.items() if not taps
        }
        self.layer, self.stack, self.passed = "", "", Counter()
        self.orders = {name: stack.order for name, stack in anatomy.stacks.items()}
        self.layer_modules = {
            f"{name}.{number}": f"{FOREIGN}.{layer.leave.path}"
            for name, stack in anatomy.stacks.items()
            if stack.order == ORDERS[0]
            and len({layer.leave.path for layer in stack.layers}) == len(stack.layers)
            for number, layer in enumerate(stack.layers)
            if layer.enter.path == layer.leave.path
        }
        self.rows: tuple[int, ...] = (0, 0)  # first axes of the tensor that a layer reads
        self.lengths: dict[str, int] = {}  # of the texts of a stack
        self.running: list[tuple[str, tuple[Tap, ...], Counter]] = []  # the attention that runs
        self.has_computed = any(taps for _, taps in attentions.values())
        self.attended: set[tuple[str, str]] = set()  # layers whose attention has run, self or cross
        self.is_open, self.end = False, ""  # the layer behind which a pass ends; empty for none
        for name, site in anatomy.sites.items():
            place_site(attached, name, site)
        for name, stack in anatomy.stacks.items():
            for path in dict.fromkeys(layer.enter.path for layer in stack.layers):
                enter = partial(self._enter, name)
                pass_through(module.get_submodule(path), "input", enter)
            for path in dict.fromkeys(layer.leave.path for layer in stack.layers):
                pass_through(module.get_submodule(path), "output", self._leave)
        for route in sorted(anatomy.routes, key=lambda route: route.path):
            passed = partial(self._states, route.site)
            pass_through(module.get_submodule(route.path), route.end, passed)
        for submodule, (kind, taps) in attentions.items():
            if taps:
                begin = partial(self._begin, kind, taps)
                submodule.register_forward_pre_hook(begin)
                submodule.register_forward_hook(self._end, always_call=True)

    @contextmanager
    def opened(
        self, module: PreTrainedModel, lengths: Sequence[int], is_whole: bool = True
    ) -> Iterator[None]:
        """A block of one run on texts of these lengths; if not whole, it ends behind the last layer that is read."""
        self.passed.clear()
        self.attended.clear()
        self.running.clear()
        self.lengths = {name: lengths[name == "decoder"] for name in self.orders}
        self.is_open = True
        names = [name for name, site in self.sites.items() if site.is_read]
        maps = any(name.endswith(".attention") for name in names)
        parts_read = {name.rsplit(".", 1)[-1] for name in names} & {*ATTENTION_SITES}
        self.end = "" if is_whole else self._last_layer(names)
        with (
            attending(module, EAGER)
            if (maps and self.kinds) or (parts_read and self.has_computed)
            else nullcontext(),
            intercepted(self._attend) if names and self.kinds else nullcontext(),
            Watched(self._operate) if parts_read and self.has_computed else nullcontext(),
        ):
            try:
                yield
            except Passed:
                pass
            finally:
                self.is_open = False

    def _last_layer(self, names: Sequence[str]) -> str:
        last_stack = max((name.split(".")[0] for name in names), key=STACKS.index)
        layers = (layer_of(name) or 0 for name in names if name.startswith(f"{last_stack}."))
        return f"{last_stack}.{max(layers)}"

    def drop(self, attached: Attached, names: Iterable[str]) -> None:
        for name in names:
            del self.sites[name]
            parent, _, attribute = name.rpartition(".")
            delattr(attached.get_submodule(parent), attribute)

    def _enter(self, stack: str, states: Tensor) -> Tensor:
        self.stack, self.layer, self.rows = stack, f"{stack}.{self.passed[stack]}", states.shape[:2]
        self.passed[stack] += 1
        if self.passed[stack] > 1:
            return states
        self.layer = stack
        after = self._states(EMBEDDING, states)
        self.layer = f"{stack}.0"
        return after

    def _leave(self, states: Tensor) -> Tensor:
        after = self._states("hidden", states)
        if self.layer == self.end:
            raise Passed
        return after

    def _through(self, path: str, tensor: Tensor) -> Tensor:
        """The tensor behind its site; the tensor itself where nobody reads the site."""
        site = self.sites.get(f"{self.layer}.{path}")
        return site(tensor) if site is not None and site.is_read else tensor

    def _states(self, path: str, tensor: Tensor) -> Tensor:
        """Vectors of positions behind their site, as [batch, seq, d_model] without padding that the model adds."""
        site = self.sites.get(f"{self.layer}.{path}")
        if site is None or not site.is_read:
            return tensor
        if tensor.ndim == 2:  # rows of the whole batch
            return self._states(path, tensor.unflatten(0, self.rows)).flatten(0, 1)
        order = self.orders[self.stack]
        turned = tensor if order == ORDERS[0] else tensor.permute(order)
        length = self.lengths.get(self.stack, turned.shape[1])
        if turned.shape[1] > length:  # Longformer adds padding
            turned = turned[:, :length]
        after = site(turned)
        if after is turned or turned is tensor:
            return tensor if after is turned else after
        edited = tensor.clone()
        edited.permute(order)[:, : after.shape[1]] = after
        return edited

    def _begin(self, kind: str, taps: tuple[Tap, ...], *_: object) -> None:
        self.running.append((kind, taps, Counter()))

    def _end(self, *_: object) -> None:
        self.running.pop()

    def _operate(
        self, letters: Letters, compute: Callable[..., Tensor], factors: Tensors
    ) -> Tensor:
        """The result of a product or a softmax, its tensors led through the sites of the attention that runs."""
        if not self.running:
            return compute(*factors)
        kind, taps, counts = self.running[-1]
        taps_here = [tap for tap in taps if tap.is_in(letters, counts[bool(letters)])]
        counts[bool(letters)] += 1
        passed = list(factors)
        for tap in taps_here:
            if tap.place < len(passed):
                passed[tap.place] = self._viewed(kind, tap, passed[tap.place])
        result = compute(*passed)
        for tap in taps_here:
            if tap.place == len(passed):
                result = self._viewed(kind, tap, result)
        return result

    def _viewed(self, kind: str, tap: Tap, tensor: Tensor) -> Tensor:
        site_tensor = view(tensor, tap, self.batch)
        if site_tensor is None:
            return tensor
        after = self._through(f"{kind}.{tap.site}", site_tensor)
        return tensor if after is site_tensor else unview(after, tap)

    @property
    def batch(self) -> int:
        return self.rows[0] if self.orders[self.stack][0] == 0 else self.rows[1]

    def _attend(
        self,
        attention: Attend,
        module: nn.Module,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        *args: object,
        **options: object,
    ) -> AttentionResult:
        """The result of an attention, its tensors led through the sites of the layer that runs."""
        kind = self.kinds.get(id(module))
        if kind is None or (self.layer, kind) in self.attended:  # a second one, as in DiffLlama
            return attention(module, query, key, value, *args, **options)
        self.attended.add((self.layer, kind))
        query = self._per_head(f"{kind}.query", query)
        key = self._per_head(f"{kind}.key", key)
        value = self._per_head(f"{kind}.value", value)
        output, weights = attention(module, query, key, value, *args, **options)
        if weights is not None:
            edited = self._through(f"{kind}.attention", weights)
            if edited is not weights:
                output, weights = attend_by(edited, value), edited
        split = output if output.ndim == 4 else output.unflatten(-1, (query.shape[1], -1))
        after = self._through(f"{kind}.filler", split)
        return (output if after is split else after.reshape(output.shape)), weights

    def _per_head(self, path: str, tensor: Tensor) -> Tensor:
        turned = tensor.transpose(1, 2)
        after = self._through(path, turned)
        return tensor if after is turned else after.transpose(1, 2)


def attend_by(weights: Tensor, value: Tensor) -> Tensor:
    """Σ_k a_qk v_k of every head, [batch, query, head, d_head]; a value may serve several heads."""
    shared = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(shared, dim=1).to(weights.dtype)
    return (weights @ values).transpose(1, 2).contiguous()


@contextmanager
def attending(module: PreTrainedModel, implementation: str) -> Iterator[None]:
    before = str(module.config._attn_implementation)
    if before == implementation:
        yield
        return
    change = module.set_attn_implementation
    if not module._can_set_attn_implementation():  # Falcon's attention looks it up as it runs
        change = partial(setattr, module.config, "_attn_implementation")
    change(implementation)
    try:
        yield
    finally:
        change(before)
