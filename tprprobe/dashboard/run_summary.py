"""What is known of a store, in sentences; what reads a kind of result is imported where there is one, for a quick first view."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tprprobe.dashboard.contents import EXAMINATION, list_maps
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.statements import Link, Statement, link_vectors
from tprprobe.errors import InputError
from tprprobe.store import Store
from tprprobe.store.token_texts import visible


def summarize(runs: Runs, store: Store | None) -> list[Statement]:
    """What is known of a store; of a folder without a store, what its results say."""
    return [*{statement.text: statement for statement in _results(runs, store)}.values()]


def _results(runs: Runs, store: Store | None) -> Iterator[Statement]:
    """A sentence for every result of a kind, task or edit; a damaged result says so. Those of `examine` are on its page."""
    if store and list_maps(store) and not (store.path.parent / EXAMINATION).is_file():
        yield _summarize_heads(store)
    for summarize_folder, kinds in RESULTS.items():
        for name, folder in runs.beside(store, *kinds).items():
            is_part = any(kind.startswith(folder.name) for kind in kinds)  # behavior, probes
            if is_part and (folder.parent / EXAMINATION).is_file():
                continue
            try:
                yield from summarize_folder(name, folder)
            except InputError as error:
                yield Statement(f"{name} cannot be read: {visible(error, 200)}.")


def _names(name: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.dashboard.names import load_named, summarize_names

    link = Link("Show on Roles", "roles", {"names": name})
    yield replace(summarize_names(load_named(folder)), links=(link,))


def _clusters(_: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.analyses.clustering import load_clusters
    from tprprobe.dashboard.scene import describe_clusters

    clusters = load_clusters(folder)
    roles = clusters[0]
    is_shown = not (roles.raw or roles.seed)  # the page makes clusters with the usual settings
    link = link_vectors(roles.site, roles.head, "Show on Roles", k=str(roles.k))
    yield Statement(describe_clusters(clusters), (link,) * is_shown)


def _summarize_heads(store: Store) -> Statement:
    """The first line of the attention maps of a store, which no folder of results has."""
    from tprprobe.dashboard import attention

    followed = attention.follow(store)
    scores = attention.score_attention(store, followed)
    return attention.summarize_attention(store, scores, attention.pick_head(followed))


def _probes(name: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.dashboard.probes import load_probes, summarize_probes

    rows = load_probes([folder])
    for task in rows["task"].unique():
        statement = summarize_probes(rows, str(task), rows["model"].unique().tolist())
        brief = f"{statement.brief or statement.text} Run: {name}."
        link = Link("Show on Probes", "probes", {"task": str(task)})
        yield replace(statement, brief=brief, links=(link,))


def _decompositions(_: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.dashboard.decompositions import find_scheme, read_scores, summarize_decomposition

    scores = read_scores([folder])
    statement = summarize_decomposition(scores, str(find_scheme(scores)["site"]))
    n_sites = scores["site"].nunique()
    which = f" Of {n_sites} sites, it has the largest R²." * (n_sites > 1)
    yield replace(statement, brief=statement.brief + which)


def _interventions(name: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.dashboard import interventions

    for edit, rows in interventions.read_interventions(folder).items():
        statement = interventions.summarize_run(folder, rows, edit)
        link = Link("Show on Interventions", "interventions", {"intervention": name, "edit": edit})
        yield replace(statement, links=(link,))


RESULTS: dict[Callable[[str, Path], Iterator[Statement]], tuple[str, ...]] = {
    _names: ("names", "word-names"),
    _clusters: ("clusters",),
    _probes: ("probes",),
    _decompositions: ("decompositions",),
    _interventions: ("interventions", "behaviors"),
}
