"""Modules that we did not write, with sites: their submodules' tensors pass through them."""

import contextlib
import copy
import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence, pack_padded_sequence, pad_packed_sequence

from tprprobe.errors import InputError, unknown
from tprprobe.site.site import FOREIGN, Site, attention_map, device_of

NAME = re.compile(r"[A-Za-z]\w*(\.\w+)*")
PER_HEAD = ("query", "key", "value", "role", "filler", "binding")
VECTORS = {True: "batch seq head d_head", False: "batch seq d_model"}
ENCODING = "encoding"  # the name of a site with one vector a sample
TOLERANCE = 1e-3  # of a state's largest number, how much rounding may change it, or so many steps of its dtype:
STEPS = 10


class Attached(nn.Module):
    """A module of another library with sites, called as ``attached(source, target)``.

    Args:
        module: The module.
        forward: How it is called, see :func:`attach`.

    Attributes:
        architecture: Always None.
        folder: Always None.
        config: The configuration of the module; None if it has none.
        name: Its name, by default that of its class.
        vocabulary: What makes ids of texts; None until it is set.
        source: Where it was loaded from; None until it is set.
        loaded_by: The arguments of :func:`load_model` that gave it, and marks of its weights then; None of a model in memory.
        notes: Facts about its weights, for the manifest of every store.
        needs_equal_lengths: Whether a text's states depend on padding, so that a batch has texts of one length.

    Examples:
        >>> attached = tp.attach(torch.nn.Linear(4, 2), {"encoder.0.hidden": ""})
        >>> attached(torch.zeros(1, 3, 4)).shape
        torch.Size([1, 3, 2])
    """

    architecture = folder = None
    loaded_by: tuple[tuple[object, ...], object] | None = None

    def __init__(self, module: nn.Module, forward: Callable[..., object] | None):
        super().__init__()
        self.add_module(FOREIGN, module)
        self._call = forward
        self.config: Any = getattr(module, "config", None)
        self.name: str = getattr(module, "name", type(module).__name__)
        self.vocabulary: Any = None
        self.source: str | None = None
        self.notes: dict[str, str] = {}  # what is to be known of its weights, for every manifest
        self.needs_equal_lengths = False
        self.calls = 0  # what passes a site during one call belongs together
        self.first: int | None = None  # the position that a pass begins at, where that is known
        self.attach_again: Callable[..., Attached] | None = None

    def copied(self) -> "Attached":
        """A copy of the module with the same sites; hooks on the copy do not act on the original.

        Returns:
            The copy.

        Raises:
            InputError: The module cannot be copied.
        """
        try:
            module = copy.deepcopy(self.get_submodule(FOREIGN))
        except (RuntimeError, TypeError) as error:
            raise InputError(
                f"{self.name} cannot be copied, so it has no twin (go on with control=False): {error}"
            ) from error
        if self.attach_again is None:
            raise InputError(f"{self.name} cannot be copied with its sites: call tp.attach again")
        copied = self.attach_again(module)
        copied.vocabulary, copied.name = self.vocabulary, self.name
        return copied

    @property
    def device(self) -> torch.device:
        """Where its weights are."""
        return device_of(self)

    def compare_padded(self, states: Iterable[tuple[Tensor, Tensor]]) -> None:
        """Sets ``needs_equal_lengths``, with a note, if padding changes states beyond rounding.

        Args:
            states: States of a text that was read beside a longer one, and the same of the text alone.
        """
        self.needs_equal_lengths = any(_differs(*pair) for pair in states)
        if self.needs_equal_lengths:
            text = "of texts of one length, since padding changes the states of this model"
            self.notes["batches"] = text

    def forward(self, *batch: object) -> Any:
        """The result of the module's own call.

        Args:
            *batch: What the module takes.

        Returns:
            What the module returns.
        """
        module, self.calls = self.get_submodule(FOREIGN), self.calls + 1
        has_reader = any(isinstance(site, Site) and site.is_read for site in self.modules())
        with _padded(module) if has_reader else contextlib.nullcontext():
            return self._call(module, batch) if self._call else module(*batch)

    def describe(self) -> dict[str, object]:
        """Facts about the module by name, in JSON types.

        Returns:
            The class of the module as its architecture, and ``notes``.
        """
        return {"architecture": type(self.get_submodule(FOREIGN)).__name__, **self.notes}

    def run(self, source: Tensor, target: Tensor) -> object:
        """A forward pass for the sake of the sites, as an extraction makes it.

        Args:
            source: The ids that the module reads.
            target: The decoder's ids.

        Returns:
            What the module returns.

        Raises:
            InputError: The module's own ``forward`` does not take both.
        """
        signature = inspect.signature(self.get_submodule(FOREIGN).forward)
        if self._call is None:
            try:
                signature.bind(source, target)
            except TypeError as error:
                raise InputError(
                    f"{self.name}: its forward{signature} does not take the ids of a source and of a target: give "
                    "tp.attach(module, mapping, forward=lambda module, batch: module(batch[0]))"
                ) from error
        return self(source, target)


