"""A store of generated captions whose unbinding vectors have known clusters: no model is needed."""

from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.data import load_data
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

UNBINDING = "word.unbinding"
WIDTH = 16


def captions(samples: int) -> list[list[tuple[str, str, str]]]:
    """The words of captions with their tags and relations, one caption an image."""
    return [
        [(word.form, word.xpos, word.deprel) for word in example.sentences[0].words]
        for example in load_data("scenes", n=samples)
    ]


def planted_group(position: int, tag: str) -> int:
    """0 and 1 for the first two words, else by tag: determiner, noun or adjective, verb, others."""
    if position <= 2:
        return position - 1
    return {"D": 2, "N": 3, "J": 3, "C": 3, "V": 4}.get(tag[0], 5)


def plant_captions(
    path: Path, samples: int = 120, noise: float = 0.2, subjects: float = 0.0, tagged: bool = True
) -> Store:
    """The store: vectors lie around the centers of groups, those of its untrained twin nowhere.

    With ``subjects`` those of subjects and roots are moved so far along an axis of their own.
    """
    rng = np.random.default_rng(0)
    centers = 2 * np.linalg.qr(rng.normal(size=(WIDTH, WIDTH)))[0]
    sites = {UNBINDING: SiteSpec(("target", "d_model"), (WIDTH,))}
    all_captions = captions(samples)
    for folder, is_planted in ((path, True), (path / "untrained", False)):
        writer = StoreWriter.create(folder, sites, {"model": "planted", "data": "made"})
        for sample, words in enumerate(all_captions):
            tokens = [
                ("<sos>", "", ""),
                *((form, tag, f"{dep}[0,1)[0,1)") for form, tag, dep in words),
            ]
            table = pd.DataFrame(tokens, columns=["token", "pos", "dep"]).assign(
                side="target", sample=sample, position=range(len(tokens))
            )
            vectors = rng.normal(size=(len(tokens), WIDTH))
            if is_planted:
                groups = [planted_group(i, tag) for i, (_, tag, _) in enumerate(words, 1)]
                vectors = noise * vectors + centers[[*groups, 5]]
                early = [dep in ("nsubj", "root") for *_, dep in words]
                vectors[:-1] += subjects * np.outer(early, centers[-1])
            table = table if tagged else table.drop(columns=["pos", "dep"])
            writer.append({UNBINDING: vectors}, table)
        writer.finish()
    return open_store(path)
