"""What clusters tell of numerators and denominators, on questions that the clusters were not read on.

Most denominators stand behind a `/`: rules that look no further than that are predictors too, and
digits whose polarity is not what their own division says (discordant) are scored on their own. A name
is the shortest predicate that explains a cluster, and may say nothing of polarity: so ones digits are counted.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from tprprobe.analyses.naming.name_counts import count_names
from tprprobe.analyses.naming.names import REPLICATES
from tprprobe.estimators.clusters.names import AND
from tprprobe.evaluation.splits import halve_documents
from tprprobe.gold.structure import POLARITIES
from tprprobe.statistics import bounds, divide, group_sums, replicate_totals, wilson

KEYS = ["model", "vectors", "site", "layer", "head", "k"]
AGREEMENTS = {  # of the summary: field, measure, null
    "ami_kind": ("kind", "ami", "question"),
    "ami_place": ("place", "ami", "question"),
    "ami_polarity": ("polarity", "ami", "question"),
    "polarity_given_place": ("polarity", "ami given kind, place", "question"),
    "polarity_given_surface": ("polarity", "ami given kind, place, surface", "question"),
}
SUBSETS = {"": "all", "_discordant": "discordant", "_answered": "discordant, answered"}
RULES = ("majority", "surface")
SummaryColumns = tuple[pd.DataFrame, Mapping[str, str]]
PREDICTORS = ("clusters", "majority", "surface", "adjacent", "distant", "literal")

Mask = Bool[np.ndarray, " token"]
Codes = Int[np.ndarray, " token"]
Runs = Int[np.ndarray, "run token"]
Shares = Float[np.ndarray, "replicate column"]  # the first of all questions


def decode_polarity(
    runs: Runs, gold: pd.DataFrame, questions: Shaped[np.ndarray, " token"], seed: int = 0
) -> pd.DataFrame:
    """One row per (subset, predictor) of digits: n, accuracy, and the clusters' gain over it, paired.

    predictor  clusters: the commonest polarity of a token's cluster; majority: of all digits, both
               counted on one half of the questions (all are scored on the other); denominator if
               there stands before the number, adjacent: '/' itself, surface: '/', '/(' or '/(-',
               distant: '/' and any brackets and signs; literal: the slot in its own division
    subset     all digits; discordant; and of these the ones of questions that are answered right
    Clusters are scored by the mean over runs of k-means; _low and _high are 95 % intervals over
    questions and runs, of which each replicate draws one; NaN where a subset has no digits.
    """
    digits = np.flatnonzero((gold["kind"] == "digit") & gold["polarity"].notna())
    learned_on = halve_documents(questions, seed)[digits]
    truth = gold["polarity"].cat.codes.to_numpy(int)[digits]
    behind = gold["behind"].astype(str)
    predictions = (
        *(_commonest(labels[digits], truth, learned_on) for labels in runs),
        _commonest(np.zeros_like(truth), truth, learned_on),
        gold["surface_polarity"].cat.codes.to_numpy(int)[digits],
        (behind == "/").to_numpy(int)[digits],
        behind.str.startswith("/").to_numpy(int)[digits],
        gold["literal"].to_numpy()[digits].astype(int),
    )
    right = np.stack([predicted == truth for predicted in predictions], 1)
    discordant = gold["discordant"].to_numpy()[digits].astype(bool)
    subsets = {"all": ~learned_on, "discordant": ~learned_on & discordant}
    subsets["discordant, answered"] = subsets["discordant"] & gold["correct"].to_numpy()[
        digits
    ].astype(bool)
    tables: list[dict[str, Any]] = []
    for subset, inside in subsets.items():
        subset_questions = questions[digits][inside]
        shares, n = _shares(right[inside], np.ones_like(right[inside]), subset_questions, seed)
        accuracy = np.column_stack([_one_run(shares[:, : len(runs)], seed), shares[:, len(runs) :]])
        n_rows = len(PREDICTORS)
        names = {"subset": [subset] * n_rows, "predictor": PREDICTORS}
        numbers = {"n": [len(subset_questions)] * n_rows} | _columns("accuracy", accuracy, n)
        tables.append(names | numbers | _columns("gain", accuracy[:, :1] - accuracy, n, -1))
    return pd.DataFrame({name: [v for table in tables for v in table[name]] for name in tables[0]})


def _shares(
    hits: Bool[np.ndarray, "token column"],
    is_counted: Bool[np.ndarray, "token column"],
    questions: Shaped[np.ndarray, " token"],
    seed: int,
) -> tuple[Shares, int]:
    """Σ hits / Σ counted of every column, of all questions and of drawn ones; and how many questions there are."""
    if not len(hits):
        return np.full((1 + REPLICATES, hits.shape[1]), np.nan), 0
    sums = group_sums(np.column_stack([hits, is_counted]).astype(float), questions)
    totals = np.concatenate([sums.sum(0, keepdims=True), replicate_totals(sums, REPLICATES, seed)])
    return divide(*np.split(totals, 2, 1)), len(sums)


def _one_run(shares: Shares, seed: int) -> Float[np.ndarray, " replicate"]:
    """The mean of all runs of k-means, and in every replicate one of them, so that the spread includes the runs' differences."""
    replicates, n_runs = shares[1:].shape
    runs = np.random.default_rng(seed).integers(n_runs, size=replicates)
    return np.append(shares[0].mean(), shares[1:][np.arange(replicates), runs])


def _columns(
    name: str, shares: Float[np.ndarray, "replicate *column"], n: int, lowest: int = 0
) -> dict[str, Any]:
    low, high = bounds(shares[1:], n, lowest)
    return {name: shares[0], f"{name}_low": low, f"{name}_high": high}


