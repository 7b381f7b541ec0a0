"""Architectures: from a name or settings to a freshly initialized model with named sites; the files that a model was read from."""

import dataclasses
import hashlib
import math
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

import numpy as np
import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from tprprobe import plugins
from tprprobe.console import note
from tprprobe.errors import InputError, unknown
from tprprobe.files import hub
from tprprobe.files.checksums import digest_files, sum_bytes
from tprprobe.files.file_errors import physical_memory
from tprprobe.models.listing import list_presets
from tprprobe.models.placement import read_weights
from tprprobe.models.protocol import Model, Readable

LARGEST, DEEPEST = 2**24, 2**8  # of a size, and of what is computed one after another
DEEP = ("n_layers", "thinking_steps")
SMALL_MODEL = 2**28  # numbers that every machine holds
RANDOM_FILLS = (Tensor.normal_, Tensor.uniform_)  # what fills a tensor with random numbers


def __getattr__(name: str) -> object:
    if name != "ARCHITECTURES":
        raise AttributeError(name)
    note("warning: ARCHITECTURES goes in the next version: see tprprobe.plugins.find('models')")
    return {name: find_architecture(name) for name in plugins.find("models")}


def find_architecture(name: object) -> tuple[type[Model], dict[str, object]]:
    """The module of a plug-in's architecture, and the configuration's values that make the name."""
    architectures = plugins.find("models")
    if not isinstance(name, str) or name not in architectures:
        raise unknown("architecture", name, architectures)
    loaded = architectures[name].load()
    return loaded if isinstance(loaded, tuple) else (loaded, {})


def build(settings: Mapping[str, object], seed: int | None = None) -> Model:
    """A freshly initialized model.

    Args:
        settings: The options of the model's configuration, with ``architecture`` or ``preset`` (their names are
            listed by ``tprprobe models``).
        seed: The seed of the initialization; default: torch's global generator.

    Returns:
        The model, in training mode.

    Raises:
        InputError: An unknown preset, architecture or option (the nearest name is suggested), or a size that
            does not fit into memory.

    Examples:
        >>> tp.models.build({"preset": "tpt-c-t5", "d_model": 64, "n_heads": 4, "n_layers": 1}, seed=0).n_heads
        4
    """
    settings = expand(settings)
    name = settings.pop("architecture")
    module_class, _ = find_architecture(name)
    config = module_class.config_class(**settings)
    check(config)
    with torch.random.fork_rng(devices=[]):
        _check_memory(module_class, config)
        if seed is not None:
            torch.manual_seed(seed)
        model = module_class(config)
    model.architecture = model.name = str(name)
    return model


def expand(settings: Mapping[str, object]) -> dict[str, object]:
    """The settings with preset and architecture written out, every option named, known and of its type.

    Args:
        settings: As in :func:`build`.

    Returns:
        The settings without ``preset``.

    Raises:
        InputError: An unknown preset, architecture or option.

    Examples:
        >>> tp.models.expand({"preset": "lstm"})["architecture"]
        'lstm'
    """
    settings = dict(settings)
    if (preset := settings.pop("preset", None)) is not None:
        presets = list_presets()
        if not isinstance(preset, str) or preset not in presets:
            raise unknown("preset", preset, presets)
        settings = presets[preset].settings | settings
    name = settings.pop("architecture", None)
    module_class, fixed = find_architecture(name)
    fields = {field.name: field for field in dataclasses.fields(module_class.config_class)}
    for key, value in settings.items():
        if key not in fields:
            raise unknown(f"option of {name}", key, sorted(fields))
        settings[key] = typed_option(fields[key], value, key)
    return {"architecture": name} | fixed | settings


def typed_option(field: dataclasses.Field, value: Any, label: str) -> Any:
    """The value of an option, called ``label`` in errors; one number of layers counts for both stacks, an encoder may have 0."""
    options, sized = get_args(field.type), field.name.startswith(("d_", "n_", "vocab", "max_"))
    if get_origin(field.type) is Literal:
        if value not in options:
            raise unknown(label, value, options)
        return value
    pair = get_origin(field.type) is tuple
    if pair:
        value = tuple(value) if isinstance(value, list | tuple) else (value,) * len(options)
    kind: Any = options[0] if pair else field.type
    values = value if pair else (value,)
    numbers = (int, float) if kind is float else (kind,)
    if (
        any(type(number) not in numbers for number in values)
        or (pair and len(value) != len(options))
        or (sized and (values[-1] < 1 or min(values) < (0 if pair else 1)))
    ):
        accepted = f"a positive {kind.__name__}" if sized else f"of type {kind.__name__}"
        two = " or two, of which the encoder's may be 0" if sized else " or two"
        raise InputError(f"{label} = {value!r}: give {accepted}{two if pair else ''}")
    if kind is float and not all(map(math.isfinite, values)):
        raise InputError(f"{label} = {value!r}: give a finite number")
    limit = DEEPEST if field.name in DEEP else LARGEST
    if kind is int and max(map(abs, values)) > limit:
        raise InputError(f"{label} = {value!r}: give at most {limit:,}")
    return value


