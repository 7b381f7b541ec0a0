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
    FOLDS,
    MAX_WORDS,
    PLACE,
    PLACE_AND_BEFORE,
    SHUFFLED,
    UNBINDING,
    read_vectors,
)
from tprprobe.errors import InputError
from tprprobe.statistics import Interval, bounds

SUBJECTS, OBJECTS = ("nsubj", "nsubj:pass", "root"), ("obj", "iobj", "obl", "nmod")
REPLICATES = 400
MIN_NOUNS = 20  # nouns of either kind
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
    counts = {"subjects": int(subject.sum()), "objects": int((~subject).sum())}
    counts["images"] = int(groups.max()) + 1
    rows = []
    vectors = read_vectors(words, nouns)
    inputs = {
        name: (vectors[name], subject) for name in (UNBINDING, PLACE, BEFORE, PLACE_AND_BEFORE)
    }
    inputs[SHUFFLED] = vectors[UNBINDING], rng.permutation(subject)
    for name, (columns, truth) in inputs.items():
        scores = _score(columns, truth, folds) + 1e-9 * rng.normal(size=len(truth))
        row = {"vectors": name, **counts}
        for measure, within in (("auc", folds), ("matched", strata * FOLDS + folds)):
            row |= _share_of_pairs(scores, truth, within, groups, seed).columns(measure)
        rows.append(row)
    return pd.DataFrame(rows)


def _nouns(words: GeneratedWords) -> pd.DataFrame:
    tokens = words.store.tokens_of(words.site)
    if "dep" not in tokens:
        raise InputError(f"{words.store.path} has no dependencies (a column `dep`) of its words")
    cells = tokens["dep"].astype(str).to_numpy()[words.table["row"] + 1]
    relation = [match[0] if (match := LABEL.search(cell)) else "" for cell in cells]
    table = words.table.assign(relation=relation)
    is_object_or_subject = (table["kind"] == "noun") & table["relation"].isin((*SUBJECTS, *OBJECTS))
    nouns = table.loc[is_object_or_subject].iloc[:MAX_WORDS]
    counts = nouns["relation"].isin(SUBJECTS).value_counts()
    if len(counts) < 2 or counts.min() < MIN_NOUNS:
        raise InputError(
            f"{words.store.path} has {counts.get(True, 0)} subjects and {counts.get(False, 0)} "
            f"objects that are nouns with dependencies: {MIN_NOUNS} of both are needed"
        )
    return nouns


def _score(
    vectors: Float[np.ndarray, "noun width"], subject: Mask, folds: Int[np.ndarray, " noun"]
) -> Float[np.ndarray, " noun"]:
    """The score of every noun as a subject, by a regression on other images."""
    scores = np.zeros(len(subject))
    for fold in range(FOLDS):
        is_test = folds == fold
        model = make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=500))
        scores[is_test] = model.fit(vectors[~is_test], subject[~is_test]).decision_function(
            vectors[is_test]
        )
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
    starts = np.searchsorted(stratum, stratum)  # where each one's stratum begins
    n, rng = int(groups.max()) + 1, np.random.default_rng(seed)

    def measured(weights: Float[np.ndarray, " noun"]) -> float:
        below = np.cumsum(np.append(0, weights * ~truth))
        ends = np.searchsorted(stratum, stratum, side="right")
        lower, all_ = below[:-1] - below[starts], below[ends] - below[starts]
        subject_weights = weights * truth
        pairs = float(subject_weights @ all_)
        return float(subject_weights @ lower) / pairs if pairs else np.nan

    draws = [np.bincount(rng.integers(n, size=n), minlength=n)[group] for _ in range(REPLICATES)]
    replicates = np.array([measured(weights.astype(float)) for weights in draws])
    low, high = bounds(replicates, n, lowest=0)
    return Interval(measured(np.ones(len(group))), float(low), float(high))
