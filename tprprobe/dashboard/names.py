"""Names of clusters: the strongest, what clusters alone tell beside controls, and clusters of words with a name."""

from collections.abc import Iterator
from pathlib import Path

import pandas as pd

from tprprobe.analyses.naming import load_names, load_word_names
from tprprobe.analyses.naming.names import UNNAMED, count_names
from tprprobe.analyses.naming.role_examples import list_examples
from tprprobe.analyses.naming.vector_sets import TRAINED
from tprprobe.dashboard.folders import Runs
from tprprobe.dashboard.statements import Statement, link_vectors, percent, place, top
from tprprobe.dashboard.view import View, measured
from tprprobe.errors import InputError
from tprprobe.figures.naming import WORD_KEYS, questions_note, words_table
from tprprobe.figures.scenes import Dots
from tprprobe.store import Store
from tprprobe.store.token_texts import visible

COLUMNS = ["name", "site", "head", "cluster", "k", "precision", "precision_low", "precision_high"]
COLUMNS += ["recall", "recall_low", "recall_high", "coverage", "f05"]


def show_decoding(folder: Path) -> View:
    """The accuracy of the best head's clusters alone on numerators and denominators, held out, beside every control."""
    naming = load_names(folder)
    rows = naming.decoding[naming.decoding["subset"] == "all"]
    if rows.empty:
        raise InputError(f"no numerators and denominators in {folder}")
    clusters = rows[rows["predictor"] == "clusters"]
    best = clusters.groupby(["model", "vectors"], sort=False)["accuracy"].idxmax()
    clusters = clusters.loc[best]
    heads = clusters["head"].map(lambda head: "" if pd.isna(head) else f", head {head}")
    clusters = clusters.assign(name=clusters["vectors"] + heads, group=clusters["model"])
    rules = rows[rows["predictor"] != "clusters"].drop_duplicates("predictor")
    rules = rules.assign(name="rule: " + rules["predictor"], group="rule")
    table = measured(pd.concat([clusters, rules]), "accuracy")
    table = table[["name", "group", "value", "low", "high"]]
    title = f"Numerator or denominator, predicted from clusters alone ({int(rows['n'].max())} digits, held out)"
    return View(title, table, Dots(table, "accuracy"), None, questions_note(naming))


def summarize_decoding(table: pd.DataFrame) -> Statement:
    """The trained model's roles beside the best of all other vectors and the best rule, from :func:`show_decoding`."""
    is_rule = table["group"] == "rule"
    is_role = (table["group"] == TRAINED) & table["name"].str.startswith("role")
    roles, vectors = table[is_role], table[~is_role & ~is_rule]
    best = top(roles if len(roles) else vectors, "value")
    rivals = (vectors if len(roles) else roles, table[is_rule])
    rows = [top(rival, "value") for rival in rivals if len(rival)]
    controls = "; ".join(f"{row['name']} ({row['group']}) {percent(row)}" for row in rows)
    text = f"Numerator or denominator? Clusters of {best['name']} alone predict it for {percent(best)} of the digits."
    return Statement(f"{text} Beside them: {controls}." if controls else text)


def show_word_names(folder: Path) -> View:
    """The share of words in clusters that have a name, head by head, beside the baseline model."""
    clusters = load_word_names(folder)
    counts = count_names(clusters, WORD_KEYS)
    names = [place(site, head) for site, head in zip(counts["site"], counts["head"], strict=True)]
    rows = counts[["named", "clusters"]].assign(name=names, group=counts["model"])
    rows = rows.assign(**dict.fromkeys(("value", "low", "high"), counts["coverage"]))
    title = "Words in clusters that exact labels name"
    return View(title, rows, Dots(rows, "share of words"), None, words_table(clusters).caption)


def show_word_clusters(folder: Path) -> pd.DataFrame:
    """The clusters for which a name was proposed, and why it does not hold."""
    return words_table(load_word_names(folder)).cells


def summarize_words(rows: pd.DataFrame) -> Statement:
    """How many clusters of words have a name, model by model, from the data of :func:`show_word_names`."""
    counts = [
        f"{model} {of_model['named'].sum()} of {of_model['clusters'].sum()}"
        + f" (they cover up to {of_model['value'].max():.0%} of the words)"
        * bool(of_model["named"].sum())
        for model, of_model in rows.groupby("group", sort=False)
    ]
    return Statement(
        f"Clusters of words whose name holds on held-out documents: {'; '.join(counts)}."
    )


def list_named(runs: Runs, store: Store) -> pd.DataFrame:
    """Every named cluster of the trained model, the surest first: name, site, head, cluster of k, measures."""
    tables = [load_names(path).clusters for path in runs.beside(store, "names").values()]
    for words in map(load_word_names, runs.beside(store, "word-names").values()):
        of_head = words.groupby(["model", "site", "head"], dropna=False)["cluster"]
        tables.append(words.assign(k=of_head.transform("size")))
    if not tables:
        return pd.DataFrame(columns=COLUMNS)
    rows = pd.concat(tables, ignore_index=True)
    rows = rows[(rows["model"] == TRAINED) & (rows["name"] != UNNAMED)]
    return rows.sort_values("f05", ascending=False)[COLUMNS].reset_index(drop=True)


def find_roles(runs: Runs, store: Store, names: pd.DataFrame) -> Iterator[Statement]:
    """The strongest named roles, each name once, with examples."""
    if names.empty:
        return
    for row, examples in list_examples(store, names, [*runs.beside(store, "names").values()]):
        measures = f"precision {percent(row, 'precision', 0)}, recall {percent(row, 'recall', 0)}"
        text = f"‘{visible(row['name'], 90)}’: {measures}, held out"
        query = {"mark": f"cluster:{row['cluster']}", "k": str(row["k"])}
        link = link_vectors(row["site"], row["head"], "Show on Roles", **query)
        yield Statement(text, (link,), examples)


VIEWS = {"names": show_decoding, "word_names": show_word_names}
SUMMARIES = {"names": summarize_decoding, "word_names": summarize_words}
