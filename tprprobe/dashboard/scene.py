"""A scene in words; :mod:`tprprobe.analyses.token_maps` builds it."""

import pandas as pd

from tprprobe.analyses.naming.names import UNNAMED, explain_unnamed
from tprprobe.analyses.token_maps import Cloud
from tprprobe.analyses.token_maps import build_scene as build_scene
from tprprobe.analyses.token_maps import fill as fill
from tprprobe.analyses.token_maps import stack_layers as stack_layers
from tprprobe.dashboard.statements import Statement, link_vectors, number, top
from tprprobe.statistics import Row
from tprprobe.store.token_texts import visible

MAX_NAME = 90  # characters


def summarize_roles(scene: Cloud) -> Statement:
    """Which clusters of a head have a name, and how sure the surest one is."""
    names, roles = scene.names, scene.roles
    if names is None:
        text = f"{roles.k} clusters of {len(scene.rows):,} vectors of {scene.place}, with a stability of"
        return Statement(f"{text} {roles.stability:.2f} over seeds (ARI; 1: the same clusters).")
    rows = names[names["name"] != UNNAMED]
    if rows.empty:
        text = f"None of the {len(names)} clusters of {scene.place} has a name that holds on held-out samples."
        return Statement(f"{text}{_explain_best(scene, names)}{_count_baseline(scene)}")
    best = top(rows, "f05")
    verb, cover = ("has", "it covers") if len(rows) == 1 else ("have", "they cover")
    text = (
        f"{len(rows)} of {len(names)} clusters of {scene.place} {verb} a name that holds on held-out samples; {cover} "
        f"{100 * rows['coverage'].sum():.0f} % of the tokens. The most certain name is ‘{visible(best['name'], MAX_NAME)}’ (cluster "
        f"{best['cluster']}, {_measure(scene, best)}, recall {number(best, 'recall', '.2f')}).{_count_baseline(scene)}"
    )
    query = {"mark": f"cluster:{best['cluster']}", "k": str(roles.k)}
    label = f"Mark cluster {best['cluster']}"
    return Statement(text, (link_vectors(roles.site, roles.head, label, **query),))


def _explain_best(scene: Cloud, names: pd.DataFrame) -> str:
    """Why the best proposed name does not hold; empty if none was proposed."""
    rows = names[names["f05"].notna()]
    if rows.empty:
        return ""
    best = top(rows, "f05")
    measured = f"cluster {best['cluster']}, {_measure(scene, best)}"
    return f" The best candidate was ‘{visible(best['candidate'], MAX_NAME)}’ ({measured}): {explain_unnamed(best)}."


def _measure(scene: Cloud, row: Row) -> str:
    groups = "documents" if "document" in scene.tokens else "samples"
    rests_on = f"{row['size']:,} tokens of {row['documents']:,} {groups}"
    return f"precision {number(row, 'precision', '.2f')} on {rests_on}"


def _count_baseline(scene: Cloud) -> str:
    """How many clusters of the baseline model have a name; without a baseline model, that nothing tells."""
    if scene.baseline is None or scene.baseline.names is None:
        return " There is no baseline model to compare with."
    count = int((scene.baseline.names["name"] != UNNAMED).sum())
    return f" Of the baseline model, {count} of {len(scene.baseline.names)} have one."
