"""What is known of a store, in sentences: what was read, its strongest roles, their controls."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.heads import read_structure
from tprprobe.analyses.naming.lattice import AND
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.analyses.naming.run import LABELS, Naming
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.dashboard.accuracy import tell_score
from tprprobe.dashboard.findings import show_dots
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.headlines import link_vectors, percent, place, share, top
from tprprobe.dashboard.probe_panels import show_probes
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.sentence import Link, Statement
from tprprobe.dashboard.store_card import tell_store
from tprprobe.dashboard.view import View
from tprprobe.figures.catalogue.loaders import load_probes
from tprprobe.files.tables import read_table
from tprprobe.store import Store

NAMED = ["name", "site", "head", "cluster", "k", "precision", "precision_low", "precision_high"]
NAMED += ["recall", "recall_low", "recall_high", "coverage", "f05"]
ROLES, EXAMPLES, AROUND = 3, 3, 7  # roles, examples of each, characters beside an example's token
LINKED = 12  # heads of an atom that are linked


@dataclass(frozen=True)
class Summary:
    """The first line of a store, its strongest roles, and their controls."""

    lead: str
    roles: tuple[Statement, ...]
    controls: tuple[Statement, ...]


def summarize(runs: Runs, store: Store) -> Summary:
    """Everything that is known of a store."""
    roles, controls = (tuple(find(runs, store)) for find in (find_roles, compare_controls))
    return Summary(tell_run(store), roles, controls)


def tell_run(store: Store) -> str:
    """What was read, and how well it was answered."""
    facts, score = tell_store(store), tell_score(store)
    told = f"{facts['model']} read {facts['samples']} samples ({facts['tokens']} tokens) of {facts['data']}"
    if score is None:
        return f"{told}; right answers are not known."
    right = (
        "answered right" if store.has_questions else "written as the reference is, word for word"
    )
    return (
        f"{told}; {100 * score.value:.1f} % were {right} (95 % interval {100 * score.low:.1f} to "
        f"{100 * score.high:.1f} %)."
    )


def find_roles(runs: Runs, store: Store) -> list[Statement]:
    """The strongest named roles: those that more than the symbol tells come first, then by F0.5."""
    for folder in runs.beside(store, "names").values():
        naming = load_names(folder)
        return [_tell_role(*each) for each in _strongest(store, naming, folder / LABELS)]
    for folder in runs.beside(store, "word-names").values():
        named = _count_clusters(folder)
        own = named[(named["model"] == TRAINED) & (named["name"] != UNNAMED)]
        best = own.sort_values("f05", ascending=False).drop_duplicates("name").head(ROLES)
        return [_tell_role(row, (visible(row["commonest"], 60),)) for _, row in best.iterrows()]
    return []


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


def list_atoms(named: pd.DataFrame, most: int = 14) -> list[str]:
    """What names are made of, the commonest first."""
    return named["name"].astype(str).str.split(AND).explode().value_counts().index[:most].tolist()


def tell_atom(named: pd.DataFrame, atom: str) -> Statement:
    """Which heads have a role whose name has an atom in it, the surest cluster of each."""
    has = [atom in str(name).split(AND) for name in named["name"]]
    best = named[has].drop_duplicates(["site", "head"])
    heads = [
        f"{place(row['site'], row['head'])} (cluster {row['cluster']}, ‘{visible(row['name'], 60)}’, precision "
        f"{percent(row, 'precision', 0)})"
        for _, row in best.iterrows()
    ]
    heads_have = "head has" if len(best) == 1 else "heads have"
    text = f"{len(best)} {heads_have} a role for ‘{visible(atom)}’: {'; '.join(heads)}."
    return Statement(text, tuple(_link_role(row) for _, row in best.head(LINKED).iterrows()))


def _link_role(row: pd.Series, told: str = "") -> Link:
    """The page that shows a named cluster, marked."""
    query = {"mark": f"cluster:{row['cluster']}"} | {"k": str(row["k"])}
    at = place(row["site"], row["head"])
    return link_vectors(row["site"], row["head"], told or f"{at} · cluster {row['cluster']}", query)


def _tell_role(row: pd.Series, examples: tuple[str, ...]) -> Statement:
    text = (
        f"‘{visible(row['name'], 90)}’: cluster {row['cluster']} of {place(row['site'], row['head'])}, "
        f"precision {percent(row, 'precision', 0)}, recall {percent(row, 'recall', 0)}, held out"
    )
    return Statement(text, (_link_role(row, "Show on Roles"),), examples)


def _strongest(
    store: Store, naming: Naming, labels: Path
) -> Iterator[tuple[pd.Series, tuple[str, ...]]]:
    """The rows of the strongest named clusters with examples, each name once."""
    known = naming.clusters[naming.clusters["name"] != UNNAMED]
    best = known.sort_values("f05", ascending=False).drop_duplicates("name")
    gold = read_structure(store, "source")
    texts = gold.tokens["token"].astype(str).to_numpy()
    holds = {
        name: gold.lattice.extension(name) for name in best["name"] if name in gold.lattice.names
    }
    beyond = {name: _is_beyond_symbols(texts, each) for name, each in holds.items()}
    order = best["name"].map(lambda name: not beyond.get(name, False))
    table = read_table(labels, {}, "name again")
    for _, row in best.loc[order.sort_values(kind="stable").index].head(ROLES).iterrows():
        own = f"{row['site']} {row['head']} {row['k']}"
        if own not in table or row["name"] not in holds:
            yield row, ()
            continue
        inside = (table[own].to_numpy() == row["cluster"]) & holds[row["name"]]
        yield row, tuple(_examples(gold.tokens, inside))


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


def compare_controls(runs: Runs, store: Store) -> list[Statement]:
    """Where roles tell more than their controls, and where they do not."""
    found = [
        tell_polarity(folder, (Link("Show on Probes", "probes", {"names": name}),))
        for name, folder in runs.beside(store, "names").items()
    ]
    if probed := runs.beside(store, "probes"):
        rows = load_probes(probed.values())
        found += [_tell_probed(rows, str(task)) for task in rows["task"].unique()]
    return found


def _best_of_kinds(naming: Naming) -> pd.DataFrame:
    """The head of every kind of vectors whose clusters tell polarity best, the asked kind first."""
    summary = naming.summary[naming.summary["accuracy"].notna()]
    own = summary["model"] == TRAINED
    kinds = summary["vectors"].where(own, summary["model"] + " " + summary["vectors"])
    best = summary.assign(kind=kinds)
    return best.loc[best.groupby("kind", sort=False)["accuracy"].idxmax()].set_index("kind")


def tell_polarity(folder: Path, links: tuple[Link, ...] = ()) -> Statement:
    """Numerator or denominator: the best head's clusters beside the best of every other kind."""
    best = _best_of_kinds(load_names(folder))
    if best.empty:
        return Statement("No digits with a polarity: roles are not compared")
    own, others = best.iloc[0], best.iloc[1:]
    above, below = (
        others["accuracy_high"] < own["accuracy_low"],
        others["accuracy_low"] > own["accuracy_high"],
    )  # intervals apart: stricter than a paired test
    groups = {"More than": above, "Less than": below, "Not surely other than": ~(above | below)}
    scores = others["accuracy"].map(share)
    told = [
        f" {words} {', '.join(scores.index[of] + ' ' + scores[of])}."
        for words, of in groups.items()
        if of.any()
    ]
    text = (
        f"Numerator or denominator? Clusters of {own.name}s ({place(own['site'], own['head'])}) tell "
        f"{percent(own, 'accuracy')} of the digits; a look behind ‘/’ tells {share(own['surface'])}, the commonest "
        f"{share(own['majority'])}."
    )
    return Statement(text + "".join(told), (*links, link_vectors(own["site"], own["head"])))


