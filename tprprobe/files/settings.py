"""Settings from TOML, checked key by key; every mistake is one line."""

import os
import reprlib
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error


class Settings(BaseModel):
    """Immutable settings that accept the keys of their fields and no others."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    def refuse(self, names: Sequence[str], reason: str) -> None:
        """Raises a ValueError if one of these settings, which change nothing for that reason, is no default."""
        for name in names:
            default = type(self).model_fields[name].get_default(call_default_factory=True)
            if getattr(self, name) != default:
                raise ValueError(f"{name} changes nothing {reason}: leave it out")


class Document(BaseModel):
    """What a JSON document that a command wrote must hold; it may hold more."""

    model_config = ConfigDict(extra="allow", frozen=True)


LARGEST, DOTS = 2**18, 2000  # bytes of a file, dots of a line: keys take the square of their parts
SettingsT = TypeVar("SettingsT", bound=BaseModel)


def read_toml(path: str | os.PathLike[str], overrides: Sequence[str] = ()) -> dict[str, Any]:
    """The unchecked content of a TOML file, with ``key.sub=value`` overrides (values are TOML)."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise InputError(f"{path}: {error.strerror}") from error
    if len(content) > LARGEST or any(line.count(b".") > DOTS for line in content.splitlines()):
        raise InputError(f"{path} is too large: at most {LARGEST:,} bytes, {DOTS:,} dots a line")
    with as_input_error(f"{path} is not TOML"):
        settings = tomllib.loads(content.decode("utf-8"))
    for override in overrides:
        _set(settings, override)
    return settings


def parse(kind: type[SettingsT], settings: Mapping[str, object], where: object) -> SettingsT:
    try:
        return kind.model_validate(settings)
    except ValidationError as error:
        fault = min(error.errors(), key=lambda fault: fault["type"] != "extra_forbidden")
        location, message = fault["loc"], fault["msg"].removeprefix("Value error, ")
        place = ".".join(map(str, location))
        if fault["type"] == "extra_forbidden":
            mistake = unknown("key", place, _keys(kind, location[:-1]))
            raise InputError(f"{where}: {mistake}") from error
        if fault["type"] not in ("missing", "value_error"):
            message = f"{message} (given: {reprlib.repr(fault['input'])})"
        raise InputError(": ".join(filter(None, (str(where), place, message)))) from error


def _set(settings: dict[str, object], override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals:
        raise InputError(f"--set {override!r}: give key=value, for example batch_size=64")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except (ValueError, RecursionError):
        parsed = value
    *path, leaf = key.split(".")
    node: Any = settings
    try:
        for step in path:
            node = node[int(step)] if isinstance(node, list) else node.setdefault(step, {})
        node[int(leaf) if isinstance(node, list) else leaf] = parsed
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"--set {override!r}: the recipe has no place {key!r}") from error


def _keys(kind: Any, location: Sequence[int | str]) -> list[str]:
    for step in (step for step in location if isinstance(step, str)):
        kind = kind.model_fields[step].annotation
        while get_origin(kind) in (list, Annotated, Union, UnionType):
            kind = get_args(kind)[0]
    prefix = "".join(f"{step}." for step in location)
    return [f"{prefix}{key}" for key in kind.model_fields]
