"""Results of a run of probes: rows with intervals, differences, counts by document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing.codelength import codelength, compression, constant_bits
from tprprobe.analyses.probing.frequencies import baselines
from tprprobe.analyses.probing.grid import Probe
from tprprobe.analyses.probing.labelled_splits import Splits
from tprprobe.analyses.probing.scores import Score, best_controls, describe, differences
from tprprobe.analyses.probing.tallies import ALL, TERMS
from tprprobe.analyses.probing.tasks import Task

NATS = TERMS.index("nats")
PLACE = ("task", "side", "site", "layer", "head", "seed", "control")
CURVE = ("step", "train_loss", "held_out_loss")
KEY = ("task", "side", "site", "head", "seed", "control")


@dataclass(frozen=True, eq=False)
class Tested:
    """A probe that has been trained: its test sums [subset, document, term]."""

    probe: Probe
    splits: Splits
    sums: np.ndarray
    subsets: tuple[str, ...]
    curve: np.ndarray  # of every validation step, training and held-out loss

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        return float(self.sums[self.subsets.index(ALL), :, NATS].sum())

    @property
    def place(self) -> dict[str, Any]:
        """The columns that name its row."""
        vector, train = self.probe.vector, self.splits.train
        values = (
            self.probe.task.name,
            train.corpus.side,
            vector.site,
            vector.layer,
            vector.head,
            self.probe.seed,
            self.probe.control,
        )
        named = dict(zip(PLACE, values, strict=True)) | {"probe": self.probe.kind}
        return named | _sizes(self.splits, len(self.curve))


def _sizes(splits: Splits, validations: int | None) -> dict[str, Any]:
    return {
        "n_train": len(splits.train),
        "labels": len(splits.train.targets.inventory),
        "lost": splits.lost,
        "validations": validations,
    }


@dataclass(frozen=True, eq=False)
class Results:
    """``rows`` of a run, one a site, head, seed and control of a task; ``differences`` between them;
    ``documents``, the counts by document that both are made of; and ``curves``, the losses of every
    probe in training (``portion``: the share of the training samples that it saw)."""

    rows: pd.DataFrame
    differences: pd.DataFrame
    documents: pd.DataFrame
    curves: pd.DataFrame


def gather(tested: Sequence[Tested], splits: Mapping[tuple[Task, str], Splits]) -> Results:
    """The results of trained probes, with the baselines of their tasks."""
    counted = [each for each in tested if each.probe.portion is None]
    scores = [Score(each.place, each.sums, each.subsets) for each in counted]
    for (task, side), part in splits.items():
        for turns in zip(*(baselines(task, turn) for turn in (part, *part.turns)), strict=True):
            place = (task.name, side, "", None, None, None, turns[0].control)
            row = dict(zip(PLACE, place, strict=True)) | _sizes(part, None)
            sums = np.sum([turn.sums for turn in turns], axis=0)
            scores.append(Score(row, sums, turns[0].subsets))
    rows = _with_selectivity(pd.DataFrame([describe(score) for score in scores]))
    informed = pd.DataFrame(_information([e for e in tested if e.probe.portion is not None]))
    if len(informed):
        rows = rows.merge(informed, "left", list(KEY))
    numbers = dict.fromkeys(("layer", "head", "seed", "validations"), "Int64")
    documents = _by_document(scores, splits)
    rows, compared = rows.astype(numbers), differences(scores)
    rows = pd.concat([rows, best_controls(rows, compared)], axis=1)
    return Results(rows, compared, documents, _curves(tested))


def _with_selectivity(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the columns selectivity, prefix_selectivity (accuracy minus that of the control) and
    beyond_identity (F1 minus that of the word's commonest label)."""
    keys = ["task", "side", "site", "head", "seed"]
    for column, control in (("selectivity", "control"), ("prefix_selectivity", "prefix")):
        other = rows.loc[rows["control"] == control, [*keys, "accuracy"]]
        joined = rows[keys].merge(other, "left", keys)["accuracy"].to_numpy()
        rows[column] = np.where(rows["control"] == "real", rows["accuracy"] - joined, np.nan)
    identity = rows.loc[rows["control"] == "identity", ["task", "side", "f1"]]
    joined = rows[["task", "side"]].merge(identity, "left", ["task", "side"])["f1"].to_numpy()
    rows["beyond_identity"] = np.where(rows["control"] == "real", rows["f1"] - joined, np.nan)
    return rows