def _differs(padded: Tensor, unpadded: Tensor) -> bool:
    moved = max(TOLERANCE, STEPS * torch.finfo(unpadded.dtype).eps)
    return bool((padded - unpadded).abs().max() > moved * unpadded.abs().max())


@contextlib.contextmanager
def _padded(module: nn.Module) -> Iterator[None]:
    """A block in which torch's encoders pass on [batch, seq, …], not nested tensors without pads."""
    stacks = [stack for stack in module.modules() if isinstance(stack, nn.TransformerEncoder)]
    nested_stacks = [stack for stack in stacks if stack.use_nested_tensor]
    try:
        for stack in nested_stacks:
            stack.use_nested_tensor = False
        yield
    finally:
        for stack in nested_stacks:
            stack.use_nested_tensor = True


def attach(
    module: nn.Module,
    mapping: Mapping[str, str],
    heads: int | None = None,
    forward: Callable[[nn.Module, tuple], object] | None = None,
) -> Attached:
    """A module of another library with sites; its code stays as it is.

    Args:
        module: The module.
        mapping: The submodule behind every site, by the site's name: ``path`` is the submodule's output,
            ``path:input`` its first input. A site named ``….attention`` is a map [batch, head, query, key], or [batch, query, key] of one head: the output of a
            softmax, or the weights of an ``nn.MultiheadAttention``, which can be read but not edited. One named
            ``encoding`` or ``….encoding`` is one vector a sample [batch, d_model], any other [batch, seq, d_model].
        heads: The number of heads of query, key, value, role, filler and binding, which are then read as [batch, seq, head,
            d_head]; default: these sites have no heads.
        forward: ``forward(module, batch)`` calls the module; default: ``module(*batch)``.

    Returns:
        The module with sites, for :func:`capture`, :func:`intervene` and :func:`extract`.

    Raises:
        InputError: The module has no such submodule, or a site's name is no dotted name.

    Examples:
        >>> module = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.Linear(8, 8))
        >>> attached = tp.attach(module, {"encoder.0.self.role": "1"}, heads=2)
        >>> with tp.capture(attached, "encoder.0.self.role") as vectors:
        ...     _ = attached(torch.tensor([[1, 2, 3]]))
        >>> vectors["encoder.0.self.role"].shape
        torch.Size([1, 3, 2, 4])
    """
    attached = Attached(module, forward)
    attached.attach_again = lambda copied_module: attach(copied_module, mapping, heads, forward)
    submodules = dict(module.named_modules())
    for name, where in mapping.items():
        path, _, end = where.partition(":")
        if path not in submodules:
            raise unknown("submodule", path, [key for key in submodules if key])
        if end not in ("", "input"):
            raise InputError(f"{where!r}: a submodule's output is 'path', its input 'path:input'")
        kind = name.rsplit(".", 1)[-1]
        per_head = heads is not None and kind in PER_HEAD
        vectors = Site("batch d_model" if kind == ENCODING else VECTORS[per_head])
        site = attention_map() if kind == "attention" else vectors
        place_site(attached, name, site)
        submodule = submodules[path]
        if kind == "attention" and isinstance(submodule, nn.MultiheadAttention) and not end:
            _read_weights(submodule, site, where)
            continue
        through = partial(_through, site, where, heads if per_head else None)
        pass_through(submodule, end, through, partial(_refuse, site, where))
    return attached