def show_controls(runs: Runs, store: Store, dark: bool = False) -> View | None:
    """How well clusters of roles tell numerators from denominators, beside every control; of labelled words
    the probes of the first task; None where there is neither.
    """
    for folder in runs.beside(store, "names").values():
        best = _best_of_kinds(load_names(folder))
        if len(best):
            return show_dots(
                _dots(best),
                "Numerator or denominator, told by clusters alone",
                "accuracy, held out",
                dark,
            )
    if probed := runs.beside(store, "probes"):
        rows = load_probes(probed.values())
        return show_probes(rows, str(rows["task"].iloc[0]), dark)
    return None


def _dots(best: pd.DataFrame) -> pd.DataFrame:
    """The best head of every kind, and the rules, a row each."""
    rows = pd.DataFrame(
        {"name": best.index, "group": "clusters of the best head", "value": best["accuracy"]}
    )
    rows = rows.assign(low=best["accuracy_low"], high=best["accuracy_high"])
    rows.iloc[0, 1] = "roles"
    rules = {"look behind ‘/’": best["surface"].iloc[0], "commonest": best["majority"].iloc[0]}
    values = list(rules.values())
    ruled = pd.DataFrame(
        {
            "name": list(rules),
            "group": "rules, no cluster",
            "value": values,
            "low": values,
            "high": values,
        }
    )
    return pd.concat([rows, ruled], ignore_index=True)


def _tell_probed(rows: pd.DataFrame, task: str) -> Statement:
    real = rows[(rows["task"] == task) & (rows["control"] == "real") & rows["head"].isna()]
    roles = real[real["site"].astype(str).str.endswith(".role")]
    of, what = (roles, "role sites") if len(roles) else (real, "sites")
    beyond = (of["beyond"] == True).sum()  # noqa: E712
    best = top(of, "f1")
    text = (
        f"{task.upper()}: {beyond} of {len(of)} {what} are beyond every control; best {best['site']} with F1 "
        f"{percent(best, 'f1')}, its best control ({best['best_control']}) {share(best['best_control_f1'])}"
    )
    return Statement(text, (Link("Show on Probes", "probes", {"task": task}),))
