"""The long table of a run of probes: counts by document become numbers with intervals, beside their controls."""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.analyses.probing.examples import Splits
from tprprobe.analyses.probing.rows import OF_ALL, name_vector
from tprprobe.analyses.probing.settings import ProbeSettings
from tprprobe.analyses.probing.trials import (
    CURVE,
    NAMES,
    BlockScores,
    Counts,
    TrialResult,
    count_baselines,
)
from tprprobe.evaluation.controls import IDENTITY, REAL
from tprprobe.evaluation.intervals import Comparison
from tprprobe.evaluation.metrics import TERMS, N, codelength, compression, constant_bits
from tprprobe.evaluation.results import BEHIND, Row, number, tabulate
from tprprobe.statistics import adjust
from tprprobe.store.layout import TWINS

CONTROL_TASKS = ("control", "prefix")  # random labels by word
ALIKE = 0.02  # share of the targets by which two may differ in what they learned from
Key = tuple[object, ...]  # values of columns
SIDE = ("task", "side")
VECTOR = ("task", "side", "site", "head", "seed")
OVER_SEEDS = ("task", "side", "site", "head", "control")
SELECTIVITY = {"selectivity": "control", "prefix_selectivity": "prefix"}  # to which control
PARTNER = {"role": "filler", "filler": "role"}  # of a sub-layer


@dataclass(frozen=True, eq=False)
class Score:
    """The counts of a row, of all targets and of subsets; ``names`` are the columns that name it, ``sizes`` counts beside it, ``rows``
    the first tokens of the targets, of those on the side of the store (none of another store that is tested).
    """

    names: Mapping[str, object]
    counts: Counts | BlockScores
    subsets: tuple[str, ...] = ()
    sizes: Mapping[str, int] = field(default_factory=dict)
    rows: Int[np.ndarray, " target"] | None = None

    @property
    def is_real(self) -> bool:
        return self.names["control"] == REAL

    def key(self, names: Sequence[str]) -> Key:
        return tuple(self.names[name] for name in names)

    @property
    def label(self) -> str:
        """Its name in a comparison: site, head and control."""
        head = "" if self.names["head"] is None else f" head {self.names['head']}"
        control = "" if self.is_real else f" ({self.names['control']})"
        return f"{self.names['site']}{head}{control}".strip()


class Pair(NamedTuple):
    """Two scores that are compared by F1 on the documents of both, and p corrected over all pairs of a family (Holm)."""

    score: Score
    reference: Score
    comparison: Comparison
    p: float

    @property
    def is_of_layers(self) -> bool:
        """Whether it is two layers of a vector, the better one first."""
        layers = {score.names["layer"] for score in (self.score, self.reference)}
        return self.reference.is_real and len(layers) == 2


def gather(
    results: Sequence[TrialResult], splits: Sequence[Splits], settings: ProbeSettings
) -> dict[str, pd.DataFrame]:
    """The tables of a run with the baselines of its tasks, by name: ``results`` (the long table), ``differences`` (the pairs that were
    compared), ``documents`` (the counts behind both), ``targets`` (which are right), ``curves`` (of training; ``portion``: the share of the
    samples that a probe saw).
    """
    complete = [result for result in results if result.trial.portion is None]
    scores = [_score(r.trial.names, r.trial.splits, r.counts, len(r.curve)) for r in complete]
    for targets in splits:
        is_sequence = settings.needs == "sequences"
        rules = count_baselines(targets, is_sequence) if settings.has_predictions else {}
        for name, counts in rules.items():
            values = (*targets.name, "", None, None, None, name, "")
            scores.append(_score(dict(zip(NAMES, values, strict=True)), targets, counts))
    pairs = compare_scores(scores)
    numbers = [measure(score) for score in scores]
    excluded: Mapping[Key, set[str]]
    excluded = {targets.name: _exclude_controls(targets) for targets in splits}
    for score, of_score in zip(scores, numbers, strict=True):
        if score.is_real:
            of_score[settings.metric] |= _beyond_controls(score, pairs, excluded[score.key(SIDE)])
            of_score |= _behind_best(score, pairs)
    _add_selectivity(scores, numbers)
    information = dict(measure_information(results))
    for score, of_score in zip(scores, numbers, strict=True):
        bits = information.get(score.key(VECTOR), {}) if score.is_real else {}
        of_score |= {name: number(name, value) for name, value in bits.items()}
    names: dict[Key, Sequence[str]]
    names = {targets.name: targets.tested.corpus.names for targets in splits}
    return {
        "results": tabulate(
            {**score.names, "control": "" if score.is_real else score.names["control"]} | row
            for score, of_score in zip(scores, numbers, strict=True)
            for row in of_score.values()
        ),
        "differences": tabulate_pairs(pairs),
        "documents": _by_document(scores, names),
        "targets": _by_target(scores, excluded),
        "curves": _curves(results),
    }


