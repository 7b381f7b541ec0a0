"""Which stores a kept result was made of: its JSON files name them, or their models, by fingerprint."""

import contextlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.store.reader import Store

STORES, MODELS = ("stores",), ("sha256", "weights")  # the keys under which fingerprints stand


def origin_json(origin: Mapping[str, Sequence[str]]) -> str:
    """The JSON file by which a result names its stores, or its models."""
    return json.dumps(origin, indent=1) + "\n"


def sort_results(
    store: Store, folders: Iterable[Path]
) -> tuple[list[Path], list[Path], list[Path]]:
    """The folders of results of the store, of others, and of those that do not say of which.

    A result that names no store is of every store of a model that it names.
    """
    of_store, of_other_stores, unknown = [], [], []
    for folder in folders:
        fingerprints = list(_fingerprints(folder))
        stores, models = (
            {value for key, value in fingerprints if key in keys} for keys in (STORES, MODELS)
        )
        is_own = store.fingerprint in stores if stores else store.model in models
        (of_store if is_own else of_other_stores if stores or models else unknown).append(folder)
    return of_store, of_other_stores, unknown


def _fingerprints(folder: Path) -> Iterator[tuple[str, str]]:
    for file in folder.glob("*.json"):
        with contextlib.suppress(InputError):  # something else, of which nothing is known
            yield from _walk("", read_json(file))


def _walk(key: str, value: Any) -> Iterator[tuple[str, str]]:
    """Every text in a JSON value with the key under which it stands; in ``stores`` all stand under it."""
    if isinstance(value, str):
        yield key, value
    elif isinstance(value, dict | list):
        pairs = value.items() if isinstance(value, dict) else ((key, item) for item in value)
        for name, item in pairs:
            yield from _walk(key if key in STORES else name, item)
