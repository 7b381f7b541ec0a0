"""Do 95 % intervals hold at small sizes of data? `python benchmarks/sizes.py STORE [--draws 8] [--parts heads,probes,…]`.

STORE is a store of some thousand sentences in documents (states, attention, values; labels pos and dep). Random documents
with as many sentences as a size are analyzed like a store of their own. The truth is the same number of the whole store; of
probes, which learn more from more, the mean over all draws of the same size. Nulls and planted numbers need no truth.
"""

import argparse
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
from scipy.sparse import csr_array

from tprprobe.analyses.attention.head_relations import follow_relations, pick_heads
from tprprobe.analyses.clustering import cluster
from tprprobe.analyses.decomposition.variance_shares import score_shares
from tprprobe.analyses.naming.names import UNNAMED, name_clusters, read_fields
from tprprobe.analyses.probing import probe
from tprprobe.errors import InputError
from tprprobe.estimators.bindings.components import FILLERS, BindingComponents
from tprprobe.estimators.bindings.pair_counts import PairCounts
from tprprobe.evaluation.splits import read_provenance
from tprprobe.statistics import (
    Interval,
    bootstrap_mean,
    permute_within,
    read_interval,
    wilson,
)
from tprprobe.store import Store, StoreWriter, open_store
from tprprobe.store.samples import take

SIZES, QUESTIONS = (60, 200, 600), (5, 10, 30)
FEWEST_DOCUMENTS = 4  # that can be divided into halves
SITE, K, TASK = "encoder.5.hidden", 12, "pos"
WORDS = {"bag": "words", "additive": "places", "factored": "bindings"}
Rows = Iterator[dict[str, Any]]
Draw = Callable[[int, int], np.ndarray]  # of a size and a number: the samples


def draw_documents(store: Store) -> Draw:
    """What draws the samples of random documents until there are as many as a size."""
    first = store.tokens.drop_duplicates("sample")
    samples, documents = first["sample"].to_numpy(), read_provenance(first).documents

    def draw(size: int, number: int) -> np.ndarray:
        order = np.random.default_rng((size, number)).permutation(documents.max() + 1)
        sizes = np.cumsum(np.bincount(documents)[order])
        chosen = order[: np.searchsorted(sizes, size) + 1]
        return np.sort(samples[np.isin(documents, chosen)])

    return draw


def row_of(quantity: str, size: int, interval: Interval, truth: float) -> dict[str, Any]:
    """An interval beside its truth; ``error`` is how far the value is from it."""
    is_missing = np.isnan(interval.low)
    is_held = interval.low - 1e-9 <= truth <= interval.high + 1e-9
    held = np.nan if is_missing else float(is_held)
    width = interval.high - interval.low
    return {"quantity": quantity, "size": size, "held": held, "error": interval.value - truth, "width": width}  # fmt: skip


def measure_heads(store: Store, draws: int) -> Rows:
    """Shares in which the best head of a relation follows it, and how far that is beyond a fixed distance."""
    followed, draw = follow_relations(store), draw_documents(store)
    for number, size in product(range(draws), SIZES):
        part = followed[followed["sample"].isin(draw(size, number))]
        if part["document"].nunique() < FEWEST_DOCUMENTS:
            continue
        for row in pick_heads(part, number).to_dict("records"):
            is_relation = (followed["relation"] == row["relation"]) | (row["relation"] == "all")
            words, offset = followed[is_relation], f"offset:{row['offset']}"
            value, rival = words[f"{row['site']}:{row['head']}"].mean(), words[offset].mean()
            yield row_of("head: share followed", size, read_interval(row), value)
            yield row_of(
                "head: beyond fixed distance", size, read_interval(row, "beyond"), value - rival
            )


def measure_shares(store: Store, draws: int) -> Rows:
    """Shares of variance of words, places and bindings in the mean of a text's tokens."""
    draw = draw_documents(store)
    whole = score_shares(store, [SITE], ["left"], "mean").set_index("family")
    for number, size in product(range(draws), (*SIZES, 1600)):
        part = take(store, draw(size, number))
        with suppress(InputError):  # too few documents
            table = score_shares(part, [SITE], ["left"], "mean", number).set_index("family")
            for family, word in WORDS.items():
                rows, truths = (t[t["control"] == ""].to_dict("index") for t in (table, whole))
                interval = read_interval(rows[family], "share")
                yield row_of(f"share of {word}", size, interval, truths[family]["share"])


def measure_word_means(store: Store, draws: int) -> Rows:
    """Shares of words in means of vectors that depend on the word alone (the mean of a word's vectors at a site), and in
    these with as much noise.
    """
    draw, samples, words = draw_documents(store), store.tokens["sample"], store.tokens["token"]
    for site in ("encoder.embedding", SITE):
        vectors = pd.DataFrame(store.read(site)).groupby(words.to_numpy()).transform("mean")
        means = vectors.groupby(samples.to_numpy()).mean()
        for number, size in product(range(draws), (*SIZES, 1600)):
            chosen = draw(size, number)
            is_chosen = samples.isin(chosen)
            shares = pd.crosstab(samples[is_chosen], words[is_chosen], normalize="index")
            roles = np.zeros(shares.shape[1], int)
            lengths = samples[is_chosen].value_counts().loc[shares.index].to_numpy()
            counts = PairCounts(csr_array(shares), np.arange(shares.shape[1]), roles, lengths)
            states = means.loc[shares.index].to_numpy()
            states = states - states.mean(0)
            noise = np.random.default_rng(number).normal(size=states.shape)
            noise *= np.linalg.norm(states) / np.linalg.norm(noise)
            for share, planted in ((1.0, states), (0.5, states + noise)):
                fit = BindingComponents([FILLERS], number).fit(counts, planted)
                yield row_of(
                    f"share of words, {share:g} ({site})", size, fit.shares_[FILLERS], share
                )


