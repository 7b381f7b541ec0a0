"""What is known of a store, in sentences: what was read, its strongest roles, and every result beside it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.heads import read_structure
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.run import LABELS
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.headlines import (
    link_vectors,
    percent,
    place,
    tell_behaviour,
    tell_decomposition,
    tell_interventions,
    tell_probes,
    tell_store,
)
from tprprobe.dashboard.interventions import read_interventions
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.sentence import Link, Statement
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.decomposition import load_decompositions
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.files.tables import read_table
from tprprobe.store import Store

NAMED = ["name", "site", "head", "cluster", "k", "precision", "precision_low", "precision_high"]
NAMED += ["recall", "recall_low", "recall_high", "coverage", "f05"]
ROLES, EXAMPLES, AROUND = 3, 3, 7  # roles, examples of each, characters beside an example's token


@dataclass(frozen=True)
class Summary:
    """The first line of a store, its strongest named roles (all of them as a table), and its other results."""

    lead: Statement
    roles: tuple[Statement, ...]
    named: pd.DataFrame
    results: tuple[Statement, ...]


def summarize(runs: Runs, store: Store) -> Summary:
    """Everything that is known of a store."""
    named = list_named(runs, store)
    return Summary(
        tell_store(store),
        tuple(find_roles(runs, store, named)),
        named,
        tuple(_results(runs, store)),
    )


def list_named(runs: Runs, store: Store) -> pd.DataFrame:
    """Every named cluster of the trained model, the surest first: name, site, head, cluster of k, measures."""
    tables = [load_names(each).clusters for each in runs.beside(store, "names").values()]
    tables += [_count_clusters(each) for each in runs.beside(store, "word-names").values()]
    if not tables:
        return pd.DataFrame(columns=NAMED)
    rows = pd.concat(tables, ignore_index=True)
    own = rows[(rows["model"] == TRAINED) & (rows["name"] != UNNAMED)]
    return own.sort_values("f05", ascending=False)[NAMED].reset_index(drop=True)


def _count_clusters(folder: Path) -> pd.DataFrame:
    """Clusters of words with ``k``, the number of clusters of their head."""
    named = load_word_names(folder)
    of_head = named.groupby(["model", "site", "head"], dropna=False)["cluster"]
    return named.assign(k=of_head.transform("size"))


def find_roles(runs: Runs, store: Store, named: pd.DataFrame) -> Iterator[Statement]:
    """The strongest named roles, each name once: those that more than the symbol tells come first, then by F0.5."""
    best = named.drop_duplicates("name")
    if best.empty:
        return
    gold = read_structure(store, "source")
    texts = gold.tokens["token"].astype(str).to_numpy()
    holds = {
        name: gold.lattice.extension(name) for name in best["name"] if name in gold.lattice.names
    }
    beyond = {name: _is_beyond_symbols(texts, each) for name, each in holds.items()}
    order = best["name"].map(lambda name: not beyond.get(name, False))
    tables = [
        read_table(folder / LABELS, {}, "name again")
        for folder in runs.beside(store, "names").values()
        if (folder / LABELS).is_file()
    ]
    for _, row in best.loc[order.sort_values(kind="stable").index].head(ROLES).iterrows():
        own, known = f"{row['site']} {row['head']} {row['k']}", holds.get(row["name"])
        table = next((each for each in tables if own in each), None)
        inside = (
            None
            if table is None or known is None
            else (table[own].to_numpy() == row["cluster"]) & known
        )
        yield _tell_role(row, () if inside is None else tuple(_examples(gold.tokens, inside)))


def _tell_role(row: pd.Series, examples: tuple[str, ...]) -> Statement:
    text = (
        f"‘{visible(row['name'], 90)}’: cluster {row['cluster']} of {place(row['site'], row['head'])}, "
        f"precision {percent(row, 'precision', 0)}, recall {percent(row, 'recall', 0)}, held out"
    )
    query = {"mark": f"cluster:{row['cluster']}", "k": str(row["k"])}
    return Statement(
        text, (link_vectors(row["site"], row["head"], "Show on Roles", query),), examples
    )


def _is_beyond_symbols(texts: np.ndarray, holds: np.ndarray) -> bool:
    """True if a predicate holds for some tokens of a symbol and not for others."""
    share = pd.Series(holds).groupby(texts).mean()
    return bool(((share > 0) & (share < 1)).any())


def _examples(tokens: pd.DataFrame, inside: np.ndarray) -> Iterator[str]:
    """The surroundings of the first such token of some samples, the token in ⟨⟩."""
    first = tokens[inside].drop_duplicates("sample").head(EXAMPLES)
    for row, sample in zip(first.index, first["sample"], strict=True):
        near = range(max(row - AROUND, 0), min(row + AROUND + 1, len(tokens)))
        own = [i for i in near if tokens["sample"].iloc[i] == sample]
        signs = {i: visible(tokens["token"].iloc[i]) for i in own}
        yield "".join(
            f"⟨{sign}⟩" if i == row else sign.replace("␣", " ") for i, sign in signs.items()
        )


def _results(runs: Runs, store: Store) -> Iterator[Statement]:
    """A sentence for every probed task, decomposed site and intervention; a damaged result says so."""
    for kind, tell in RESULTS.items():
        for name, folder in runs.beside(store, kind).items() if kind in runs.folders else ():
            try:
                yield from tell(name, folder)
            except InputError as error:
                yield Statement(f"{name} cannot be read: {visible(error, 200)}.")


def _probes(name: str, folder: Path) -> Iterator[Statement]:
    rows = load_probes([folder])
    for task in rows["task"].unique():
        found = tell_probes(rows, str(task), rows["model"].unique().tolist())
        yield Statement(
            found.text, (Link("Show on Probes", "probes", {"task": str(task)}), *found.links)
        )


def _decompositions(name: str, folder: Path) -> Iterator[Statement]:
    scores = load_decompositions([folder])
    yield from (tell_decomposition(scores, str(site)) for site in scores["site"].unique()[:ROLES])


def _interventions(name: str, folder: Path) -> Iterator[Statement]:
    for edit, rows in read_interventions(folder).items():
        found = tell_behaviour(rows) if "kl" in rows else tell_interventions(rows, edit)
        link = Link("Show on Interventions", "interventions", {"intervention": name, "edit": edit})
        yield Statement(found.text, (link, *found.links))


RESULTS: dict[str, Callable[[str, Path], Iterator[Statement]]] = {
    "probes": _probes,
    "decompositions": _decompositions,
    "interventions": _interventions,
    "behaviours": _interventions,
}
