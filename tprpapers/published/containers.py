"""Reading published checkpoint files: tensors and plain containers, whatever the wrapping.

A pickle is never executed: torch's weights-only reader builds tensors, containers and numbers.
"""

import gzip
import hashlib
import io
import os
import tarfile
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import safetensors.torch
import torch
from torch import Tensor

from tprpapers.published.pickles import check_pickles
from tprprobe.errors import InputError
from tprprobe.files import hub
from tprprobe.files.file_errors import (
    GAIN,
    SMALL,
    as_input_error,
    check_unpacked,
    check_zip,
)
from tprprobe.files.jsonfiles import read_json

WEIGHT_FILES = (hub.WEIGHTS, "pytorch_model.bin")
SUFFIXES = (".pt", ".pth", ".ckpt", ".bin", ".safetensors")
DAMAGED = "is damaged, or holds more than tensors and plain containers"
LARGEST = 2**64  # a whole number that is worth telling
WRAPPERS = ("model", "state_dict")  # TP-Transformer's trainer; Lightning
PREFIXES = ("module.", "model.")  # DataParallel; Lightning
# numpy's numbers: the summarization code's schedule leaves them in the optimizer's state.
NUMBERS = [
    np.dtype,
    np.dtypes.Float64DType,
    (np.float64(0).__reduce__()[0], "numpy.core.multiarray.scalar"),
    (np.float64(0).__reduce__()[0], "numpy._core.multiarray.scalar"),
]


@dataclass(frozen=True)
class PublishedFile:
    """A checkpoint as it was found: ``state`` with its own key names, unwrapped."""

    name: str
    sha256: str
    state: dict[str, Tensor]
    facts: dict[str, Any] = field(default_factory=dict)
    config: dict[str, Any] = field(default_factory=dict)


def read_checkpoint(source: str | os.PathLike[str]) -> PublishedFile:
    """The weights in a ``.pt``, ``.ckpt`` or Hugging Face folder, or inside a ``.tar.gz``.

    ``ARCHIVE.tar.gz:MEMBER`` names one of several checkpoints of an archive.
    """
    folder, config = Path(source), {}
    if folder.is_dir():
        source = next((folder / name for name in WEIGHT_FILES if (folder / name).is_file()), "")
        if not source:
            raise InputError(f"{folder} has neither {' nor '.join(WEIGHT_FILES)}")
        config = read_json(folder / hub.CONFIG)
    content, name, digest = read_bytes(source, SUFFIXES)
    if name.endswith((".npz", ".npy", ".h5", ".onnx")):
        raise InputError(
            f"{name} is no checkpoint of PyTorch ({', '.join(SUFFIXES)}): load it into your module, and give "
            "that to tp.attach"
        )
    loaded = _load(content, name)
    wrapper = next((key for key in WRAPPERS if isinstance(loaded.get(key), Mapping)), None)
    state = loaded[wrapper] if wrapper else loaded
    _check_claims(state, len(content), name)
    hparams = loaded.get("hparams") if wrapper else None
    facts = {**(loaded if wrapper else {}), **(hparams if isinstance(hparams, Mapping) else {})}
    facts = {str(key): value for key, value in facts.items() if _is_plain(value)}
    where = f"{folder.name}/{name}" if folder.is_dir() else name
    return PublishedFile(where, digest, _unprefixed(state, name), facts, config)


def read_bytes(
    source: str | os.PathLike[str], suffixes: tuple[str, ...] = ()
) -> tuple[bytes, str, str]:
    """Content, name and sha256 of a file, or of one member of ``ARCHIVE.tar.gz[:MEMBER]``.

    Without a member, the archive's only file with one of ``suffixes`` (vocabularies aside).
    The sha256 is the archive's.
    """
    path, member = _split(source)
    if not path.is_file():
        raise InputError(f"no file or folder {os.fspath(source)!r}")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if not path.name.endswith((".tar.gz", ".tgz")):
        return path.read_bytes(), path.name, digest
    with as_input_error(f"{path.name} {DAMAGED}"), gzip.open(path) as archive:
        content, name = _member(path.name, archive, member, suffixes)
    return content, f"{path.name}:{name}", digest


