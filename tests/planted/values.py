"""A store without a model: states of a falling spectrum, their linear maps as values, bound roles."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

LAYERS, HEADS, WIDTH, D_MODEL, LENGTH = 2, 2, 4, 8, 5


def plant_values(
    path: Path, model: str = "planted", questions: int = 140, twin: bool = True
) -> Store:
    """Questions of five tokens; v, r and v̄ are linear in LN(z), of which hidden is a rotation."""
    vector = SiteSpec(("source", "d_model"), (D_MODEL,))
    head = SiteSpec(("source", "head", "d_head"), (HEADS, WIDTH))
    shapes = {"self.input": vector, "hidden": vector}
    shapes |= dict.fromkeys(("self.value", "self.filler", "self.role"), head)
    sites = {f"encoder.{i}.{site}": spec for i in range(LAYERS) for site, spec in shapes.items()}
    writer = StoreWriter.create(path, sites, {"model": {"name": model}})
    if twin:
        plant_values(path / "untrained", model, questions, twin=False)
    rng = np.random.default_rng(twin)
    count = questions * LENGTH
    rows = {}
    for layer in range(LAYERS):
        z = rng.normal(size=(count, D_MODEL)) / np.arange(1, D_MODEL + 1)
        rows[f"encoder.{layer}.self.input"] = z
        rows[f"encoder.{layer}.hidden"] = z @ np.linalg.qr(rng.normal(size=(D_MODEL, D_MODEL)))[0]
        for site in ("value", "filler", "role"):
            projected = z @ rng.normal(size=(D_MODEL, HEADS * WIDTH))
            rows[f"encoder.{layer}.self.{site}"] = projected.reshape(count, HEADS, WIDTH)
    index = np.arange(count)
    sample = index // LENGTH  # no two are the same text
    table = pd.DataFrame({"side": "source", "sample": sample, "token": sample.astype(str)})
    writer.append(rows, table.assign(position=index % LENGTH))
    writer.finish()
    return open_store(path)