def _score(
    names: Mapping[str, object],
    splits: Splits,
    counts: Counts | BlockScores,
    n_validations: int | None = None,
) -> Score:
    inventory = splits.examples.inventory
    sizes = {"n_train": len(splits.folds[0].train), "labels": len(inventory), "lost": splits.lost}
    sizes |= {} if n_validations is None else {"validations": n_validations}
    rows = splits.tested.rows[:, 0, 0] if splits.tested is splits.examples else None
    return Score(names, counts, tuple(splits.examples.subsets()), sizes, rows)


def measure(score: Score) -> dict[str, Row]:
    """The numbers of a score by metric."""
    sizes = (number(name, size) for name, size in score.sizes.items())
    return {str(row["metric"]): dict(row) for row in (*sizes, *score.counts.measure(score.subsets))}


def compare_scores(scores: Sequence[Score]) -> list[Pair]:
    """The pairs that are compared, the seeds of a vector added up: a family of vectors with controls and within sub-layers,
    and one of every two layers for each vector. All of these count, as the best layer is chosen by the same scores.
    """
    by_key: dict[Key, list[Score]] = {}
    for score in scores:
        by_key.setdefault(score.key(OVER_SEEDS), []).append(score)
    joined = [
        replace(seeds[0], counts=seeds[0].counts.join([score.counts for score in seeds]))
        for seeds in by_key.values()
    ]
    real = [score for score in joined if score.is_real]
    controls = [score for score in joined if not score.is_real]
    layers: dict[Key, list[Score]] = {}
    for score in sorted(real, key=lambda score: -next(score.counts.measure(()))["value"]):
        if score.names["layer"] is not None:
            vector = (*score.key(SIDE), name_vector(score.names["site"]), score.names["head"])
            layers.setdefault(vector, []).append(score)
    pairs = [
        (score, second)
        for i, score in enumerate(real)
        for second in (*real[i + 1 :], *controls)
        if _are_compared(score, second)
    ]
    families = [pairs, *(combinations(group, 2) for group in layers.values())]
    return [pair for family in families for pair in _compare([*family])]


def _compare(pairs: Sequence[tuple[Score, Score]]) -> list[Pair]:
    comparisons = [score.counts.compare(reference.counts) for score, reference in pairs]
    p_values = adjust(np.array([comparison.p for comparison in comparisons]), "holm")
    rows = zip(pairs, comparisons, p_values.tolist(), strict=True)
    return [Pair(*pair, comparison, p) for pair, comparison, p in rows]


def _are_compared(score: Score, reference: Score) -> bool:
    """True of two vectors of a sub-layer, and of a vector and a control of it, not itself; of a twin's, that learned alike."""
    control, sites = reference.names["control"], (score.names["site"], reference.names["site"])
    if score.key(SIDE) != reference.key(SIDE):
        return False
    if control in OF_ALL or score.names["head"] != reference.names["head"]:
        return control in OF_ALL and sites[0] != sites[1]
    if reference.is_real:
        return _sublayer(score) == _sublayer(reference)
    counts = [score.sizes.get("n_train", 0) for score in (score, reference)]
    are_alike = abs(counts[0] - counts[1]) <= ALIKE * max(counts)  # but for whole samples
    return sites[0] == sites[1] and (are_alike or control not in TWINS)


