"""Architectures: from a name or a configuration to a module with named sites."""

import dataclasses
from typing import Any

import torch
from torch import nn

from tprprobe.errors import InputError, unknown
from tprprobe.models.presets import PRESETS
from tprprobe.models.recurrent import LSTM, LSTMConfig
from tprprobe.models.tpt import TPT
from tprprobe.models.tptconfig import TPTConfig
from tprprobe.models.transformer import Transformer, TransformerConfig

# name → (configuration, module, the configuration's values that make the name)
ARCHITECTURES: dict[str, tuple[type, type[nn.Module], dict[str, Any]]] = {
    "transformer": (TransformerConfig, Transformer, {}),
    "tp-transformer": (
        TransformerConfig,
        Transformer,
        {"roles": "continuous", "embedding_binding": True},
    ),
    "lstm": (LSTMConfig, LSTM, {}),
    "tpt": (TPTConfig, TPT, {}),
    "t5": (TPTConfig, TPT, {"roles": "none"}),
}


def build(settings: dict[str, Any], seed: int | None = None) -> nn.Module:
    """A freshly initialised model from ``{"architecture" or "preset": name, **options}``.

    Raises:
        InputError: unknown preset, architecture or option (the nearest name is suggested).
    """
    settings = expand(settings)
    name = settings.pop("architecture")
    config_class, module_class, _ = ARCHITECTURES[name]
    config = config_class(**settings)
    check(config)
    with torch.random.fork_rng(devices=[]):
        if seed is not None:
            torch.manual_seed(seed)
        model = module_class(config)
    model.architecture = name
    return model


def expand(settings: dict[str, Any]) -> dict[str, Any]:
    """The settings with preset and architecture written out, every option named and known."""
    settings = dict(settings)
    if (preset := settings.pop("preset", None)) is not None:
        if preset not in PRESETS:
            raise unknown("preset", preset, PRESETS)
        settings = PRESETS[preset] | settings
    name = settings.pop("architecture", None)
    if name not in ARCHITECTURES:
        raise unknown("architecture", name, ARCHITECTURES)
    config_class, _, fixed = ARCHITECTURES[name]
    accepted = {field.name for field in dataclasses.fields(config_class)}
    for key, value in settings.items():
        if key not in accepted:
            raise unknown(f"option of {name}", key, sorted(accepted))
        if isinstance(value, list):
            settings[key] = tuple(value)
    return {"architecture": name} | fixed | settings


def check(config: Any) -> None:
    """Refuse sizes that no model can have."""
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        sizes = value if isinstance(value, tuple) else (value,)
        if field.name.startswith(("d_", "n_", "vocab", "max_")) and not all(
            isinstance(size, int) and size > 0 for size in sizes
        ):
            raise InputError(f"{field.name} = {value!r}: a positive whole number is needed")
        options = getattr(field.type, "__args__", ())
        if options and isinstance(options[0], str) and value not in options:
            raise unknown(field.name, value, options)
    heads = 1 if hasattr(config, "d_head") else getattr(config, "n_heads", 1)
    if config.d_model % heads:
        raise InputError(f"d_model {config.d_model} cannot be divided among {heads} heads")


def count_parameters(settings: dict[str, Any]) -> int:
    """How many trainable numbers a configuration has (unique tensors), without allocating them."""
    with torch.device("meta"):
        return sum(parameter.numel() for parameter in build(settings).parameters())