def place_site(root: nn.Module, name: str, site: Site) -> None:
    if not NAME.fullmatch(name):
        raise InputError(f"site {name!r}: give a dotted name like 'encoder.0.self.role'")
    *parents, leaf = name.split(".")
    for parent in parents:
        if not hasattr(root, parent):
            root.add_module(parent, nn.Module())
        root = getattr(root, parent)
    if not isinstance(root, nn.Module) or isinstance(root, Site) or hasattr(root, leaf):
        raise InputError(f"site {name!r}: this name, or a part of it, is already used")
    root.add_module(leaf, site)


def _through(site: Site, where: str, heads: int | None, tensor: Tensor) -> Tensor:
    if not site.is_read:
        return tensor
    is_map = "query" in site.axes
    if is_map and tensor.ndim == 3 and bool(((tensor.sum(-1) - 1).abs() < TOLERANCE).all()):
        return site(tensor[:, None])[:, 0]  # of one head
    if is_map and tensor.ndim != len(site.axes):
        raise InputError(
            f"{where!r} has shape {tuple(tensor.shape)}, a map of attention is [batch, head, query, "
            "key]: give the submodule that returns it: nn.MultiheadAttention, a softmax or the dropout after it"
        )
    if heads is None:
        return site(tensor)
    if tensor.shape[-1] % heads:
        raise InputError(f"{where!r}: {heads} heads do not divide {tensor.shape[-1]}")
    return site(tensor.unflatten(-1, (heads, -1))).flatten(-2)


def _read_weights(attention: nn.MultiheadAttention, site: Site, where: str) -> None:
    """Leads the weights of every head, which are computed once more, through a site that is read."""
    signature = inspect.signature(attention.forward)

    def read(module: nn.Module, args: tuple, kwargs: dict[str, Any], _output: object) -> None:
        if not site.is_read:
            return
        options = signature.bind(*args, **kwargs).arguments
        options |= {"need_weights": True, "average_attn_weights": False}
        weights = module.forward(**options)[1]
        if _through(site, where, None, weights) is not weights:
            raise InputError(
                f"{where!r}: the map of nn.MultiheadAttention can be read, not edited; edit its output"
            )

    attention.register_forward_hook(read, with_kwargs=True)


def _refuse(site: Site, where: str, values: object) -> object:
    if site.is_read:
        raise InputError(f"{where!r} is no tensor nor begins with one: give another submodule")
    return values


def pass_through(
    submodule: nn.Module,
    end: str,
    passed: Callable[[Tensor], Tensor],
    otherwise: Callable[[object], object] = lambda values: values,
) -> None:
    """Leads the first tensor that a submodule is given (``input``) or returns through a function, filled up if it is packed; without a
    tensor, ``otherwise``.
    """

    def unpacked(packed: PackedSequence) -> PackedSequence:
        padded, lengths = pad_packed_sequence(packed, batch_first=True)
        after = passed(padded)
        if after is padded:
            return packed
        return pack_padded_sequence(after, lengths, batch_first=True, enforce_sorted=False)

    def replaced(values: object) -> object:
        if isinstance(values, Tensor):
            return passed(values)
        if isinstance(values, PackedSequence):
            return unpacked(values)
        if (
            isinstance(values, tuple | list)
            and values
            and isinstance(values[0], Tensor | PackedSequence)
        ):
            after = replaced(values[0])
            changed = values if after is values[0] else (after, *values[1:])
            return list(changed) if isinstance(values, list) else changed
        return otherwise(values)

    def before(
        _module: nn.Module, args: tuple, kwargs: dict[str, object]
    ) -> tuple[object, dict[str, object]]:
        if args:
            return replaced(args), kwargs
        tensors = ((k, v) for k, v in kwargs.items() if isinstance(v, Tensor))
        floats = next(((k, v) for k, v in tensors if v.is_floating_point()), None)
        return args, kwargs if floats is None else {**kwargs, floats[0]: passed(floats[1])}

    if end == "input":
        submodule.register_forward_pre_hook(before, with_kwargs=True)
    else:
        submodule.register_forward_hook(lambda _m, _i, output: replaced(output))
