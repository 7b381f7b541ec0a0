"""The model of a store: its folder, and its card as text."""

import re
from pathlib import Path
from typing import Any

from tprprobe.dashboard.folders import Runs, is_within
from tprprobe.files import assets, hub
from tprprobe.models.architectures import fingerprint
from tprprobe.store import Store

LONGEST = 20_000  # characters of a card that are shown


def find_checkpoint(runs: Runs, store: Store) -> Path | None:
    """The folder of a store's model: a shipped one, or one below the runs' root."""
    model = store.manifest.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    below = [each for each in runs.folders["checkpoint"].values() if each.name == name]
    return below[0] if below else assets.available("models").get(str(name))


def find_model(runs: Runs, store: Store) -> str | None:
    """What :func:`tprprobe.load_model` takes for the model of a store: a folder below the runs' root, a shipped name, or the
    hub id that the store names; None where neither is known.
    """
    model = store.manifest.get("model")
    name = str(model.get("name") if isinstance(model, dict) else model)
    kind, _, of = name.rpartition("hf:")
    below = [each for each in runs.folders["checkpoint"].values() if each.name == (of or name)]
    if below:
        return f"hf:{below[0]}" if name.startswith("hf:") else str(below[0])
    if name.startswith("hf:") and re.fullmatch(r"[\w.-]+/[\w.-]+", of):
        return name
    folder = None if kind else assets.available("models").get(name)
    return None if folder is None else str(folder)


def read_card(runs: Runs, store: Store) -> str | None:
    """The card of a store's model, as text; None if there is none."""
    folder = find_checkpoint(runs, store)
    if folder is None or not (folder / hub.CARD).is_file():
        return None
    if not is_within(folder / hub.CARD, folder.resolve()):
        return None
    return (folder / hub.CARD).read_text("utf-8", errors="replace")[:LONGEST]


def is_model_of(model: Any, store: Store) -> bool:
    """True if a model has the weights that a store was made with, or the store does not say."""
    return store.model is None or fingerprint(model) == store.model
