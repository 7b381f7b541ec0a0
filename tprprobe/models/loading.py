"""Models by name, from every source, and their twins: controls of a model's structure.

permuted   the trained weights, in another order within every matrix and vector: all keep their scale
untrained  weights drawn anew, as the model's configuration says
rescaled   the same, and every matrix multiplied to the scale of the trained one
The scale of a matrix is the root mean square of its numbers.
"""

import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from statistics import median

import torch
from torch import Tensor, nn

from tprprobe import plugins
from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.models.checkpoint import TRANSFORMERS, read_checkpoint, untrained_twin
from tprprobe.models.permutation import permute, permuted
from tprprobe.models.placement import Placement, find_device, find_dtype, read_device_map
from tprprobe.models.protocol import Language, Model, Readable
from tprprobe.site.adapters import Adaptable, with_sites
from tprprobe.site.attachment import Attached
from tprprobe.store.layout import TWINS

PERMUTED, UNTRAINED, RESCALED = TWINS
FAR = 1.5  # a factor between scales


def load_model(
    name: str | os.PathLike[str] | nn.Module | Adaptable,
    tokenizer: object = None,
    device: str = "cpu",
    local_files_only: bool = False,
    seed: int = 0,
    dtype: str = "auto",
    device_map: str | None = None,
    max_memory: Sequence[str] | None = None,
    quantization: str | None = None,
) -> Readable:
    """The model of a name, in evaluation mode.

    Args:
        name: A shipped checkpoint, a folder, a hub id, or ``hf:PATH``: a model of transformers (hub id, folder or
            ``.gguf`` file) with sites attached. ``permuted:NAME``, ``untrained:NAME`` and ``rescaled:NAME``
            are its twins, which serve as controls: the trained weights in another order within every matrix and vector
            (their scale stays), weights initialized anew, and the same at the scale of the trained matrices.
            Or a model in memory, which transformers, peft, sentence-transformers, nnsight or TransformerLens
            holds: it stays where it is, in its dtype.
        tokenizer: The tokenizer of a model in memory; default: the one that it has, else none.
        device: Where the weights are put: ``cpu``, ``cuda``, ``cuda:1``, ``mps``.
        local_files_only: Whether the hub is not asked for files that are not on this machine.
        seed: The seed with which a twin is drawn.
        dtype: The type of the weights: auto (as the checkpoint has them; our models and GGUF files float32), float32,
            bfloat16 or float16.
        device_map: How accelerate divides a model of transformers among devices: auto, balanced, sequential, disk
            (every weight is read from its file when it is needed), or a JSON file of module → device.
        max_memory: What a device holds at most under a device map, as DEVICE=SIZE: ``cpu=4GiB``, ``0=20GiB``.
        quantization: Weights of a model of transformers are rounded to 4bit or 8bit by bitsandbytes.

    Returns:
        A torch module with ``.name``, ``.folder``, ``.config`` and ``.vocabulary`` (None where it is unknown).

    Raises:
        InputError: Nothing has that name, the files do not make a model, the dtype is unknown, or no adapter knows
            the library of the model in memory.

    Examples:
        >>> tp.load_model("tpt-c-arithmetic").config.d_model
        96
        >>> tp.load_model("untrained:tpt-c-arithmetic").name
        'untrained:tpt-c-arithmetic'
    """
    if not isinstance(name, str | os.PathLike):
        return _in_memory(name, tokenizer)
    if isinstance(tokenizer, str):  # in 0.3 the second argument was the device
        note("warning: give the device by name: tp.load_model(NAME, device=...)")
        tokenizer, device = None, tokenizer
    if tokenizer is not None:
        raise InputError(
            f"{name} has a tokenizer of its own: give tokenizer= with a model in memory only"
        )
    places = find_device(device), find_dtype(dtype), read_device_map(device_map)
    placement = Placement(*places, max_memory, quantization)
    kind, _, checkpoint = str(name).partition(":")  # permuted:NAME
    if checkpoint and kind in TWINS:
        model = _read_twin(kind, checkpoint, local_files_only, seed, placement)
    else:
        model = _read(str(name), local_files_only, None, placement)
    memory = max_memory and tuple(max_memory)
    settings = (device, local_files_only, seed, dtype, device_map, memory, quantization)
    model.loaded_by = (locate(str(name)), None, *settings), mark_weights(model)
    return model


load_again = lru_cache(maxsize=1)(load_model)  # by the arguments that a model was loaded by


def find_arguments(model: Readable) -> tuple[object, ...] | None:
    """The arguments of ``load_model`` that give this model; None if it was not loaded so, or its weights were changed since."""
    arguments, marks = model.loaded_by or (None, None)
    return arguments if marks == mark_weights(model) else None


def mark_weights(model: nn.Module) -> tuple[tuple[int, int], ...]:
    """What differs after a change of weights in memory: identities of the tensors, and torch's counts of changes in place."""
    return tuple((id(w), w._version) for w in model.parameters() if not w.is_meta)


def locate(name: str) -> str:
    """A name in which a folder stands with its whole path, for processes that run in another one."""
    prefix, colon, path = name.rpartition(":")
    return f"{prefix}{colon}{Path(path).absolute()}" if Path(path).exists() else name