def measure_names(store: Store, draws: int) -> Rows:
    """Precision and recall of names, and names of labels that are shuffled within documents."""
    draw, vectors, gold = draw_documents(store), store.read(SITE), read_fields(store, "source")
    numbers = {name: i for i, name in enumerate(gold.lattice.names)}
    for number, size in product(range(draws), SIZES):
        part = take(store, draw(size, number))
        fields, roles = read_fields(part, "source"), cluster(part, SITE, k=K, seed=number)
        options = (fields.questions, number, fields.origin.sequences)
        names = name_clusters(roles.labels, fields.lattice, *options)
        named, labels = names[names["name"] != UNNAMED], roles.assign(vectors)
        for row in named[named["name"].isin(numbers)].to_dict("records"):
            members = gold.lattice.members[[numbers[row["name"]]]].toarray()[0].astype(bool)
            holds, is_inside = members[gold.lattice.kinds], labels == row["cluster"]
            yield row_of(
                "name: precision", size, read_interval(row, "precision"), holds[is_inside].mean()
            )
            yield row_of(
                "name: recall", size, read_interval(row, "recall"), is_inside[holds].mean()
            )
        order = permute_within(fields.questions, np.random.default_rng(number))
        null = name_clusters(roles.labels[order], fields.lattice, *options)
        counts = {"named": len(named), "named by chance": (null["name"] != UNNAMED).sum()}
        yield {"quantity": "clusters", "size": size} | counts


def copy_part(store: Store, samples: np.ndarray, sites: list[str], path: str) -> Store:
    """A store of these samples and sites."""
    part = take(store, samples)
    tokens = part.tokens.assign(sample=pd.factorize(part.tokens["sample"])[0])
    specs = {site: part.specs[site] for site in sites}
    writer = StoreWriter.create(Path(path) / "part", specs, {"model": {"name": "part"}})
    writer.append({site: part.read(site) for site in sites}, tokens)
    writer.finish()
    return open_store(Path(path) / "part")


def measure_probes(store: Store, draws: int) -> Rows:
    """F1 of probes beside its mean over all draws of the same size."""
    draw, sites = draw_documents(store), ["encoder.3.hidden", SITE]
    for size in SIZES:
        tables = [pd.DataFrame(columns=["site", "f1"])]
        for number in range(draws):
            with suppress(InputError), TemporaryDirectory() as path:  # too few documents
                part = copy_part(store, draw(size, number), sites, path)
                rows = probe(part, TASK, sites=sites, controls=())
                tables.append(rows[rows["control"] == "real"])
        for _, rows in pd.concat(tables).groupby("site"):
            for _, row in rows.iterrows():
                yield row_of("probe: F1", size, read_interval(row, "f1"), rows["f1"].mean())


def measure_questions(_store: Store, draws: int) -> Rows:
    """Shares and mean changes of few questions, whose truth is planted."""
    for size in QUESTIONS:
        for number in range(100 * draws):
            rng = np.random.default_rng((size, number))
            for p in (0.2, 0.5, 0.9):
                hits = rng.random(size) < p
                yield row_of(f"share {p:g}, Wilson", size, wilson(int(hits.sum()), size), p)
                yield row_of(f"share {p:g}, drawn", size, bootstrap_mean(hits, np.arange(size)), p)
            changes = {"normal": (rng.normal(size=size), 0.0), "skewed": (rng.exponential(size=size), 1.0)}  # fmt: skip
            for name, (values, truth) in changes.items():
                yield row_of(f"mean change, {name}", size, bootstrap_mean(values, np.arange(size)), truth)  # fmt: skip


PARTS = {
    "questions": measure_questions, "shares": measure_shares, "word means": measure_word_means, "heads": measure_heads,
    "names": measure_names, "probes": measure_probes
}  # fmt: skip


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a quantity and size: intervals, the share of them that holds the truth, and means."""
    columns = ["held", "error", "width", "named", "named by chance"]
    groups = rows.reindex(columns=["quantity", "size", *columns]).groupby(["quantity", "size"], sort=False)  # fmt: skip
    table = groups[columns].mean()
    table.insert(0, "intervals", groups["held"].count())
    return table.reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store", type=Path)
    parser.add_argument("--draws", type=int, default=8)
    parser.add_argument("--parts", default=",".join(PARTS))
    arguments = parser.parse_args()
    for part in arguments.parts.split(","):
        rows = pd.DataFrame(PARTS[part](open_store(arguments.store), arguments.draws))
        print(summarize(rows).round(3).to_string(index=False), flush=True)


if __name__ == "__main__":
    main()