def _information(coding: Sequence[Tested]) -> list[dict[str, Any]]:
    """Codelength, compression and usable information (bits a target) of every vector.

    ``information`` is I_V(vector → label) = H_V(label) − H_V(label | vector) on the test targets;
    ``added`` what the vector adds to the other one of its sub-layer (role to filler and the
    reverse): I_V(label; vector | other) = H_V(label | other) − H_V(label | both). It is relative to
    this family of probes: in Shannon's sense a role that is a function of its filler adds nothing.
    Source: Xu et al. 2020; Hewitt et al. 2021.
    """
    by_vector: dict[tuple[Any, ...], list[Tested]] = {}
    for each in coding:
        place = each.place
        by_vector.setdefault(tuple(place[name] for name in KEY), []).append(each)
    bits = {key: _test_bits(max(some, key=_portion)) for key, some in by_vector.items()}
    rows = []
    for key, some in by_vector.items():
        if "+" in key[2]:
            continue
        *parts, whole = sorted(some, key=_portion)
        train, test = whole.splits.train, whole.splits.test
        n_labels, first = len(train.targets.inventory), min(len(e.splits.train) for e in some)
        length = codelength(first, n_labels, [each.nats for each in parts])
        prior = constant_bits(train.targets.labels, test.targets.labels)
        row = dict(zip(KEY, key, strict=True)) | {
            "codelength": length,
            "compression": compression(length, len(train), n_labels),
            "information": prior - bits[key],
        }
        rows.append(row | {"added": _added(key, bits)})
    return rows


def _portion(each: Tested) -> float:
    return each.probe.portion or 0.0


def _test_bits(whole: Tested) -> float:
    """The bits a test target H_V(label | vector), by the probe that was trained on all targets."""
    known = whole.splits.test.targets.labels.any(1).sum()
    return whole.nats / np.log(2) / max(1, known)


def _added(key: tuple[Any, ...], bits: Mapping[tuple[Any, ...], float]) -> float:
    site = str(key[2])
    stem, _, kind = site.rpartition(".")
    other = {"role": "filler", "filler": "role"}.get(kind)
    one = (*key[:2], f"{stem}.{other}", *key[3:])
    both = (*key[:2], f"{stem}.role+filler", *key[3:])
    return bits[one] - bits[both] if one in bits and both in bits else np.nan


def _by_document(
    scores: Sequence[Score], splits: Mapping[tuple[Task, str], Splits]
) -> pd.DataFrame:
    """The counts of every row by document, with which runs on the same documents are compared."""
    corpora = {(task.name, side): m.test.corpus for (task, side), m in splits.items()}
    names, counts = [], []
    for score in scores:
        has = score.whole[:, TERMS.index("n")] > 0
        corpus = corpora[score.place["task"], score.place["side"]]
        names.append(np.array(corpus.names, object)[has])
        counts.append(score.whole[has])
    places = pd.DataFrame([score.place for score in scores], columns=list(PLACE))
    places = places.astype({"layer": "Int64", "head": "Int64", "seed": "Int64"})
    table = places.loc[places.index.repeat([len(each) for each in names])].reset_index(drop=True)
    table["document"] = np.concatenate(names)
    table[list(TERMS)] = np.concatenate(counts)
    return table


def _curves(tested: Sequence[Tested]) -> pd.DataFrame:
    """The training curves: step, training loss and held-out loss at every validation of every probe."""
    places = [
        {name: e.place[name] for name in PLACE} | {"portion": e.probe.portion} for e in tested
    ]
    table = pd.DataFrame(places).astype({"layer": "Int64", "head": "Int64", "portion": float})
    table = table.loc[table.index.repeat([len(e.curve) for e in tested])].reset_index(drop=True)
    table[list(CURVE)] = np.concatenate([e.curve for e in tested])
    return table.astype({"step": int})