def _in_memory(model: nn.Module | Adaptable, tokenizer: object) -> Readable:
    adapted = with_sites(model, tokenizer)
    if not isinstance(adapted, Language):  # one of ours, in a class of transformers
        adapted = getattr(adapted, "model", adapted)
    if isinstance(adapted, Language | Attached):
        return adapted
    raise InputError(
        f"{type(model).__name__} is of no library that has an adapter ({', '.join(plugins.find('adapters'))}): "
        "name its sites with tp.attach"
    )


def find_twins(
    model: Readable, kinds: Sequence[str] | None = None, seed: int = 0
) -> dict[str, Readable]:
    """The twins of a model, which are its controls, by kind (see :func:`load_model`).

    Args:
        model: A model of ours or of ``hf:``, or an attached module, of which only ``permuted`` can be made.
        kinds: ``permuted``, ``untrained`` or ``rescaled``, several of them; default: ``untrained`` for our
            models, which start at the scale that they are trained from, and ``permuted`` for all others.
        seed: The seed with which weights are drawn.

    Returns:
        A model by the name of its kind.

    Raises:
        InputError: The kind is unknown, or cannot be made of this model.

    Examples:
        >>> list(tp.models.find_twins(model, ["permuted", "untrained"]))
        ['permuted', 'untrained']
    """
    return {kind: _twin_of(model, kind, seed) for kind in _checked_kinds(model, kinds)}


def find_controls(
    model: Readable, kinds: Sequence[str] | None = None, seed: int = 0
) -> dict[str, Callable[[], AbstractContextManager[Readable]]]:
    """The twins by kind, each in a block; the permuted one of an attached model is that model, permuted during the block."""
    return {
        kind: partial(permuted, model, seed)
        if kind == PERMUTED and isinstance(model, Attached)
        else partial(nullcontext, _twin_of(model, kind, seed))
        for kind in _checked_kinds(model, kinds)
    }


def _checked_kinds(model: Readable, kinds: Sequence[str] | None) -> Sequence[str]:
    if kinds is None:
        return (UNTRAINED,) if isinstance(model, Model) else (PERMUTED,)
    for kind in kinds:
        if kind not in TWINS:
            raise unknown("twin", kind, TWINS)
    return kinds


def _twin_of(model: Readable, kind: str, seed: int) -> Readable:
    if isinstance(model, Model):
        twin = untrained_twin(model, seed)
        if kind == PERMUTED:
            twin.load_state_dict(model.state_dict())
    elif isinstance(model, Attached) and model.source is not None:
        placement = Placement(model.device, next(model.parameters()).dtype)
        start = None if kind == PERMUTED else seed
        twin = _read(TRANSFORMERS + model.source, False, start, placement)
    elif isinstance(model, Attached) and kind == PERMUTED:
        twin = model.copied()
    else:
        raise InputError(
            f"{model.name} is an attached module, which cannot be initialized again: its only "
            f"twin is {PERMUTED}"
        )
    return _changed(kind, twin, model, seed)


def _read_twin(
    kind: str, name: str, local_files_only: bool, seed: int, placement: Placement
) -> Readable:
    """The twin of a model that is read; a trained one is read only where its weights are needed."""
    if kind == UNTRAINED and not name.startswith(TRANSFORMERS):
        return _read(name, local_files_only, seed, placement)
    try:
        trained = _read(name, local_files_only, None, placement)
    except InputError:
        if kind != UNTRAINED:
            raise
        return _read(name, local_files_only, seed, placement)  # a folder without weights
    if kind == PERMUTED:
        return _changed(kind, trained, trained, seed)
    placement = replace(placement, dtype=next(trained.parameters()).dtype)
    return _changed(kind, _read(name, local_files_only, seed, placement), trained, seed)


@torch.no_grad()
def _changed(kind: str, twin: Readable, trained: Readable, seed: int) -> Readable:
    name = trained.name
    if kind == PERMUTED:
        permute(twin, seed)
    elif kind == RESCALED:
        for weights, factor in _factors(twin, trained):
            weights.mul_(factor)
    elif not isinstance(trained, Model):
        factor = median([factor for _, factor in _factors(twin, trained)] or [1.0])
        if not 1 / FAR <= factor <= FAR:
            note(
                f"warning: the matrices of {name} are {factor:.2g} times as large as those that its "
                f"configuration starts with, so {UNTRAINED}:{name} may bind more or less than a model of "
                f"its scale: {PERMUTED}:{name} and {RESCALED}:{name} keep the scale"
            )
    twin.name = f"{kind}:{name}"
    return twin.eval()


def _factors(twin: nn.Module, trained: nn.Module) -> list[tuple[Tensor, float]]:
    """Every matrix of the twin that is not zero, and by what it has to be multiplied to have the trained scale."""
    trained_weights = dict(trained.named_parameters())
    weights = [(w, trained_weights[name]) for name, w in twin.named_parameters() if w.ndim > 1]
    return [(w, _scale(source) / _scale(w)) for w, source in weights if _scale(w) > 0]


def _scale(weights: Tensor) -> float:
    return weights.detach().float().square().mean().sqrt().item()


def _read(name: str, local_files_only: bool, seed: int | None, placement: Placement) -> Readable:
    if not name.startswith(TRANSFORMERS):
        placement.check_own(name)
        model = read_checkpoint(name, local_files_only, seed)
        return model.to(placement.device, placement.dtype or torch.float32)
    from tprprobe.models.huggingface import read_transformers  # transformers takes seconds

    return read_transformers(name.removeprefix(TRANSFORMERS), local_files_only, seed, placement)
