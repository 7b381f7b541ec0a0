"""Site: a named point of a model at which vectors can be read or replaced."""

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

    @property
    def is_read(self) -> bool:
        """True if a hook is registered; costly vectors are computed only then."""
        return bool(self._forward_hooks)

    def extra_repr(self) -> str:
        return " × ".join(self.axes)


def per_head(d_head: int) -> Site:
    """A site with one vector per head."""
    return Site("batch seq head d_head", d_head)


def per_position(d_model: int) -> Site:
    """A site with one vector per position."""
    return Site("batch seq d_model", d_model)


def attention_map() -> Site:
    """A site of attention weights; the map is computed only while it is read."""
    return Site("batch head query key")
