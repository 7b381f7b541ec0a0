"""Sentences with dependencies, and attention heads that follow them, or the word behind, or nothing."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

MAPS = "encoder.0.self.attention"
FOLLOWS, BEHIND = 0, 1  # heads; a third looks anywhere
LENGTH = 6


def plant_relations(path: Path, samples: int = 60) -> Store:
    """The store: words depend on words drawn by chance, as subj or obj, the first of all on itself as root."""
    rng = np.random.default_rng(0)
    writer = StoreWriter.create(
        path, {MAPS: SiteSpec(("source_source", "head"), (3,))}, {"model": {"name": "planted"}}
    )
    for sample in range(samples):
        heads = np.array([0, *((i + rng.integers(1, LENGTH)) % LENGTH for i in range(1, LENGTH))])
        relations = ["root", *rng.choice(["subj", "obj"], LENGTH - 1)]
        cells = [
            f"{name}[{i},{i + 1})[{head},{head + 1})"
            for i, (name, head) in enumerate(zip(relations, heads, strict=True))
        ]
        tokens = pd.DataFrame({"position": range(LENGTH), "word": range(LENGTH), "dep": cells})
        tokens = tokens.assign(
            side="source",
            sample=sample,
            token=rng.choice(list("abcdefgh"), LENGTH),
            document=f"d{sample}",
        )
        nowhere = rng.random((LENGTH, LENGTH))
        behind = (np.arange(LENGTH) + 1) % LENGTH
        maps = np.stack([np.eye(LENGTH)[heads], np.eye(LENGTH)[behind], nowhere])
        writer.append({}, tokens, {MAPS: [maps.astype(np.float32)]})
    writer.finish()
    return open_store(path)
