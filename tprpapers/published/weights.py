"""Models of ours with the weights of a published file, checked key by key.

Sizes and settings come from the file wherever its shapes tell them; a configuration gives the rest.
"""

import dataclasses
import difflib
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from torch import Size, Tensor

from tprprobe.errors import InputError, unknown
from tprprobe.models.architectures import build, find_architecture, sketched, typed_option
from tprprobe.models.protocol import Model

# option → the values that a file admits, the default first
Options = dict[str, tuple[Any, ...]]
UNTOLD = ("n_heads", "dropout", "norm_epsilon", "pad", "sos", "eos")  # no shape tells these


class Rebuilt(NamedTuple):
    """A model of ours with the weights of a file.

    ``names`` has the name in the file of each of its tensors, ``passed_over`` are tensors of the file that the
    model does not need, and the ``remark`` is what the user should know, such as a setting that was guessed.
    """

    model: Model
    names: dict[str, str]
    passed_over: Sequence[str]
    remark: str = ""


def shape_of(state: Mapping[str, Tensor], key: str, axes: int = 2) -> Size:
    if key not in state:
        raise missing(key, state)
    return checked(key, state[key].shape, axes)


def checked(key: str, shape: Size, axes: int) -> Size:
    """The shape, checked to have so many axes, none of them empty."""
    if len(shape) != axes or 0 in shape:
        raise InputError(f"{key} has shape {tuple(shape)}, {axes} axes are needed")
    return shape


def missing(key: str, names: Iterable[str]) -> InputError:
    return InputError(f"the file lacks the tensor {key!r}{nearest(key, names)}")


def nearest(key: str, names: Iterable[str]) -> str:
    """The nearest other name, phrased as the end of a sentence."""
    near = difflib.get_close_matches(key, [name for name in names if name != key], n=1)
    return f" (the nearest name is {near[0]!r})" if near else ""


def count_layers(state: Mapping[str, Tensor], stack: str) -> int:
    matches = (re.match(rf"{stack}\.(\d+)\.", key) for key in state)
    numbers = {int(match[1]) for match in matches if match}
    if not numbers or max(numbers) >= len(numbers):
        raise InputError(f"{stack} has the layers {sorted(numbers)}: 0, 1, … are needed")
    return len(numbers)


def rename(
    state: Mapping[str, Tensor],
    names: Mapping[str, str],
    shapes: Mapping[str, Size],
    ignored: Iterable[str],
) -> dict[str, Tensor]:
    """The tensors under our names, ``{our name: name in the file}``, float32."""
    extra = sorted(set(state) - set(names.values()) - set(ignored))
    for key in names.values():
        if key not in state:
            raise missing(key, extra or state)
    if extra:
        raise InputError(
            f"the file has {len(extra)} tensors that this model does not, "
            f"the first is {extra[0]!r}{nearest(extra[0], names.values())}"
        )
    for name, key in names.items():
        if state[key].shape != shapes[name]:
            raise InputError(
                f"{key} has shape {tuple(state[key].shape)}, "
                f"this configuration asks for {tuple(shapes[name])}"
            )
    return {name: state[key].float() for name, key in names.items()}


def settle(
    architecture: str,
    admitted: Options,
    options_given: Mapping[str, Any],
    spelled: Mapping[str, str] = {},
) -> dict[str, Any]:
    """The settings of a model: from the file's shapes, else as given, else the default.

    Given options that make no difference to the file's model are passed over. ``spelled`` says what
    the user calls an option.
    """
    config_class = find_architecture(architecture)[0].config_class
    fields = {field.name: field for field in dataclasses.fields(config_class)}
    settings: dict[str, Any] = {"architecture": architecture}
    for name, value in options_given.items():
        if name not in fields:
            raise unknown("option", name, fields)
        key = spelled.get(name, name)
        value = typed_option(fields[name], value, key)
        value = float(value) if fields[name].type is float else value
        if value not in admitted.get(name, (value,)):
            says = " or ".join(map(str, admitted[name]))
            raise InputError(f"the configuration says {key} = {value}, the file's shapes {says}")
        if name in admitted or name in UNTOLD:
            settings[name] = value
    for name, values in admitted.items():
        usual = fields[name].default
        default = usual if usual in values else values[0]
        if name not in settings and default != usual and len(values) > 1:
            key, accepted = spelled.get(name, name), ", ".join(map(str, values))
            raise InputError(f"shapes do not determine {key}: config needs one of {accepted}")
        settings.setdefault(name, default)
    return settings


def fill(
    settings: dict[str, Any],
    state: Mapping[str, Tensor],
    published_key: Callable[[str, Mapping[str, Any]], str],
    passed_over: Iterable[str] = (),
    unused: Iterable[str] = (),
) -> Rebuilt:
    """The model of some settings with the file's weights, of which it may leave ``unused`` ones."""
    with sketched():  # which takes no memory for what the file may not have
        sketch = build(settings, seed=0)
    shapes = {name: tensor.shape for name, tensor in sketch.state_dict().items()}
    options = dataclasses.asdict(sketch.config)
    names = {name: published_key(name, options) for name in shapes}
    used_keys = set(names.values())
    over = [*passed_over, *(key for key in unused if key not in used_keys)]
    renamed = rename(state, names, shapes, over)
    model = build(settings, seed=0)
    model.load_state_dict(renamed)
    return Rebuilt(model, names, over)
