"""Names of clusters from any column of the tokens, where data have no exact structure to name them by."""

import numpy as np
import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.dashboard.colourings import CLUSTER, NONE, OTHER, list_fields, read_field
from tprprobe.dashboard.scene import Cloud
from tprprobe.statistics import bootstrap_ratio
from tprprobe.store.groups import group_tokens

LEFT_OUT = (
    CLUSTER,
    "position",
    "word",
    "document",
    "module",
)  # columns that say where a token stands
LEAST = 0.3  # F0.5 of a name
NUMBERS = [f"{name}{end}" for name in ("precision", "recall") for end in ("", "_low", "_high")]


def name_by_labels(scene: Cloud) -> pd.DataFrame | None:
    """One row per cluster: the value of a column (``pos NN``, ``token the``) with the highest F0.5 on every second group of
    samples; precision, recall with 95 % intervals and f05 on the others; coverage. None without columns to name by.
    """
    fields = [each for each in list_fields(scene) if each not in LEFT_OUT]
    if not fields or len(scene.tokens) < 2:
        return None
    tokens = pd.DataFrame(
        {
            field: f"{field.removeprefix('gold ')} " + read_field(scene, field).to_numpy()
            for field in fields
        }
    )
    for field in fields:
        tokens[field] = tokens[field].where(
            ~tokens[field].isin([f"{field.removeprefix('gold ')} {each}" for each in (NONE, OTHER)])
        )
    group = np.asarray(group_tokens(scene.tokens.reset_index(drop=True)))
    return pd.DataFrame(
        [
            _name(tokens, scene.roles.labels == each, group) | {"cluster": each}
            for each in range(scene.roles.k)
        ]
    )


def _name(tokens: pd.DataFrame, inside: np.ndarray, group: np.ndarray) -> dict[str, object]:
    is_chosen_on = group % 2 == 0
    best, most = "", -1.0
    for field in tokens:
        counts = tokens.loc[is_chosen_on, field].value_counts()
        hits = tokens.loc[is_chosen_on & inside, field].value_counts()
        scores = _f05(
            hits / max((is_chosen_on & inside).sum(), 1), hits / counts.reindex(hits.index)
        )
        if len(scores) and scores.max() > most:
            best, most = str(scores.idxmax()), float(scores.max())
    coverage = {"coverage": float(inside.mean()), "size": int(inside.sum())}
    holds = (tokens == best).any(axis=1).to_numpy() & ~is_chosen_on
    judged = inside & ~is_chosen_on
    if not best or not judged.any() or not holds.any():
        return {"name": UNNAMED, "f05": np.nan} | dict.fromkeys(NUMBERS, np.nan) | coverage
    sums = [np.bincount(group, each).astype(float) for each in (holds & judged, judged, holds)]
    precision, recall = (bootstrap_ratio(sums[0], of) for of in sums[1:])
    f05 = float(_f05(precision.value, recall.value))
    is_name = f05 >= LEAST and (
        np.isnan(precision.low) or precision.low > holds.sum() / max((~is_chosen_on).sum(), 1)
    )
    return (
        {"name": best if is_name else UNNAMED, "f05": f05}
        | precision.columns("precision")
        | recall.columns("recall")
        | coverage
    )


def _f05(precision, recall):
    return 1.25 * precision * recall / np.maximum(0.25 * precision + recall, 1e-12)
