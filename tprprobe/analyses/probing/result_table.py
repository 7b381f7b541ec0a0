"""The table of a run: a row a probe with intervals, paired tests against controls, and information in bits."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy import stats

from tprprobe.analyses.probing.document_counts import (
    CURVE,
    KEY,
    PLACE,
    REAL,
    TERMS,
    BySubset,
    Tested,
    baselines,
    measure_information,
)
from tprprobe.analyses.probing.examples import Splits
from tprprobe.analyses.probing.settings import BASELINES
from tprprobe.statistics import (
    adjust,
    bootstrap,
    bootstrap_difference,
    divide,
    f1,
    interval_text,
    read_interval,
)
from tprprobe.store.layout import TWINS

RIGHT, N = TERMS.index("right"), TERMS.index("n")
REPLICATES = 1000
ALIKE = 0.02  # share of the targets by which two may differ in what they learned from
LEVEL = 0.05  # of the corrected test by which a score is beyond a control
OVER_SEEDS = ("task", "side", "site", "head", "control")
OF_ALL = ("static", "previous", *BASELINES)  # controls that every vector is compared with
NUMBERS = dict.fromkeys(("layer", "head", "seed", "validations"), "Int64")
COMPARED = (
    "task", "first", "second", "control", "difference", "low", "high", "p", "documents", "second_f1"
)  # fmt: skip
BEYOND, TIED = "*", "tied with"
NOTE = f"in percent, [95 % interval] of these probes on new documents; {BEYOND}: beyond every control (paired, Holm)"
TIES = f"; {TIED}: the layers whose intervals overlap"

Sums = Float[np.ndarray, "document term"]


@dataclass(frozen=True, eq=False)
class Score:
    """The counts [subset, document, term] of a row; ``place`` are the columns that name the row."""

    place: Mapping[str, Any]
    sums: BySubset
    subsets: tuple[str, ...] = ()  # after all

    @property
    def whole(self) -> Sums:
        """The sums over all targets."""
        return self.sums[0]


def f1_of(totals: Float[np.ndarray, "replicate term"]) -> Float[np.ndarray, " replicate"]:
    """Micro-F1 of totals of TERMS."""
    return f1(totals[:, :3])


def accuracy_of(totals: Float[np.ndarray, "replicate term"]) -> Float[np.ndarray, " replicate"]:
    """The share of targets whose highest label is right."""
    return divide(totals[:, RIGHT], totals[:, N])


def describe(score: Score) -> dict[str, Any]:
    """The row of a score: F1 and accuracy with 95 % intervals over documents, and of subsets F1."""
    sums = score.whole[score.whole[:, N] > 0]
    hit, false, missed, *_ = totals = sums.sum(0)
    row = dict(score.place)
    for name, statistic in (("f1", f1_of), ("accuracy", accuracy_of)):
        row |= bootstrap(sums, statistic, REPLICATES).columns(name)
    row["precision"] = hit / (hit + false) if hit + false else np.nan
    row["recall"] = hit / (hit + missed) if hit + missed else np.nan
    row["n_test"] = int(totals[N])
    for subset, part in zip(score.subsets, score.sums[1:], strict=True):
        row[f"f1_{subset}"] = f1_of(part.sum(0, keepdims=True))[0]
    return row


def differences(scores: Sequence[Score]) -> pd.DataFrame:
    """F1 of one minus F1 of another on the same documents, with p corrected over the table (Holm), seeds added up.

    ``p`` is that of the t test of difference / bootstrap error, which has the resolution that a correction needs.
    """
    groups: dict[tuple[Any, ...], list[Score]] = {}
    for score in scores:
        groups.setdefault(tuple(score.place[name] for name in OVER_SEEDS), []).append(score)
    added = [
        Score(some[0].place, np.sum([score.sums for score in some], axis=0), some[0].subsets)
        for some in groups.values()
    ]
    table = pd.DataFrame([_compare(*pair) for pair in _pairs(added)], columns=[*COMPARED])
    table["p_holm"] = adjust(table["p"].to_numpy(), "holm") if len(table) else []
    return table


def _compare(first: Score, second: Score) -> dict[str, Any]:
    shared = (first.whole[:, N] > 0) & (second.whole[:, N] > 0)
    one, other = first.whole[shared], second.whole[shared]
    return {
        "task": first.place["task"],
        "first": label(first.place),
        "second": label(second.place),
        "control": second.place["control"],
        **compare_sums(one, other),
        "second_f1": f1_of(other.sum(0, keepdims=True))[0],
    }


def compare_sums(first: Sums, second: Sums) -> dict[str, Any]:
    """The difference of two F1 on the same documents, its 95 % interval, and p."""
    found = bootstrap_difference(first, second, f1_of, replicates=REPLICATES)
    p = _p_value(found.value, float(np.nanstd(found.replicates)), len(first))
    values = (found.value, found.low, found.high, p, len(first))
    return dict(zip(("difference", "low", "high", "p", "documents"), values, strict=True))


def _p_value(difference: float, error: float, n: int) -> float:
    """Two-sided p of a difference with a bootstrap standard error over n documents."""
    if n < 2 or not np.isfinite(difference):
        return 1.0
    if error == 0:
        return float(difference == 0)
    return float(2 * stats.t.sf(abs(difference) / error, n - 1))


def label(place: Mapping[str, Any]) -> str:
    """The name of a row in a comparison: site, head and control."""
    head = "" if pd.isna(place["head"]) else f" head {place['head']}"
    control = "" if place["control"] == REAL else f" ({place['control']})"
    return f"{place['site']}{head}{control}".strip()


def _pairs(scores: Sequence[Score]) -> Iterator[tuple[Score, Score]]:
    real = [score for score in scores if score.place["control"] == REAL]
    others = [score for score in scores if score.place["control"] != REAL]
    for i, first in enumerate(real):
        for second in (*real[i + 1 :], *others):
            if _are_compared(first.place, second.place):
                yield first, second


def _are_compared(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """True of two vectors of a sub-layer, and of a vector and a control of it; of a twin's, that learned alike."""
    control = second["control"]
    if first["task"] != second["task"] or first["side"] != second["side"]:
        return False
    if control in OF_ALL or first["head"] != second["head"]:
        return control in OF_ALL
    if control == REAL:
        return _stem(first) == _stem(second)
    counts = [float(place.get("n_train", 0)) for place in (first, second)]
    are_alike = abs(counts[0] - counts[1]) <= ALIKE * max(counts)  # but for whole samples
    return first["site"] == second["site"] and (are_alike or control not in TWINS)


