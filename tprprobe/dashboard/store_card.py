"""Facts of a store for its card: model, data, sizes, score; quick to read."""

from typing import Any

from tprprobe.dashboard.safe_text import visible
from tprprobe.store import Store
from tprprobe.store.layout import SIDES, twins_in


def tell_store(store: Store) -> dict[str, str]:
    """Model, data, size and score of a store, in words; nothing of its tokens is read for these."""
    manifest = store.manifest
    lengths = manifest["lengths"]
    return {
        "model": _name(manifest.get("model")),
        "data": _name(manifest.get("data")),
        "samples": f"{store.samples:,}",
        "tokens": " + ".join(f"{lengths[side]:,}" for side in SIDES if lengths.get(side)) or "0",
        "sites": f"{len(store.sites)}",
        "size": tell_size(int(store.summary["bytes"].sum())),
        "control": ", ".join(f"{kind} twin" for kind in twins_in(store.path)) or "none",
    }


def _name(value: Any) -> str:
    """The name of a model or of data in a manifest, whatever is stored there."""
    if isinstance(value, dict):
        value = " · ".join(str(value[key]) for key in ("name", "split") if value.get(key))
    return visible(value if value else "–", 80)


def tell_size(n: float) -> str:
    for unit in ("B", "kB", "MB", "GB"):
        if n < 1000:
            return f"{n:.3g} {unit}"
        n /= 1000
    return f"{n:.3g} TB"
