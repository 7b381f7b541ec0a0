"""What is known of a store, in sentences; what reads a kind of result is imported where there is one, for a quick first view."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

from tprprobe.dashboard.contents import EXAMINATION
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.statements import Link, Statement
from tprprobe.errors import InputError
from tprprobe.store import Store
from tprprobe.store.token_texts import visible


def summarize(runs: Runs, store: Store | None) -> list[Statement]:
    """What is known of a store; of a folder without a store, what its results say."""
    return [*{statement.text: statement for statement in _results(runs, store)}.values()]


def _results(runs: Runs, store: Store | None) -> Iterator[Statement]:
    """A sentence for every probed task, decomposition (its best site) and intervention; a damaged result says so.
    Probes of `examine` are on its page.
    """
    for summarize_folder, kinds in RESULTS.items():
        for name, folder in runs.beside(store, *kinds).items():
            if folder.name == "probes" and (folder.parent / EXAMINATION).is_file():
                continue
            try:
                yield from summarize_folder(name, folder)
            except InputError as error:
                yield Statement(f"{name} cannot be read: {visible(error, 200)}.")


def _names(name: str, folder: Path) -> Iterator[Statement]:
    from tprprobe.dashboard.names import load_named, show_names, summarize_names

    link = Link("Show on Roles", "roles", {"names": name})
    yield replace(summarize_names(show_names(load_named(folder)).data), links=(link,))


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
    _probes: ("probes",),
    _decompositions: ("decompositions",),
    _interventions: ("interventions", "behaviors"),
}
