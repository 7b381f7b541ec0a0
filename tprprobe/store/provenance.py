"""Which stores a kept result was made of: its JSON files name them, or their models, by fingerprint."""

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from tprprobe.store.reader import Store


def origin_json(origin: Mapping[str, Sequence[str]]) -> str:
    return json.dumps(origin, indent=1) + "\n"


def sort_results(
    store: Store, folders: Iterable[Path]
) -> tuple[list[Path], list[Path], list[Path]]:
    """The folders of results of the store (or of its model), of others, and of those that do not say of which."""
    of_store, of_other_stores, unknown = [], [], []
    for folder in folders:
        text = "".join(file.read_text("utf-8", "replace") for file in folder.glob("*.json"))
        names_store = '"stores":' in text
        fingerprint = store.fingerprint if names_store else store.model
        names_any = names_store or '"sha256":' in text or '"weights":' in text
        is_own = names_any and f'"{fingerprint}"' in text
        (of_store if is_own else of_other_stores if names_any else unknown).append(folder)
    return of_store, of_other_stores, unknown