def _sublayer(score: Score) -> str:
    return str(score.names["site"]).rpartition(".")[0]


def _exclude_controls(targets: Splits) -> set[str]:
    """The controls that need not be beaten: ``identity`` where no state has read the word, as it is to come; control tasks of few words."""
    unread = {IDENTITY} if targets.examples.corpus.predicts else set[str]()
    return unread | (set(CONTROL_TASKS) if targets.has_few_types else set())


def _beyond_controls(
    score: Score, pairs: Sequence[Pair], excluded: Container[object]
) -> Mapping[str, object]:
    """The columns of what an F1 is beyond: the control of the highest F1, and the largest p of all controls."""
    rivals = [
        pair
        for pair in pairs
        if pair.score.key(OVER_SEEDS) == score.key(OVER_SEEDS) and not pair.reference.is_real
        if pair.reference.names["control"] not in excluded
    ]
    if not rivals:
        return {}
    best = max(rivals, key=lambda pair: pair.comparison.reference)
    return best.comparison.difference.columns("beyond") | {
        "rival": best.reference.names["control"],
        "rival_value": best.comparison.reference,
        "p": max(pair.p if pair.comparison.difference.value > 0 else 1.0 for pair in rivals),
    }


def _behind_best(score: Score, pairs: Sequence[Pair]) -> dict[str, Row]:
    """By how much a vector's best layer is better than this one, on the same documents; nothing of a vector of one layer."""
    key = score.key(OVER_SEEDS)
    pairs = [pair for pair in pairs if pair.is_of_layers]
    better = [pair for pair in pairs if pair.reference.key(OVER_SEEDS) == key]
    if better:
        best, _, comparison, p = better[0]
        columns = {"p": p, "rival": best.label, "n_groups": comparison.n_groups}
        return {BEHIND: number(BEHIND, comparison.difference, **columns)}
    is_best = any(pair.score.key(OVER_SEEDS) == key for pair in pairs)
    return {BEHIND: number(BEHIND, 0.0)} if is_best else {}


def tabulate_pairs(pairs: Sequence[Pair]) -> pd.DataFrame:
    """F1 of one minus F1 of another on the same documents, and its p-values."""
    rows = [
        (
            pair.score.names["task"], pair.score.label, pair.reference.label, pair.reference.names["control"],
            interval.value, interval.low, interval.high, comparison.p, comparison.n_groups, comparison.reference, pair.p,
        )
        for pair in pairs
        for comparison, interval in [(pair.comparison, pair.comparison.difference)]
    ]  # fmt: skip
    numbers = ("difference", "low", "high", "p", "documents", "second_f1", "p_holm")
    return pd.DataFrame(rows, columns=["task", "first", "second", "control", *numbers])


def _add_selectivity(scores: Sequence[Score], numbers: Sequence[dict[str, Row]]) -> None:
    """Adds accuracy minus that of other labels, and F1 minus that of the words' most frequent labels."""
    keys = [(score.names["control"], *score.key(VECTOR)) for score in scores]
    by_key = dict(zip(keys, numbers, strict=True))
    for score, of_score in zip(scores, numbers, strict=True):
        rivals = {
            name: (by_key.get((control, *score.key(VECTOR))), "accuracy")
            for name, control in SELECTIVITY.items()
        }
        identity = (IDENTITY, *score.key(SIDE), "", None, None)
        rivals["beyond_identity"] = by_key.get(identity), "f1"
        for name, (rival, metric) in rivals.items() if score.is_real else ():
            if rival is not None and metric in of_score:
                of_score[name] = number(name, of_score[metric]["value"] - rival[metric]["value"])