def check(config: Any) -> None:
    if not 0 <= config.dropout < 1:
        raise InputError(f"dropout = {config.dropout}: give 0 or more and less than 1")
    for name, symbol in (("pad", config.pad), ("sos", config.sos), ("eos", config.eos)):
        if not 0 <= symbol < config.vocab_size:
            raise InputError(f"{name} = {symbol}: give an id from 0 to {config.vocab_size - 1}")


def _check_memory(module_class: type[Model], config: object) -> None:
    sizes = [value for value in vars(config).values() if type(value) is int]
    if max(sizes) ** 2 * np.sum(getattr(config, "n_layers", 1)) <= SMALL_MODEL:
        return
    with sketched():
        model = module_class(config)
    weight_bytes = sum(tensor.nbytes for tensor in (*model.parameters(), *model.buffers()))
    if weight_bytes > (memory_bytes := physical_memory()):
        raise InputError(
            f"a model of {weight_bytes:,} bytes in a memory of {memory_bytes:,}: give smaller sizes"
        )


def count_parameters(settings: Mapping[str, object]) -> int:
    """The number of trainable parameters of a configuration, which is not allocated.

    Args:
        settings: As in :func:`build`.

    Returns:
        The number of parameters; a tensor that is used twice counts once.

    Examples:
        >>> tp.models.count_parameters({"preset": "tp-transformer"})
        49178624
    """
    with sketched():
        return sum(parameter.numel() for parameter in build(settings).parameters())


@contextmanager
def sketched() -> Iterator[None]:
    """A block in which modules have no values; on the device "meta" PyTorch loads its compiler for drawing them (2 s)."""
    with torch.device("meta"), _SkipRandomFills():
        yield


class _SkipRandomFills(TorchFunctionMode):
    def __torch_function__(
        self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None
    ) -> object:
        kwargs = kwargs or {}
        if func in RANDOM_FILLS or getattr(func, "__module__", "") == torch.nn.init.__name__:
            return args[0] if args else kwargs["tensor"]
        return func(*args, **kwargs)


def fingerprint(model: torch.nn.Module) -> str:
    """The sha256 of the names, types, shapes and checksums of a model's weights."""
    digest = hashlib.sha256()
    for name, tensor in read_weights(model):
        line = f"{name} {tensor.dtype} {tuple(tensor.shape)} {sum_bytes(bytes_of(tensor))}\n"
        digest.update(line.encode())
    return digest.hexdigest()


def bytes_of(tensor: Tensor) -> memoryview:
    """The bytes of a tensor's numbers, which are not copied if they lie in order in the processor's memory."""
    return tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data


NOT_READ = ("trainer_state.json", "expected.json")
SUFFIXES = (".json", ".txt", ".model", ".gguf")  # of configurations, tokenizers, vocabularies


def describe_origin(model: Readable) -> dict[str, object]:
    """Name, architecture, fingerprint of the weights and the sha256 of the files beside them: the same for two runs of one model."""
    files = digest_files(_files(_find_place(model)))
    config = getattr(getattr(model, "module", None), "config", None)
    to_json = getattr(config, "to_json_string", None)
    if not files and to_json is not None:  # a model in memory
        files = {"config": hashlib.sha256(to_json().encode()).hexdigest()}
    return {
        "name": model.name,
        "architecture": getattr(model, "architecture", None),
        "sha256": fingerprint(model),
        "files": files,
    }


def sum_origin(model: Readable) -> str:
    """One sha256 of a model's weights and of the files beside them, whatever the model is called."""
    origin = describe_origin(model)
    return hashlib.sha256(repr((origin["sha256"], origin["files"])).encode()).hexdigest()


def find_folder(model: Readable) -> str | None:
    """The absolute path of the folder or file that a model was read from; None of the hub's."""
    place = Path(_find_place(model) or "")
    return str(place.resolve()) if place.name and place.exists() else None


def _find_place(model: Readable) -> str | os.PathLike[str] | None:
    return getattr(model, "folder", None) or getattr(model, "source", None)


def _files(place: str | os.PathLike[str] | None) -> list[Path]:
    if place is None:
        return []
    folder = Path(place)
    if folder.is_file():
        return [folder]
    if not folder.is_dir():
        repo_id, _, revision = os.fspath(place).partition("@")
        folder = hub.find_in_cache(repo_id, revision or None) or folder
    files = [file for file in folder.glob("*") if file.suffix in SUFFIXES and file.is_file()]
    return [file for file in files if file.name not in NOT_READ]
