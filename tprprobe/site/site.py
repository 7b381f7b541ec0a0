"""Site: a named point of a model at which vectors can be read or replaced."""

import torch
from torch import nn

FOREIGN = "_foreign"  # the name of a module that we did not write, in the one that has its sites


class Site(nn.Identity):
    """A site: it returns its input; its dotted module name is its public name, ``axes`` its shape.

    A hook on it that returns None captures, one that returns a tensor intervenes
    (:mod:`tprprobe.site.hooks`). A site has no parameters, and costs nothing while nobody reads it.
    """

    def __init__(self, axes: str, width: int | None = None):
        super().__init__()
        self.axes = tuple(axes.split())
        self.width = width
        self.passes = 0  # how often the last call that was captured passed it

    @property
    def is_read(self) -> bool:
        """True if somebody reads or replaces the tensor; costly ones are computed only then."""
        return bool(self._forward_hooks) or _is_traced(self)

    def extra_repr(self) -> str:
        return " × ".join(self.axes)


def device_of(module: nn.Module) -> torch.device:
    weights = next(module.parameters(), None)
    return torch.device("cpu") if weights is None else weights.device


def _is_traced(site: nn.Module) -> bool:
    """True while a trace of nnsight (from 0.8 on), which registers no hook, waits for the site's tensor."""
    state = site.__dict__.get("__nnsight__")
    if state is None:
        return False
    trace, _, places = state.active()
    waiting = [*trace.parked, *trace.observers] if trace is not None else []
    return any(place in waiting for place in places)


def per_head(d_head: int) -> Site:
    return Site("batch seq head d_head", d_head)


def per_position(d_model: int) -> Site:
    return Site("batch seq d_model", d_model)


def attention_map() -> Site:
    return Site("batch head query key")


def per_sample(d_model: int) -> Site:
    return Site("batch d_model", d_model)
