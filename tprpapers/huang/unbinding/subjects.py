"""Subjects told from objects by unbinding vectors, beyond what place and previous tag tell.

Subjects come early and objects late, and position is what clusters of u_t tell best: without matched
pairs the claim of huang §5.3.1 is satisfied trivially. Procedure: ours (the paper gives none).
"""

import re

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tprpapers.huang.unbinding.generations import GeneratedWords
from tprpapers.huang.unbinding.regions import (
    BEFORE,
    BOTH,
    FOLDS,
    MOST,
    OWN,
    PLACE,
    SHUFFLED,
    read_vectors,
)
from tprprobe.errors import InputError
from tprprobe.statistics import Interval, bounds

SUBJECTS, OBJECTS = ("nsubj", "nsubj:pass", "root"), ("obj", "iobj", "obl", "nmod")
REPLICATES = 400
LEAST = 20  # nouns of either kind
LABEL = re.compile(r"^[^\[\s]*")

Mask = Bool[np.ndarray, " noun"]


def summarize_subjects(words: GeneratedWords, seed: int = 0) -> pd.DataFrame:
    """One row per kind of vectors: auc of all pairs of a subject and an object, and matched: of pairs
    at one position after one tag; with _low and _high over images.

    Scores are of a logistic regression that was fitted to other images (five folds); pairs are of
    one fold, as scores of different regressions do not compare.

    Raises:
        InputError: a store without dependencies (column ``dep``), or with too few such nouns.
    """
    nouns = _nouns(words)
    subject = nouns["relation"].isin(SUBJECTS).to_numpy()
    groups = pd.factorize(nouns["group"])[0]
    strata = nouns.groupby(["position", "previous_pos"]).ngroup().to_numpy()
    rng = np.random.default_rng(seed)
    folds = rng.permuted(np.arange(groups.max() + 1) % FOLDS)[groups]
    facts = {"subjects": int(subject.sum()), "objects": int((~subject).sum())}
    facts["images"] = int(groups.max()) + 1
    rows = []
    vectors = read_vectors(words, nouns)
    tried = {name: (vectors[name], subject) for name in (OWN, PLACE, BEFORE, BOTH)}
    tried[SHUFFLED] = vectors[OWN], rng.permutation(subject)
    for name, (each, truth) in tried.items():
        scores = _score(each, truth, folds) + 1e-9 * rng.normal(size=len(truth))
        row = {"vectors": name, **facts}
        for measure, within in (("auc", folds), ("matched", strata * FOLDS + folds)):
            row |= _share_of_pairs(scores, truth, within, groups, seed).columns(measure)
        rows.append(row)
    return pd.DataFrame(rows)


def _nouns(words: GeneratedWords) -> pd.DataFrame:
    tokens = words.store.tokens_of(words.site)
    if "dep" not in tokens:
        raise InputError(f"{words.store.path} has no dependencies (a column `dep`) of its words")
    cells = tokens["dep"].astype(str).to_numpy()[words.table["row"] + 1]
    relation = [found[0] if (found := LABEL.search(cell)) else "" for cell in cells]
    table = words.table.assign(relation=relation)
    chosen = (table["kind"] == "noun") & table["relation"].isin((*SUBJECTS, *OBJECTS))
    nouns = table.loc[chosen].iloc[:MOST]
    counts = nouns["relation"].isin(SUBJECTS).value_counts()
    if len(counts) < 2 or counts.min() < LEAST:
        raise InputError(
            f"{words.store.path} has {counts.get(True, 0)} subjects and {counts.get(False, 0)} "
            f"objects that are nouns with dependencies: {LEAST} of both are needed"
        )
    return nouns


def _score(
    vectors: Float[np.ndarray, "noun width"], subject: Mask, folds: Int[np.ndarray, " noun"]
) -> Float[np.ndarray, " noun"]:
    """The score of every noun as a subject, by a regression on other images."""
    scores = np.zeros(len(subject))
    for fold in range(FOLDS):
        own = folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        scores[own] = model.fit(vectors[~own], subject[~own]).decision_function(vectors[own])
    return scores


def _share_of_pairs(
    scores: Float[np.ndarray, " noun"],
    subject: Mask,
    strata: Int[np.ndarray, " noun"],
    groups: Int[np.ndarray, " noun"],
    seed: int,
) -> Interval:
    """The share of pairs inside strata in which the subject scores higher; images are drawn."""
    order = np.lexsort((scores, strata))
    truth, stratum, group = subject[order], strata[order], groups[order]
    first = np.searchsorted(stratum, stratum)  # where each one's stratum begins
    n, rng = int(groups.max()) + 1, np.random.default_rng(seed)

    def measured(weights: Float[np.ndarray, " noun"]) -> float:
        below = np.cumsum(np.append(0, weights * ~truth))
        last = np.searchsorted(stratum, stratum, side="right")
        lower, all_ = below[:-1] - below[first], below[last] - below[first]
        own = weights * truth
        pairs = float(own @ all_)
        return float(own @ lower) / pairs if pairs else np.nan

    drawn = [np.bincount(rng.integers(n, size=n), minlength=n)[group] for _ in range(REPLICATES)]
    replicates = np.array([measured(weights.astype(float)) for weights in drawn])
    low, high = bounds(replicates, n)
    return Interval(measured(np.ones(len(group))), float(low), float(high))