def _member(
    archive: str, stream: gzip.GzipFile, name: str | None, suffixes: tuple[str, ...]
) -> tuple[bytes, str]:
    """Content and name of one regular file of an archive; nothing is written to disk."""
    size, packed = 0, os.fstat(stream.fileno()).st_size
    while length := len(stream.read(2**20)):  # to the end, where gzip compares its checksum
        size += length
        check_unpacked(size, packed, archive, SMALL)
    stream.seek(0)
    with tarfile.open(fileobj=stream, mode="r:") as tar:
        files = {info.name: info for info in tar if info.isfile()}
        name = name or _only_checkpoint(archive, files, suffixes)
        if name not in files:
            raise InputError(f"{archive} has no member {name!r} (it has: {', '.join(files)})")
        file = tar.extractfile(files[name])
        assert file is not None  # regular files have content
        return file.read(), name


def _split(source: str | os.PathLike[str]) -> tuple[Path, str | None]:
    path, colon, member = os.fspath(source).rpartition(":")
    if colon and path.endswith((".tar.gz", ".tgz")) and not Path(source).exists():
        return Path(path), member
    return Path(source), None


def _only_checkpoint(archive: str, files: Mapping[str, Any], suffixes: tuple[str, ...]) -> str:
    checkpoints = [
        name
        for name in files
        if name.endswith(suffixes) and not Path(name).name.startswith("vocab")
    ]
    if len(checkpoints) == 1:
        return checkpoints[0]
    listed = ", ".join(checkpoints or files)
    raise InputError(
        f"{archive} holds {len(checkpoints)} checkpoints: give {archive}:MEMBER ({listed})"
    )


def _load(content: bytes, name: str) -> dict[str, Any]:
    with as_input_error(f"{name} {DAMAGED}"):
        if name.endswith(".safetensors"):
            return safetensors.torch.load(content)
        check_zip(io.BytesIO(content), len(content), name)
        check_pickles(content)
        with warnings.catch_warnings(), torch.serialization.safe_globals(NUMBERS):
            warnings.simplefilter("ignore")  # torch's remarks on old formats
            loaded = torch.load(io.BytesIO(content), map_location="cpu", weights_only=True)
    if not isinstance(loaded, Mapping):
        raise InputError(f"{name} holds a {type(loaded).__name__}, not a checkpoint's dictionary")
    return dict(loaded)


def _check_claims(state: Mapping[Any, Any], size: int, name: str) -> None:
    """Checks that tensors do not show the same few bytes as many numbers."""
    tensors = [tensor for tensor in state.values() if isinstance(tensor, Tensor)]
    for tensor in tensors:
        if tensor.layout == torch.strided and tensor.nbytes > tensor.untyped_storage().nbytes():
            raise InputError(
                f"{name} has a tensor of {tensor.nbytes:,} bytes that it does not hold"
            )
    claimed = sum(tensor.nbytes for tensor in tensors if tensor.layout == torch.strided)
    if claimed > max(SMALL, GAIN * size):
        raise InputError(f"{name} has tensors of {claimed:,} bytes, which its {size:,} do not hold")


def _unprefixed(state: Mapping[Any, Any], name: str) -> dict[str, Tensor]:
    plain: dict[str, Tensor] = {}
    for key, tensor in state.items():
        if not isinstance(key, str) or not isinstance(tensor, Tensor):
            raise InputError(f"{name}: {key!r} is a {type(tensor).__name__}, not a weight")
        if not tensor.is_floating_point() or tensor.layout != torch.strided:
            raise InputError(f"{name}: {key!r} is {tensor.dtype}, {tensor.layout}: not a weight")
        short = next((key[len(p) :] for p in PREFIXES if key.startswith(p)), key)
        if short in plain:
            raise InputError(f"{name} has the weight {short!r} twice, with and without a prefix")
        plain[short] = tensor
    return plain


def _is_plain(value: Any) -> bool:
    if isinstance(value, int) and abs(value) > LARGEST:
        return False
    return isinstance(value, int | float | str) or (isinstance(value, Tensor) and value.ndim == 0)
