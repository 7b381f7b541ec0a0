"""A scene in words; :mod:`tprprobe.analyses.token_maps` builds it."""

from collections.abc import Sequence

import pandas as pd

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.name_counts import (
    TRAINED,
    compare_names,
    quote,
    select_named,
    state_names,
)
from tprprobe.analyses.token_maps import Cloud
from tprprobe.analyses.token_maps import build_scene as build_scene
from tprprobe.analyses.token_maps import fill as fill
from tprprobe.dashboard.statements import Statement, link_vectors, number, top
from tprprobe.figures.labels import site_label
from tprprobe.store.token_texts import visible

MAX_NAME = 90  # characters


def summarize_roles(scene: Cloud, compare: bool = True) -> Statement:
    """Which clusters of a head have a name, how sure the surest one is, and, with ``compare``, how many of the baseline model have one."""
    names, roles = scene.names, scene.roles
    if names is None:
        return Statement(describe_clusters([roles]))
    rows = select_named(names)
    counts = {TRAINED: (len(rows), len(names))}
    if compare and scene.baseline is not None and scene.baseline.names is not None:
        of_baseline = scene.baseline.names
        counts[scene.baseline.store.path.name] = len(select_named(of_baseline)), len(of_baseline)
    text = compare_names(counts, scene.place) if compare else f"{state_names(counts, scene.place)}."
    if rows.empty:
        return Statement(f"{text}{_explain_best(names)}")
    best = top(rows, "f05")
    groups = "documents" if "document" in scene.tokens else "different texts"
    text += (
        f" Different names: {rows['name'].nunique()}. Named clusters cover {100 * rows['coverage'].sum():.0f} % of the tokens. The clearest is "
        f"{quote(visible(best['name'], MAX_NAME))} (cluster {best['cluster']}, precision {number(best, 'precision', '.2f')} on {best['size']:,} tokens "
        f"of {best['documents']:,} {groups}, recall {number(best, 'recall', '.2f')})."
    )
    query = {"mark": f"cluster:{best['cluster']}", "k": str(roles.k)}
    label = f"Mark cluster {best['cluster']}"
    return Statement(text, (link_vectors(roles.site, roles.head, label, **query),))


def describe_clusters(clusters: Sequence[Clusters]) -> str:
    """How many clusters there are of which vectors, and how well random starts agree."""
    first, stable = clusters[0], sorted(f"{roles.stability:.2f}" for roles in clusters)
    place = site_label(first.site, first.head)
    many = f"at each of {len(clusters)} places ({place}, …)"
    where = many if len(clusters) > 1 else f"of {first.size:,} vectors of {place}"
    span = "–".join(dict.fromkeys([stable[0], stable[-1]]))
    return f"{first.k} clusters {where}: agreement of random starts {span} (adjusted Rand index; 1: the same, 0: chance)."


def _explain_best(names: pd.DataFrame) -> str:
    """The unnamed cluster whose candidate is the best, with what that lacks; empty if none was proposed."""
    rows = names[names["f05"].notna() & names["unnamed_because"].fillna("").ne("")]
    if rows.empty:
        return ""
    best = top(rows, "f05")
    reason = visible(best["unnamed_because"], MAX_NAME)
    return f" {len(rows)} of {len(names)} clusters had a candidate to test on held-out documents: the best, of cluster {best['cluster']}, is {reason}."
