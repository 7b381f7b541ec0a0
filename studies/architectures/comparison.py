"""A tiny model read by tprprobe beside what the library itself returns."""

import inspect
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

import tprprobe as tp
from studies.architectures.tiny_models import build, make_tokenizer
from tprprobe.errors import InputError
from tprprobe.models.huggingface.pretrained import attach_layers
from tprprobe.models.huggingface.taps import EAGER, attending

TEXT = torch.tensor([[2, 5, 9, 7, 12, 3]])
SHORT = torch.tensor([[2, 8, 4, 3]])
TARGET = torch.tensor([[2, 6, 7, 8]])
NEAR = 1e-5  # of the largest number, what two ways of computing it may differ by rounding
EQUAL, DIFFERS, NONE, SOME_LAYERS = "equal", "differs", "none", "some layers"
FULL = ("query", "key", "value", "attention", "filler")


class Comparison(NamedTuple):
    """A row of the table: of an architecture the number of layers, and how its sites compare with the library."""

    architecture: str
    layers: str = ""
    states: str = NONE  # beside output_hidden_states
    maps: str = NONE  # beside output_attentions
    parts: str = NONE  # query, key, value, filler: in every layer, or some
    mlp: str = NONE
    padded: str = ""  # a text beside a longer one, against the text alone
    reason: str = ""  # why it is not read


@torch.no_grad()
def compare(name: str) -> Comparison:
    """The comparison of an architecture; a reason where it is not built or not read."""
    try:
        module = build(name)
    except Exception as error:
        return Comparison(name, reason=f"not built: {type(error).__name__}")
    try:
        model = attach_layers(module, make_tokenizer(), name)
    except InputError as error:
        return Comparison(name, reason=str(error).removeprefix(f"{name} ").removeprefix(f"{name}: "))  # fmt: skip
    with tp.capture(model, "*") as sites:
        model.run(SHORT, TARGET)
    output, single = _ask_library(module, model.two_stacks), dict(sites)
    stacks = list(dict.fromkeys(site.split(".")[0] for site in single))
    layers = {stack: _count(single, f"{stack}.", ".hidden") for stack in stacks}
    has_parts = [
        all(f"{stack}.{i}.self.{part}" in single for part in FULL)
        for stack in stacks
        for i in range(layers[stack])
    ]
    return Comparison(
        name,
        ", ".join(f"{stack} {n}" for stack, n in layers.items()),
        _joined(_compare_states(module, output, single, stack, layers[stack]) for stack in stacks),
        _joined(_compare_maps(output, single, stack) for stack in stacks),
        _share(has_parts),
        _share(f"{stack}.{i}.mlp" in single for stack in stacks for i in range(layers[stack])),
        "one length" if model.needs_equal_lengths else _compare_padded(model, single),
    )


def _ask_library(module: Any, two_stacks: bool) -> Mapping[str, Any]:
    arguments: dict[str, Any] = {"input_ids": SHORT}
    if two_stacks:
        arguments["decoder_input_ids"] = TARGET
    if "use_cache" in inspect.signature(module.forward).parameters:
        arguments["use_cache"] = False
    with attending(module, EAGER):
        for options in (
            ("output_hidden_states", "output_attentions"),
            ("output_hidden_states",),
            (),
        ):
            try:
                return module(**arguments, **dict.fromkeys(options, True))
            except Exception:
                continue
    return {}


def _compare_states(
    module: nn.Module, output: Mapping[str, Any], sites: Mapping[str, Tensor], stack: str, n: int
) -> str:
    states = _of(output, stack, "hidden_states")
    if len(states) not in (n, n + 1):
        return NONE if not states else DIFFERS
    states_here = [sites[f"{stack}.{i}.hidden"] for i in range(n)]
    norms = [m for m in module.modules() if "Norm" in type(m).__name__]
    for expected in (states[len(states) - n :], states[:n]):  # Mamba's list begins with a layer
        is_last_equal = _near(states_here[-1], expected[-1]) or any(
            _is_normed(norm, states_here[-1], expected[-1]) for norm in norms
        )
        if is_last_equal and all(map(_near, states_here[:-1], expected[:-1])):
            return EQUAL
    return DIFFERS


def _is_normed(norm: nn.Module, states: Tensor, expected: Tensor) -> bool:
    """True if a last norm makes the library's last states of a layer's."""
    try:
        return _near(norm(states), expected)
    except (RuntimeError, TypeError, AttributeError, ValueError):  # of other widths
        return False


def _compare_maps(output: Mapping[str, Any], sites: Mapping[str, Tensor], stack: str) -> str:
    maps = [
        library_map
        for library_map in _of(output, stack, "attentions")
        if isinstance(library_map, Tensor)
    ]
    maps_here = [values for site, values in sites.items() if site.startswith(f"{stack}.") and site.endswith(".self.attention")]  # fmt: skip
    if not maps_here:
        return NONE
    scores = [
        library_map.softmax(-1) for library_map in maps
    ]  # ProphetNet returns what stands before the softmax
    return EQUAL if all(any(map(_near, [map_here] * len(candidates), candidates)) for map_here in maps_here for candidates in [[*maps, *scores]]) else DIFFERS  # fmt: skip


def _compare_padded(model: Any, single: Mapping[str, Tensor]) -> str:
    pad = model.config.pad
    batch = torch.cat([TEXT, torch.nn.functional.pad(SHORT, (0, 2), value=pad)])
    with tp.capture(model, "*") as sites:
        model.run(batch, TARGET.expand(2, -1))
    for name, values in single.items():
        padded = sites[name][1:]
        padded = padded[:, :, : values.shape[2], : values.shape[3]] if name.endswith("attention") else padded[:, : values.shape[1]]  # fmt: skip
        if not _near(padded, values, 1e-4):
            return DIFFERS
    return EQUAL


def _of(output: Mapping[str, Any], stack: str, kind: str) -> tuple[Any, ...]:
    """What the library returns of a stack."""
    return output.get(f"{stack}_{kind}") or output.get(kind) or ()


def _count(sites: Iterable[str], start: str, end: str) -> int:
    return sum(site.startswith(start) and site.endswith(end) for site in sites)


def _share(flags: Iterable[bool]) -> str:
    values = list(flags)
    return "all" if all(values) else SOME_LAYERS if any(values) else NONE


def _joined(verdicts: Iterable[str]) -> str:
    """The worst verdict."""
    kinds = set(verdicts)
    return next((kind for kind in (DIFFERS, NONE) if kind in kinds), EQUAL)


def _near(values: Tensor, expected: Tensor, tolerance: float = NEAR) -> bool:
    if values.shape != expected.shape:
        return False
    return bool(
        (values - expected).abs().max() <= tolerance * max(1.0, expected.abs().max().item())
    )
