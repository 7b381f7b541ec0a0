"""Recipes: what is trained on what, for how long, in a TOML file checked key by key."""

import os
import tomllib
from pathlib import Path
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from tprprobe.errors import InputError, unknown

Share = Annotated[float, Field(ge=0, lt=1)]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Mix(_Strict):
    """Some examples of one corpus; ``repeat`` times as often as the others of the mix."""

    data: str
    split: str | None = None
    n: Annotated[int, Field(gt=0)] | None = None
    seed: int = 0
    repeat: Annotated[int, Field(gt=0)] = 1


class Stage(_Strict):
    """Optimizer steps on one mix; ``cosine`` decays the learning rate to a tenth at its end.

    ``adafactor`` is jiang's schedule over the steps of the whole run, which ``learning_rate``
    multiplies: 0.01 for 30,000 steps, then 1 / √(step − 20,000).
    """

    steps: Annotated[int, Field(gt=0)]
    learning_rate: Annotated[float, Field(gt=0)]
    warmup: Annotated[int, Field(ge=0)] = 0
    decay: Literal["constant", "cosine", "adafactor"] = "constant"
    mix: Annotated[list[Mix], Field(min_length=1)]


class Subwords(_Strict):
    """The sub-words of a run: read from a file, or trained on the first texts of the first mix."""

    file: str | None = None
    size: Annotated[int, Field(gt=0)] = 8000
    texts: Annotated[int, Field(gt=0)] = 50_000
    max_source: Annotated[int, Field(gt=0)] = 512
    max_target: Annotated[int, Field(gt=0)] = 64


class Words(_Strict):
    """The words of a run's captions: all that occur so often in the first stage's.

    ``glove``: a file of word vectors, the first (or, fixed, the only) values of W_e.
    """

    threshold: Annotated[int, Field(gt=0)] = 5
    glove: str | None = None


class Optimizer(_Strict):
    """Adam as schlag has it by default: β (0.9, 0.995), gradient norm clipped to 0.1.

    ``muon`` orthogonalises the updates of linear weights and gives the rest to AdamW; ``adafactor``
    is jiang's, which has no moments to set; its own schedule is a stage's decay "adafactor".
    """

    name: Literal["adam", "adamw", "muon", "adafactor"] = "adam"
    betas: tuple[Share, Share] = (0.9, 0.995)
    eps: Annotated[float, Field(gt=0)] = 1e-8
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: Annotated[float, Field(gt=0)] = 0.1


class Recipe(_Strict):
    """One training run. ``batch_size`` counts examples over all processes."""

    name: str
    model: dict[str, Any]
    stages: Annotated[list[Stage], Field(min_length=1)]
    batch_size: Annotated[int, Field(gt=0)] = 1024
    precision: Literal["fp32", "bf16"] = "fp32"
    seed: int = 0
    optimizer: Optimizer = Optimizer()
    label_smoothing: Share = 0.0
    subwords: Subwords | None = None  # without either: characters of the Mathematics Dataset
    words: Words | None = None  # of models that caption images
    evaluate: list[Mix] = []
    evaluate_every: Annotated[int, Field(gt=0)] = 1000
    save_every: Annotated[int, Field(gt=0)] = 1000

    @property
    def steps(self) -> int:
        return sum(stage.steps for stage in self.stages)


def read_recipe(path: str | os.PathLike[str], overrides: list[str] | None = None) -> Recipe:
    """The recipe in a TOML file, with ``key.sub=value`` overrides (values are TOML).

    Raises:
        InputError: no such file, no TOML, an unknown key (the nearest is suggested), a wrong value.
    """
    return parse_recipe(read_settings(path, overrides), str(path))


def read_settings(
    path: str | os.PathLike[str], overrides: list[str] | None = None
) -> dict[str, Any]:
    """What a TOML file says, with ``key.sub=value`` overrides (values are TOML), unchecked.

    Raises:
        InputError: no such file, no TOML, an override of what has no parts.
    """
    try:
        settings = tomllib.loads(Path(path).read_text())
    except OSError as error:
        raise InputError(f"recipe {str(path)!r}: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"recipe {path} is not TOML: {error}") from error
    for override in overrides or []:
        _set(settings, override)
    return settings


def parse_recipe(settings: dict[str, Any], where: str = "recipe") -> Recipe:
    """The recipe of these settings, checked."""
    try:
        return Recipe.model_validate(settings)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part) for part in first["loc"])
        if first["type"] == "extra_forbidden":
            mistake = unknown("key", place, _keys(first["loc"][:-1]))
            raise InputError(f"{where}: {mistake}") from error
        raise InputError(f"{where}: {place}: {first['msg']} (given: {first['input']!r})") from error


def _set(settings: dict[str, Any], override: str) -> None:
    key, equals, value = override.partition("=")
    if not equals:
        raise InputError(f"--set {override!r}: give key=value, for example batch_size=64")
    try:
        parsed = tomllib.loads(f"value = {value}")["value"]
    except tomllib.TOMLDecodeError:
        parsed = value
    *path, last = key.split(".")
    at: Any = settings
    try:
        for part in path:
            at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
        at[int(last) if isinstance(at, list) else last] = parsed
    except (AttributeError, IndexError, TypeError, ValueError) as error:
        raise InputError(f"--set {override!r}: the recipe has no place {key!r}") from error


def _keys(location: tuple[int | str, ...]) -> list[str]:
    at: Any = Recipe
    for part in location:
        if isinstance(part, str):
            at = _model_in(at.model_fields[part].annotation)
    prefix = ".".join(str(part) for part in location)
    return [f"{prefix}.{key}" if prefix else key for key in at.model_fields]


def _model_in(annotation: Any) -> Any:
    if get_origin(annotation) in (list, Annotated, Union, UnionType):
        return _model_in(get_args(annotation)[0])
    return annotation
