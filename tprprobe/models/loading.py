"""Models by name, from every source, and their untrained twins."""

import os

import torch

from tprprobe.errors import InputError, unknown
from tprprobe.models.checkpoint import TRANSFORMERS, UNTRAINED, read_checkpoint, untrained_twin
from tprprobe.models.protocol import Model, Readable

DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_model(
    name: str | os.PathLike[str],
    device: str = "cpu",
    local_files_only: bool = False,
    seed: int = 0,
    dtype: str = "float32",
) -> Readable:
    """The model in evaluation mode: a shipped name, a folder, a hub id, ``hf:PATH`` or ``untrained:NAME``.

    ``hf:PATH`` is a model of transformers with sites attached, ``untrained:NAME`` the randomly initialized twin
    (by ``seed``) of any of them. The model has ``.name``, ``.folder``, ``.config`` and ``.vocabulary`` (None
    where it is not known). Weights are read in ``dtype``: float32, bfloat16 or float16.

    Raises:
        InputError: nothing of that name, or files that do not make a model.
    """
    place, text = find_device(device), str(name)
    known = text.removeprefix(UNTRAINED)
    start = seed if text.startswith(UNTRAINED) else None
    if dtype not in DTYPES:
        raise unknown("dtype", dtype, DTYPES)
    return _read(known, local_files_only, start, DTYPES[dtype]).to(place)


def find_twin(model: Readable) -> Readable | None:
    """The model's untrained twin; None for a model that cannot be built anew."""
    if isinstance(model, Model):
        return untrained_twin(model)
    if model.source is None:
        return None
    weights = next(model.parameters())
    return _read(TRANSFORMERS + model.source, False, 0, weights.dtype).to(weights.device)


def _read(name: str, local_files_only: bool, seed: int | None, dtype: torch.dtype) -> Readable:
    if not name.startswith(TRANSFORMERS):
        return read_checkpoint(name, local_files_only, seed).to(dtype)
    from tprprobe.models.huggingface import read_transformers  # transformers takes seconds

    return read_transformers(name.removeprefix(TRANSFORMERS), local_files_only, seed, dtype)


def find_device(name: str) -> torch.device:
    """The torch device of this name, if this machine has it.

    Raises:
        InputError: it has not.
    """
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(
            f"no device {name!r} here ({reason}): give cpu, or cuda on a GPU machine"
        ) from error