def _stem(place: Mapping[str, Any]) -> str:
    return str(place["site"]).rpartition(".")[0]


def best_controls(rows: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """For every row of real labels the control of the highest F1, that F1, and whether it is beyond all (corrected).

    ``identity`` is no control of a decoder: no state has read the word to come.
    """
    columns = {"best_control": None, "best_control_f1": np.nan, "beyond": None}
    best = pd.DataFrame(columns, rows.index, dtype=object)
    rivals = compared[compared["control"] != REAL]
    real: Any = rows[rows["control"] == REAL]
    for at, row in zip(real.index, real.to_dict("records"), strict=True):
        mine = rivals[(rivals["task"] == row["task"]) & (rivals["first"] == label(row))]
        if row["side"] == "target":
            mine = mine[mine["control"] != "identity"]
        if len(mine):
            rival = mine.loc[mine["second_f1"].idxmax()]
            beyond = bool(((mine["difference"] > 0) & (mine["p_holm"] < LEVEL)).all())
            best.loc[at] = [rival["control"], rival["second_f1"], beyond]
    return best.astype({"best_control_f1": float})


def gather(tested: Sequence[Tested], splits: Sequence[Splits]) -> dict[str, pd.DataFrame]:
    """The tables of a run, with the baselines of its tasks.

    rows        one a site, head, seed and control of a task; ``differences`` between them
    documents   the counts by document that both are made of
    curves      the losses in training; ``portion``: the share of the samples that a probe saw
    """
    scores = []
    for one in tested:
        if one.probe.portion is None:
            place = one.place | {"probe": one.probe.kind}
            scores.append(_score(place, one.probe.splits, one.sums, len(one.curve)))
    for part in splits:
        for name, sums in baselines(part).items():
            values = (*part.name, "", None, None, None, name)
            scores.append(_score(dict(zip(PLACE, values, strict=True)), part, sums, None))
    rows = _with_selectivity(pd.DataFrame([describe(score) for score in scores]))
    informed = pd.DataFrame(measure_information(tested))
    if len(informed):
        rows = rows.merge(informed, "left", list(KEY))
    rows, compared = rows.astype(NUMBERS), differences(scores)
    rows = pd.concat([rows, best_controls(rows, compared)], axis=1)
    names = {part.name: part.tested.corpus.names for part in splits}
    documents, curves = _by_document(scores, names), _curves(tested)
    return {"rows": rows, "differences": compared, "documents": documents, "curves": curves}


def _score(
    place: Mapping[str, Any], splits: Splits, sums: BySubset, validations: int | None
) -> Score:
    n_train, labels = len(splits.turns[0].train), len(splits.examples.inventory)
    sizes = {"n_train": n_train, "labels": labels, "lost": splits.lost}
    place = {**place, **sizes, "validations": validations}
    return Score(place, sums, tuple(splits.examples.subsets()))


def _with_selectivity(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the columns selectivity, prefix_selectivity (accuracy minus that of the control) and
    beyond_identity (F1 minus that of the word's commonest label)."""
    vector = ["task", "side", "site", "head", "seed"]
    for column, control, keys, score in (
        ("selectivity", "control", vector, "accuracy"),
        ("prefix_selectivity", "prefix", vector, "accuracy"),
        ("beyond_identity", "identity", ["task", "side"], "f1"),
    ):
        other = rows.loc[rows["control"] == control, [*keys, score]]
        joined = rows[keys].merge(other, "left", keys)[score].to_numpy()
        rows[column] = np.where(rows["control"] == REAL, rows[score] - joined, np.nan)
    return rows


def _by_document(
    scores: Sequence[Score], names: Mapping[tuple[str, str], Sequence[str]]
) -> pd.DataFrame:
    """The counts of every row by document, with which runs on the same documents are compared."""
    parts = []
    for score in scores:
        has = score.whole[:, N] > 0
        of = np.array(names[score.place["task"], score.place["side"]], object)
        parts.append((of[has], score.whole[has]))
    places = pd.DataFrame([score.place for score in scores], columns=list(PLACE))
    table = _repeat(places, [len(some) for some, _ in parts])
    table["document"] = np.concatenate([some for some, _ in parts])
    table[list(TERMS)] = np.concatenate([sums for _, sums in parts])
    return table


def _curves(tested: Sequence[Tested]) -> pd.DataFrame:
    """The training curves: step, training loss and held-out loss at every validation of every probe."""
    places = pd.DataFrame([one.place | {"portion": one.probe.portion} for one in tested])
    table = _repeat(places.astype({"portion": float}), [len(one.curve) for one in tested])
    table[list(CURVE)] = np.concatenate([one.curve for one in tested])
    return table.astype({"step": int})


def _repeat(places: pd.DataFrame, counts: Sequence[int]) -> pd.DataFrame:
    """Every row of a table as often as it counts."""
    places = places.astype(dict.fromkeys(("layer", "head", "seed"), "Int64"))
    return places.loc[places.index.repeat(list(counts))].reset_index(drop=True)


def name_score(rows: pd.DataFrame) -> str:
    """``accuracy`` where every target has one label and every label counts, as micro-F1 then is accuracy; else ``micro-F1``."""
    known = rows.dropna(subset=["f1", "accuracy"])
    return "accuracy" if np.allclose(known["f1"], known["accuracy"]) else "micro-F1"


def screen(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per task, vector, head and layer of the real labels: the score with its interval, its name (accuracy or
    micro-F1), a mark, the layers that it is tied with, the best control.
    """
    lines = pd.DataFrame(list(_lines(rows[rows["control"] == REAL])))
    for column in ("head", "probe", TIED):
        if lines[column].nunique() < 2:
            lines = lines.drop(columns=column)
    return lines


def _lines(real: pd.DataFrame) -> Iterator[dict[str, str]]:
    vectors = real["site"].map(_vector)
    order = {vector: place for place, vector in enumerate(vectors.unique())}
    placed = real.assign(vector=vectors, order=vectors.map(order))
    names = {task: name_score(of_task) for task, of_task in real.groupby("task")}
    for _, row in placed.sort_values(["task", "probe", "order", "layer"], kind="stable").iterrows():
        best = row["best_control"]
        beside = "" if pd.isna(best) else f"{100 * row['best_control_f1']:.1f} {best}"
        yield {
            "task": str(row["task"]),
            "probe": str(row["probe"]),
            "vector": str(row["vector"]),
            "layer": "" if pd.isna(row["layer"]) else str(row["layer"]),
            "head": "" if pd.isna(row["head"]) else str(row["head"]),
            "score": interval_text(read_interval(row, "f1"), ".1f", 100),
            "of": names[row["task"]],
            "": BEYOND if row["beyond"] is True else "",
            TIED: _tied(placed, row),
            "best control": beside,
            "learnt from": f"{row['n_train']:,}",
        }


def _tied(rows: pd.DataFrame, row: pd.Series) -> str:
    """The other layers of a row's vector whose intervals overlap with its own."""
    alike: Any = rows[(rows["f1_low"] <= row["f1_high"]) & (rows["f1_high"] >= row["f1_low"])]
    for name in ("task", "probe", "side", "vector", "seed"):
        alike = alike[alike[name] == row[name]]
    if pd.notna(row["head"]):
        alike = alike[alike["head"] == row["head"]]
    layers = alike["layer"].dropna()
    return " ".join(str(layer) for layer in sorted(layers) if layer != row["layer"])


def _vector(site: str) -> str:
    """A site without its layer: ``encoder.0.self.role`` is ``encoder.self.role``."""
    return ".".join(part for part in str(site).split(".") if not part.isdigit())


def worth_refining(rows: pd.DataFrame) -> list[str]:
    """The sites that a run has beyond every control in some task, in their order."""
    beyond = rows[(rows["control"] == REAL) & (rows["beyond"] == True)]  # noqa: E712
    return list(dict.fromkeys(beyond["site"]))
