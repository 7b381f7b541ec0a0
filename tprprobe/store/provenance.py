"""Which stores a kept result was made of: its JSON files name them, or their models, by fingerprint."""

import contextlib
import json
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.store.reader import Store

STORES, MODELS = ("stores",), ("sha256", "weights")  # the keys under which fingerprints stand


@dataclass(frozen=True)
class Origin:
    """The fingerprints of the stores, and of the models, that a result names."""

    stores: frozenset[str]
    models: frozenset[str]

    @property
    def is_known(self) -> bool:
        return bool(self.stores or self.models)

    def has(self, store: Store) -> bool:
        """True if the result was made of the store; a result that names no store, of the store's model."""
        return store.fingerprint in self.stores if self.stores else store.model in self.models


def read_origin(folder: str | os.PathLike[str]) -> Origin:
    """The fingerprints of stores and models that the JSON files of a result name, all together."""
    named: list[tuple[str, str]] = []
    for file in Path(folder).glob("*.json"):
        with contextlib.suppress(InputError):  # something else, of which nothing is known
            named += _walk("", read_json(file))
    stores, models = (
        frozenset(value for key, value in named if key in keys) for keys in (STORES, MODELS)
    )
    return Origin(stores, models)


def origin_json(origin: Mapping[str, Sequence[str]]) -> str:
    """The JSON file by which a result names its stores, or its models."""
    return json.dumps(origin, indent=1) + "\n"


def sort_results(
    store: Store, folders: Iterable[Path]
) -> tuple[list[Path], list[Path], list[Path]]:
    """The folders of results of the store, of others, and of those that do not say of which."""
    own, others, unknown = [], [], []
    for folder in folders:
        origin = read_origin(folder)
        (own if origin.has(store) else others if origin.is_known else unknown).append(folder)
    return own, others, unknown


def _walk(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value with the key under which it stands; in ``stores`` all stand under it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else ((key, each) for each in value)
        for name, each in pairs:
            yield from _walk(key if key in STORES else name, each)
