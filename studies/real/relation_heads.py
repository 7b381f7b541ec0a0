"""Question d, attention: which heads follow a gold relation, further than a fixed offset does?

From dependents to heads of the English Web Treebank and back. The head and the offset of every relation are chosen
on half of the documents and scored on the other half.
"""

from pathlib import Path
from typing import Any

import pandas as pd

import tprprobe as tp
from studies.real.outcomes import estimate
from studies.real.treebank import read_treebank
from tprprobe.analyses.attention.head_relations import follow_relations, pick_heads
from tprprobe.statistics import read_interval

SENTENCES = 300
OBJECT, DEPENDENT, HEAD = "obj", "dependent", "head"


def measure_heads(name: str, model: str, treebank: Path, store: Path, seed: int) -> pd.DataFrame:
    """A row a relation and direction: the best head and the best fixed offset, with their shares on other documents."""
    data = read_treebank(treebank, "dev", SENTENCES)
    maps = tp.extract(
        tp.load_model(model),
        data,
        ["*.self.attention"],
        store,
        control=False,
        attention_samples=len(data),
        resume=True,
    )
    tables = [
        pick_heads(follow_relations(maps, backward=start == HEAD), seed).assign(start=start)
        for start in (DEPENDENT, HEAD)
    ]
    return pd.concat(tables, ignore_index=True).assign(model=name, seed=seed)


def estimate_heads(heads: pd.DataFrame) -> list[dict[str, Any]]:
    """The estimates of the prediction on heads: from direct objects to their verbs, by model and seed."""
    rows = heads[(heads["relation"] == OBJECT) & (heads["start"] == DEPENDENT)]
    return [
        estimate("d-heads", row["seed"], read_interval(row, "beyond"), row["model"])
        for _, row in rows.iterrows()
    ]
