"""Where the weights of a model are put, and in which type: on a device, on several, or on disk."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from torch import Tensor, nn

from tprprobe.errors import InputError, check_extra, unknown
from tprprobe.files.jsonfiles import read_json
from tprprobe.site.site import device_of

AUTO, DISK, CPU = "auto", "disk", torch.device("cpu")
DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}
DEVICE_MAPS = (AUTO, "balanced", "sequential", DISK)
QUANTIZATIONS = ("4bit", "8bit")


@dataclass(frozen=True)
class Placement:
    """Device and dtype of weights; the other settings are of models of transformers, see :func:`load_model`."""

    device: torch.device = CPU
    dtype: torch.dtype | None = None  # None: that of the checkpoint
    device_map: str | dict[str, object] | None = None  # as transformers takes it
    max_memory: Sequence[str] | None = None
    quantization: str | None = None

    def __post_init__(self) -> None:
        if self.max_memory and not self.device_map:
            raise InputError("max_memory divides a model: give device_map (--device-map auto) too")
        if self.quantization not in (None, *QUANTIZATIONS):
            raise unknown("quantization", self.quantization, QUANTIZATIONS)

    @property
    def is_dispatched(self) -> bool:
        return bool(self.device_map or self.quantization)

    def check_own(self, name: str) -> None:
        if self.is_dispatched:
            raise InputError(
                f"{name}: device_map and quantization are of trained models of transformers (hf:PATH)"
            )

    def options(self, folder: str | None) -> dict[str, object]:
        """Options of ``from_pretrained``; converted weights on disk go to the folder."""
        options: dict[str, object] = {}
        if self.device_map:
            check_extra("accelerate", "huggingface", "device_map")
            options |= {"device_map": self.device_map, "offload_folder": folder}
        if self.max_memory:
            options["max_memory"] = dict(map(_read_limit, self.max_memory))
        if self.quantization:
            check_extra("bitsandbytes", "quantization", f"quantization {self.quantization}")
            from transformers import BitsAndBytesConfig

            settings = {f"load_in_{self.quantization}": True}
            options["quantization_config"] = BitsAndBytesConfig.from_dict(settings)
            options.setdefault("device_map", {"": self.device})
        return options


def read_device_map(setting: str | None) -> str | dict[str, object] | None:
    if setting == DISK:
        return {"": DISK}
    if setting is None or setting in DEVICE_MAPS:
        return setting
    if not Path(setting).is_file():
        raise unknown("device map", setting, (*DEVICE_MAPS, "a JSON file of module → device"))
    return read_json(Path(setting))


def _read_limit(text: str) -> tuple[str | int, str]:
    device, _, limit = text.partition("=")
    if not limit:
        raise InputError(f"max_memory {text!r}: give DEVICE=SIZE, for example cpu=4GiB or 0=20GiB")
    return int(device) if device.isdigit() else device, limit


def find_dtype(name: str) -> torch.dtype | None:
    if name != AUTO and name not in DTYPES:
        raise unknown("dtype", name, (AUTO, *DTYPES))
    return DTYPES.get(name)


def find_device(name: str) -> torch.device:
    try:
        return torch.empty(0, device=name).device
    except (RuntimeError, AssertionError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"no device {name!r} here ({reason}): give cpu or cuda") from error


def input_device(module: nn.Module) -> torch.device:
    """The device that a module computes on, also while its weights are on disk."""
    device = device_of(module)
    if device.type != "meta":
        return device
    hooks = (getattr(submodule, "_hf_hook", None) for submodule in module.modules())
    devices = (getattr(hook, "execution_device", None) for hook in hooks)
    return torch.device(next((candidate for candidate in devices if candidate is not None), "cpu"))


def weight_maps(module: nn.Module) -> dict[str, Mapping]:
    """The map from names to weights on disk, or in another memory, of every submodule that has such weights."""
    modules = dict(module.named_modules())
    hooks = {path: getattr(inner, "_hf_hook", None) for path, inner in modules.items()}
    maps = {path: getattr(hook, "weights_map", None) for path, hook in hooks.items()}
    return {path: weights for path, weights in maps.items() if weights is not None}


def replace_weight_map(module: nn.Module, path: str, weights: Mapping) -> None:
    vars(module.get_submodule(path)._hf_hook)["weights_map"] = weights


def read_weights(module: nn.Module) -> Iterator[tuple[str, Tensor]]:
    """The name and the value of every weight, in the order of their names; those on disk are read one by one."""
    maps = weight_maps(module)
    for name, tensor in sorted(module.state_dict().items()):
        path, _, parameter = name.rpartition(".")
        yield name, maps[path][parameter] if tensor.is_meta else tensor
