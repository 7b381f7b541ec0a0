"""Models that other libraries hold: the adapter of a library (registry ``tprprobe.adapters``) gives them sites."""

from abc import ABC
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn

from tprprobe import plugins
from tprprobe.site.site import Site

ADAPTED = "_tprprobe_adapted"  # where a model of another library keeps what its adapter made of it


class Adaptation:
    """What an adapter made of a model, which keeps it; a copy of the model does not."""

    def __init__(self, model: Any = None):
        self.model = model

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return Adaptation, ()


class Adaptable(ABC):  # noqa: B024  a kind of classes that nobody derives from
    """A model of a library that has an adapter: its class, or a base of it, comes from there."""

    @classmethod
    def __subclasshook__(cls, kind: type) -> bool:
        return find_adapter(kind) is not None


def find_adapter(kind: type) -> plugins.Plugin | None:
    """The adapter of the first library among the bases of a class."""
    adapters = plugins.find("adapters")
    libraries = (base.__module__.partition(".")[0] for base in kind.__mro__)
    return next((adapters[name] for name in libraries if name in adapters), None)


def with_sites(model: nn.Module | Adaptable, tokenizer: object = None) -> Any:
    """The model itself if it has sites, or what the adapter of its library makes of it, once, for a tokenizer."""
    modules = model.modules() if isinstance(model, nn.Module) else ()
    has_sites = any(isinstance(module, Site) for module in modules)
    if has_sites or (adapter := find_adapter(type(model))) is None:
        return model
    adaptation = vars(model).get(ADAPTED, Adaptation())
    if adaptation.model is None:
        adaptation = Adaptation(adapter.load()(model, tokenizer))
        object.__setattr__(model, ADAPTED, adaptation)
    elif tokenizer is not None:
        adaptation.model.read_by(tokenizer)
    return adaptation.model


@contextmanager
def followed(model: nn.Module | Adaptable) -> Iterator[Any]:
    """A block in which the sites of a model also see the calls of what was adapted to it."""
    adapted = with_sites(model)
    if adapted is model:
        yield model
    else:
        with adapted.following(model):
            yield adapted
