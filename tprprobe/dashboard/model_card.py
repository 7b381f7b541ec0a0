"""The model of a store: its folder, and its card as text."""

from pathlib import Path

from tprprobe.dashboard.folders import Runs, is_within
from tprprobe.files import assets, hub
from tprprobe.store import Store

LONGEST = 20_000  # characters of a card that are shown


def find_checkpoint(runs: Runs, store: Store) -> Path | None:
    """The folder of a store's model: a shipped one, or one below the runs' root."""
    model = store.manifest.get("model")
    name = model.get("name") if isinstance(model, dict) else model
    below = [each for each in runs.folders["checkpoint"].values() if each.name == name]
    return below[0] if below else assets.available("models").get(str(name))


def read_card(runs: Runs, store: Store) -> str | None:
    """The card of a store's model, as text; None if there is none."""
    folder = find_checkpoint(runs, store)
    if folder is None or not (folder / hub.CARD).is_file():
        return None
    if not is_within(folder / hub.CARD, folder.resolve()):
        return None
    return (folder / hub.CARD).read_text("utf-8", errors="replace")[:LONGEST]
