"""A model of transformers as it runs: the tensors of its parts are led through sites."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from typing import Any

from torch import Tensor, nn

from tprprobe.models.huggingface.anatomy import EMBEDDING, Anatomy, Route
from tprprobe.models.huggingface.calls import Attend, intercepted
from tprprobe.site.attachment import Attached, pass_through, place_site
from tprprobe.site.site import FOREIGN, Site

EAGER = "eager"  # the implementation of attention that has maps


class Taps:
    """The sites of a model and the layer that runs, by which a tensor's site is known.

    A layer is known by how often one of its stack was called before: ALBERT's are one module.
    """

    def __init__(self, attached: Attached, anatomy: Anatomy):
        self.sites: Mapping[str, Site] = anatomy.sites
        module: Any = attached.get_submodule(FOREIGN)
        self.kinds = {id(module.get_submodule(p)): kind for p, kind in anatomy.attentions.items()}
        self.layer, self.places, self.passed = "", (0, 0), Counter()
        self.is_open = False
        for name, site in anatomy.sites.items():
            place_site(attached, name, site)
        for stack, paths in anatomy.stacks.items():
            for path in paths:
                layer = module.get_submodule(path)
                pass_through(layer, "input", lambda tensor, stack=stack: self._enter(stack, tensor))
                pass_through(layer, "output", lambda tensor: self._through("hidden", tensor))
        for route in sorted(anatomy.routes, key=lambda route: route.path):
            pass_through(module.get_submodule(route.path), route.end, self._follow(route))

    @contextmanager
    def opened(self, module: Any) -> Iterator[None]:
        """A block in which the model runs once."""
        self.passed.clear()
        self.is_open = True
        read = [name for name, site in self.sites.items() if site.is_read]
        maps = any(name.endswith(".attention") for name in read)
        with (
            attending(module, EAGER) if maps and self.kinds else nullcontext(),
            intercepted(self._attend) if read and self.kinds else nullcontext(),
        ):
            try:
                yield
            finally:
                self.is_open = False

    def _enter(self, stack: str, states: Tensor) -> Tensor:
        self.layer, self.places = f"{stack}.{self.passed[stack]}", states.shape[:2]
        self.passed[stack] += 1
        site = self.sites[f"{stack}.{EMBEDDING}"]
        return site(states) if self.passed[stack] == 1 and site.is_read else states

    def _through(self, part: str, tensor: Tensor) -> Tensor:
        """The tensor behind its site; the tensor itself where nobody reads the site."""
        site = self.sites.get(f"{self.layer}.{part}")
        return site(tensor) if site is not None and site.is_read else tensor

    def _follow(self, route: Route) -> Callable[[Tensor], Tensor]:
        def follow(tensor: Tensor) -> Tensor:
            if tensor.ndim == 2:  # rows of the whole batch
                return follow(tensor.unflatten(0, self.places)).flatten(0, 1)
            if route.heads is None:
                return self._through(route.part, tensor)
            split = tensor.unflatten(-1, (route.heads, -1))
            after = self._through(route.part, split)
            return tensor if after is split else after.flatten(-2)

        return follow

    def _attend(self, attention: Attend) -> Attend:
        """The attention with its tensors led through the sites of the layer that runs."""

        def attend(
            module: nn.Module, query: Tensor, key: Tensor, value: Tensor, *more: Any, **named: Any
        ) -> Any:
            kind = self.kinds.get(id(module))
            if kind is None:
                return attention(module, query, key, value, *more, **named)
            query, key, value = (
                self._per_head(f"{kind}.{part}", tensor)
                for part, tensor in (("query", query), ("key", key), ("value", value))
            )
            output, weights = attention(module, query, key, value, *more, **named)
            if weights is not None:
                edited = self._through(f"{kind}.attention", weights)
                if edited is not weights:
                    output, weights = attend_by(edited, value), edited
            split = output if output.ndim == 4 else output.unflatten(-1, (query.shape[1], -1))
            after = self._through(f"{kind}.filler", split)
            return (output if after is split else after.reshape(output.shape)), weights

        return attend

    def _per_head(self, part: str, tensor: Tensor) -> Tensor:
        """A tensor [batch, head, seq, d_head] behind its site."""
        turned = tensor.transpose(1, 2)
        after = self._through(part, turned)
        return tensor if after is turned else after.transpose(1, 2)


def attend_by(weights: Tensor, value: Tensor) -> Tensor:
    """Σ_k a_qk v_k of every head, [batch, query, head, d_head]; a value may serve several heads."""
    shared = weights.shape[1] // value.shape[1]
    values = value.repeat_interleave(shared, dim=1).to(weights.dtype)
    return (weights @ values).transpose(1, 2).contiguous()


@contextmanager
def attending(module: Any, implementation: str) -> Iterator[None]:
    before = module.config._attn_implementation
    if before == implementation:
        yield
        return
    module.set_attn_implementation(implementation)
    try:
        yield
    finally:
        module.set_attn_implementation(before)
