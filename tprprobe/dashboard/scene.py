"""A scene in words; :mod:`tprprobe.analyses.token_maps` builds it."""

from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.token_maps import Cloud
from tprprobe.analyses.token_maps import build_scene as build_scene
from tprprobe.analyses.token_maps import fill as fill
from tprprobe.analyses.token_maps import stack_layers as stack_layers
from tprprobe.dashboard.statements import Statement, link_vectors, number, top
from tprprobe.store.token_texts import visible

LONG = 90  # characters of a name


def summarize_roles(scene: Cloud) -> Statement:
    """Which clusters of a head have a name, and how sure the surest one is."""
    names, roles = scene.names, scene.roles
    if names is None:
        of = f"{roles.k} clusters of {len(scene.rows):,} vectors of {scene.place}"
        sure = f"a stability of {roles.stability:.2f} over seeds (ARI; 1: the same clusters)"
        return Statement(f"{of}, with {sure}.")
    known, place = names[names["name"] != UNNAMED], scene.place
    if known.empty:
        none = f"None of the {len(names)} clusters of {place}"
        return Statement(f"{none} has a name that holds on held-out samples.")
    best = top(known, "f05")
    text = (
        f"{len(known)} of {len(names)} clusters of {scene.place} {'has' if len(known) == 1 else 'have'} a name that holds on held-out samples; they cover "
        f"{100 * known['coverage'].sum():.0f} % of the tokens. The most certain name is ‘{visible(best['name'], LONG)}’ (cluster "
        f"{best['cluster']}, precision {number(best, 'precision', '.2f')}, recall {number(best, 'recall', '.2f')})."
    )
    query = {"mark": f"cluster:{best['cluster']}", "k": str(roles.k)}
    told = f"Mark cluster {best['cluster']}"
    return Statement(text, (link_vectors(roles.site, roles.head, told, **query),))