def _commonest(labels: Codes, truth: Codes, learned_on: Mask) -> Codes:
    """The commonest class in every token's cluster, or the commonest of all for an unseen cluster."""
    shape = labels.max(initial=0) + 1, len(POLARITIES)
    cells = labels[learned_on] * shape[1] + truth[learned_on]
    counts = np.bincount(cells, minlength=shape[0] * shape[1]).reshape(shape)
    best = np.where(counts.any(1), counts.argmax(1), counts.sum(0).argmax())
    return best[labels]


def score_ones(
    runs: Int[np.ndarray, "run token"],
    gold: pd.DataFrame,
    questions: Shaped[np.ndarray, " token"],
    seed: int = 0,
) -> pd.DataFrame:
    """One row per polarity: the precision of the best cluster for ones digits that have it.

    precision   P(ones digit of that polarity | cluster), the mean over runs of k-means; a run's
                cluster is chosen on one half of the questions and scored on the other
    n           its tokens there, the mean over runs
    _low and _high are 95 % intervals over questions and runs, of which each replicate draws one.
    """
    learned_on = halve_documents(questions, seed)
    ones = ((gold["kind"] == "digit") & (gold["place"] == 0)).fillna(False).to_numpy(bool)
    records = []
    for polarity in POLARITIES:
        members = ones & (gold["polarity"] == polarity).to_numpy(bool)
        clusters = np.stack([_purest(labels, members, learned_on) for labels in runs], 1)
        clusters = clusters[~learned_on]
        hits = clusters & members[~learned_on, None]
        shares, n = _shares(hits, clusters, questions[~learned_on], seed)
        columns = _columns("precision", _one_run(shares, seed), n)
        records.append({"polarity": polarity, **columns, "n": clusters.sum(0).mean()})
    return pd.DataFrame(records)


def _purest(labels: Int[np.ndarray, " token"], members: Mask, learned_on: Mask) -> Mask:
    """The tokens of the cluster with the largest share of members."""
    size = np.bincount(labels[learned_on], minlength=labels.max() + 1)
    inside = np.bincount(labels[learned_on], members[learned_on], len(size))
    return labels == np.argmax(inside / np.maximum(size, 1))


def summarize_clusterings(
    names: pd.DataFrame, agreement: pd.DataFrame, decoding: pd.DataFrame
) -> pd.DataFrame:
    """One row per clustering: how much of it is named, and what it tells of polarity.

    clusters, named, with_polarity   how many there are, have a name, and one that tells numerators
                                     from denominators; coverage: the share of tokens with a name
    ami_…                            with kind, place, polarity
    polarity_given_place             AMI with polarity given kind and place; _surface: given also the
                                     rule that looks at the symbols before a number; _null and _p by
                                     permutations within questions (and within what is given)
    accuracy, accuracy_discordant, accuracy_answered   of polarity decoded from clusters alone, of
                                     all, discordant, and discordant digits of questions that are
                                     answered right; majority…, surface… of these rules; _low, _high
    """
    atoms = names["name"].str.split(AND)
    tells = [int(not {*POLARITIES}.isdisjoint(words)) for words in atoms]
    summary = count_names(names, KEYS, with_polarity=tells)
    for rows, columns in (*_agreements(agreement), *_accuracies(decoding)):
        selected: Any = rows[[*KEYS, *columns]]
        summary = summary.merge(selected.rename(columns=columns), how="left", on=KEYS)
    return summary


def _agreements(agreement: pd.DataFrame) -> Iterator[SummaryColumns]:
    """Rows of a table, and its columns in the summary by their names there."""
    indexed = agreement.set_index(["field", "measure", "null"]).sort_index()
    for name, key in AGREEMENTS.items():
        columns = {"value": name}
        if name.startswith("polarity"):
            columns |= {"null_mean": f"{name}_null", "p_value": f"{name}_p"}
        yield indexed.loc[[key] if key in indexed.index else []], columns


def _accuracies(decoding: pd.DataFrame) -> Iterator[SummaryColumns]:
    for suffix, subset in SUBSETS.items():
        columns = {f"accuracy{end}": f"accuracy{suffix}{end}" for end in ("", "_low", "_high")}
        columns_by_predictor = {
            "clusters": columns,
            **{rule: {"accuracy": f"{rule}{suffix}"} for rule in RULES},
        }
        for predictor, column_names in columns_by_predictor.items():
            is_meant = (decoding["subset"] == subset) & (decoding["predictor"] == predictor)
            yield decoding[is_meant], column_names


def count_questions(tokens: pd.DataFrame) -> dict[str, Any]:
    """The number of questions and the share answered right, of those with a discordant number too, and how many are
    ``unlabelled``: worded, or no expression we can parse.
    """
    discordant = tokens["discordant"].fillna(False).astype(bool)
    unlabelled = tokens["kind"].isin(["worded", "unparsed"])
    marks = {"correct": tokens["correct"], "discordant": discordant, "unlabelled": unlabelled}
    by_question: Any = pd.DataFrame(marks).groupby(tokens["sample"]).max()

    def exact(right: Any) -> dict[str, Any]:
        share = wilson(int(right.sum()), len(right))
        columns = {"exact_match": share.value, "exact_match_interval": [share.low, share.high]}
        return {"n": len(right), **(columns if len(right) else dict.fromkeys(columns))}

    return {
        "questions": exact(by_question["correct"]),
        "discordant_questions": exact(by_question.loc[by_question["discordant"], "correct"]),
        "unlabelled": int(by_question["unlabelled"].sum()),
    }
