"""The attention that most models of transformers call in common, led through a function of ours.

A model asks ``AttentionInterface.get_interface`` for the function that attends. While a block of
:func:`intercepted` is open, it gets that function inside another; outside of it nothing differs.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from torch import Tensor

Attend = Callable[..., tuple[Tensor, Tensor | None]]  # module, query, key, value, mask, …
METHOD = "get_interface"


@contextmanager
def intercepted(around: Callable[[Attend], Attend]) -> Iterator[None]:
    """A block in which models call ``around(attention)`` in place of their attention."""
    from transformers import AttentionInterface

    before = getattr(AttentionInterface, METHOD)

    def get_interface(self: Any, *given: Any, **named: Any) -> Attend:
        return around(before(self, *given, **named))

    setattr(AttentionInterface, METHOD, get_interface)
    try:
        yield
    finally:
        setattr(AttentionInterface, METHOD, before)
