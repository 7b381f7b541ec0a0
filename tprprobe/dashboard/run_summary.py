"""What is known of a store, in sentences: its strongest roles, and every result beside it."""

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
from tprprobe.dashboard.decompositions import tell_decomposition
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.interventions import read_interventions, tell_edits
from tprprobe.dashboard.probes import tell_probes
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.statements import Link, Statement, link_vectors, percent, place
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
    """The strongest named roles of a store (all of them as a table), and its other results."""

    roles: tuple[Statement, ...]
    named: pd.DataFrame
    results: tuple[Statement, ...]


def summarize(runs: Runs, store: Store) -> Summary:
    """Everything that is known of a store."""
    named = list_named(runs, store)
    return Summary(tuple(find_roles(runs, store, named)), named, tuple(_results(runs, store)))


def list_named(runs: Runs, store: Store) -> pd.DataFrame:
    """Every named cluster of the trained model, the surest first: name, site, head, cluster of k, measures."""
    tables = [load_names(each).clusters for each in runs.beside(store, "names").values()]
    for words in map(load_word_names, runs.beside(store, "word-names").values()):
        of_head = words.groupby(["model", "site", "head"], dropna=False)["cluster"]
        tables.append(words.assign(k=of_head.transform("size")))
    if not tables:
        return pd.DataFrame(columns=NAMED)
    rows = pd.concat(tables, ignore_index=True)
    own = rows[(rows["model"] == TRAINED) & (rows["name"] != UNNAMED)]
    return own.sort_values("f05", ascending=False)[NAMED].reset_index(drop=True)


def find_roles(runs: Runs, store: Store, named: pd.DataFrame) -> Iterator[Statement]:
    """The strongest named roles, each name once: those that more than the symbol tells come first, then by F0.5."""
    best = named.drop_duplicates("name")
    if best.empty:
        return
    gold = read_structure(store, "source")
    texts = gold.tokens["token"].astype(str).to_numpy()
    known = [name for name in best["name"] if name in gold.lattice.names]
    holds = {name: gold.lattice.extension(name) for name in known}
    beyond = {name for name, each in holds.items() if _is_beyond_symbols(texts, each)}
    order = best["name"].map(lambda name: name not in beyond).sort_values(kind="stable")
    files = [folder / LABELS for folder in runs.beside(store, "names").values()]
    tables = [read_table(file, {}, "name again") for file in files if file.is_file()]
    for _, row in best.loc[order.index].head(ROLES).iterrows():
        column = f"{row['site']} {row['head']} {row['k']}"
        labels = next((each[column].to_numpy() for each in tables if column in each), None)
        is_known = labels is not None and row["name"] in holds
        inside = (
            (labels == row["cluster"]) & holds[row["name"]]
            if is_known
            else np.zeros(len(texts), bool)
        )
        yield _tell_role(row, tuple(_examples(gold.tokens, inside)))


def _tell_role(row: pd.Series, examples: tuple[str, ...]) -> Statement:
    text = (
        f"‘{visible(row['name'], 90)}’: cluster {row['cluster']} of {place(row['site'], row['head'])}, "
        f"precision {percent(row, 'precision', 0)}, recall {percent(row, 'recall', 0)}, held out"
    )
    query = {"mark": f"cluster:{row['cluster']}", "k": str(row["k"])}
    return Statement(
        text, (link_vectors(row["site"], row["head"], "Show on Roles", **query),), examples
    )


def _is_beyond_symbols(texts: np.ndarray, holds: np.ndarray) -> bool:
    """True if a predicate holds for some tokens of a symbol and not for others."""
    share = pd.Series(holds).groupby(texts).mean()
    return bool(((share > 0) & (share < 1)).any())


def _examples(tokens: pd.DataFrame, inside: np.ndarray) -> Iterator[str]:
    """The surroundings of the first such token of some samples, the token in ⟨⟩."""
    first = tokens[inside].drop_duplicates("sample").head(EXAMPLES)
    for row, sample in zip(first.index, first["sample"], strict=True):
        near = tokens.loc[max(row - AROUND, 0) : row + AROUND]
        signs = near.loc[near["sample"] == sample, "token"].map(visible)
        yield "".join(
            f"⟨{sign}⟩" if i == row else sign.replace("␣", " ") for i, sign in signs.items()
        )


def _results(runs: Runs, store: Store) -> Iterator[Statement]:
    """A sentence for every probed task, decomposed site and intervention; a damaged result says so."""
    for kind, tell in RESULTS.items():
        for name, folder in runs.beside(store, kind).items():
            try:
                yield from tell(name, folder)
            except InputError as error:
                yield Statement(f"{name} cannot be read: {visible(error, 200)}.")


def _probes(_: str, folder: Path) -> Iterator[Statement]:
    rows = load_probes([folder])
    for task in rows["task"].unique():
        found = tell_probes(rows, str(task), rows["model"].unique().tolist())
        link = Link("Show on Probes", "probes", {"task": str(task)})
        yield Statement(found.text, (link, *found.links))


def _decompositions(_: str, folder: Path) -> Iterator[Statement]:
    scores = load_decompositions([folder])
    yield from (tell_decomposition(scores, str(site)) for site in scores["site"].unique()[:ROLES])


def _interventions(name: str, folder: Path) -> Iterator[Statement]:
    for edit, rows in read_interventions(folder).items():
        found = tell_edits(rows, edit)
        link = Link("Show on Interventions", "interventions", {"intervention": name, "edit": edit})
        yield Statement(found.text, (link, *found.links))


RESULTS: dict[str, Callable[[str, Path], Iterator[Statement]]] = {
    "probes": _probes,
    "decompositions": _decompositions,
    "interventions": _interventions,
    "behaviours": _interventions,
}