def measure_information(
    results: Sequence[TrialResult],
) -> Iterator[tuple[Key, dict[str, float]]]:
    """Codelength, compression and usable information (bits a target) of every vector.

    ``information`` is H_V(label) − H_V(label | vector) on the test targets, ``added`` what the vector adds to the
    other one of its sub-layer, H_V(label | other) − H_V(label | both), both relative to this family of probes.
    Source: Xu et al. 2020; Hewitt et al. 2021.
    """
    by_vector: dict[Key, list[TrialResult]] = {}
    for result in sorted(results, key=lambda result: result.trial.portion or 0.0):
        if result.trial.portion is not None:
            key = tuple(result.trial.names[name] for name in VECTOR)
            by_vector.setdefault(key, []).append(result)
    bits = {key: _bits(complete) for key, (*_, complete) in by_vector.items()}
    for key, (*portions, complete) in by_vector.items():
        if "+" in str(key[2]):
            continue
        splits = complete.trial.splits
        fold, n_labels = splits.folds[0], len(splits.examples.inventory)
        sizes = [len(result.trial.splits.folds[0].train) for result in (*portions, complete)]
        length = codelength(min(sizes), n_labels, [result.nats for result in portions])
        prior = constant_bits(splits.examples.labels[fold.train], splits.tested.labels[fold.test])
        numbers = {
            "codelength": length,
            "information": prior - bits[key],
            "added": _added(key, bits),
        }
        yield key, numbers | {"compression": compression(length, len(fold.train), n_labels)}


def _bits(result: TrialResult) -> float:
    splits = result.trial.splits
    labels = splits.tested.labels[splits.folds[0].test]
    return result.nats / np.log(2) / max(1, labels.any(1).sum())


def _added(key: Key, bits: Mapping[Key, float]) -> float:
    stem, _, kind = str(key[2]).rpartition(".")
    names = PARTNER.get(kind), "role+filler"
    partner, joined = ((*key[:2], f"{stem}.{name}", *key[3:]) for name in names)
    return bits[partner] - bits[joined] if partner in bits and joined in bits else np.nan


def _by_document(scores: Sequence[Score], names: Mapping[Key, Sequence[str]]) -> pd.DataFrame:
    """The counts of every row by document, with which runs on the same documents are compared."""
    rows = [score for score in scores if isinstance(score.counts, Counts)]
    sums = [score.counts.sums[0] for score in scores if isinstance(score.counts, Counts)]
    is_tested = [counts[:, N] > 0 for counts in sums]
    table = _repeat([score.names for score in rows], [int(tested.sum()) for tested in is_tested])
    texts = [np.array(names[score.key(SIDE)], object) for score in rows]
    documents = [text[tested] for text, tested in zip(texts, is_tested, strict=True)]
    table["document"] = np.concatenate([*documents, np.empty(0, object)])
    counts = [of_score[tested] for of_score, tested in zip(sums, is_tested, strict=True)]
    table[list(TERMS)] = np.concatenate([*counts, np.empty((0, len(TERMS)))])
    return table


def _by_target(scores: Sequence[Score], excluded: Mapping[Key, set[str]]) -> pd.DataFrame:
    """The tested targets of every row, by their first tokens, and whether each is right, with which slices are scored."""
    table = []
    for score in scores:
        is_compared = score.names["control"] not in excluded[score.key(SIDE)]
        if isinstance(score.counts, Counts) and score.rows is not None and is_compared:
            is_tested = score.counts.signs != 0
            right = score.counts.signs[is_tested] > 0
            table.append({**score.names, "row": score.rows[is_tested], "right": right})
    return pd.DataFrame(table, columns=[*NAMES, "row", "right"]).drop(columns="estimator")


def _curves(results: Sequence[TrialResult]) -> pd.DataFrame:
    names = [result.trial.names for result in results]
    n_validations = [len(result.curve) for result in results]
    table = _repeat(names, n_validations)
    portions = np.array([result.trial.portion for result in results], float)
    table["portion"] = np.repeat(portions, n_validations)
    table[list(CURVE)] = np.concatenate([result.curve for result in results])
    return table.astype({"step": int})


def _repeat(names: Sequence[Mapping[str, object]], counts: Sequence[int]) -> pd.DataFrame:
    """The columns that name rows, every row as often as it counts."""
    table = pd.DataFrame(names, columns=list(NAMES)).drop(columns="estimator")
    table = table.astype(dict.fromkeys(("layer", "head", "seed"), "Int64"))
    return table.loc[table.index.repeat(list(counts))].reset_index(drop=True)
