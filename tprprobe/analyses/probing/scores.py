"""Scores: what probes give their test targets, counted by document, with intervals and paired tests."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float, Int
from scipy import stats
from torch import Tensor

from tprprobe.analyses.probing.inputs import Shape, Vector
from tprprobe.analyses.probing.labels import LABELS, Examples, Marks, Places, Splits
from tprprobe.analyses.probing.settings import BASELINES, Kind, Loss
from tprprobe.analyses.probing.task import Task
from tprprobe.statistics import (
    adjust,
    bootstrap_difference,
    bounds,
    divide,
    f1,
    interval_text,
    read_interval,
    replicate_totals,
)
from tprprobe.store.layout import TWINS

TERMS = ("hit", "false", "missed", "right", "n", "nats")
RIGHT, N, NATS = (TERMS.index(name) for name in ("right", "n", "nats"))
ALL, REAL = "all", "real"
REPLICATES = 1000
ALIKE = 0.02  # share of the targets by which two may differ in what they learned from
LEVEL = 0.05  # of the corrected test by which a score is beyond a control
PLACE = ("task", "side", "site", "layer", "head", "seed", "control")
KEY = ("task", "side", "site", "head", "seed", "control")
ADDED = ("task", "side", "site", "head", "control")  # over seeds
OF_ALL = ("static", "previous", *BASELINES)  # controls that every vector is compared with
NUMBERS = dict.fromkeys(("layer", "head", "seed", "validations"), "Int64")
CURVE = ("step", "train_loss", "held_out_loss")
COMPARED = (
    "task", "first", "second", "control", "difference", "low", "high", "p", "documents", "second_f1"
)  # fmt: skip
BEYOND, TIED = "*", "tied with"
NOTE = f"F1 in percent with its 95 % interval over documents; {BEYOND}: beyond every control (paired, Holm)"
TIES = f"; {TIED}: the layers whose intervals overlap"

Sums = Float[np.ndarray, "document term"]
BySubset = Float[np.ndarray, "subset document term"]


@dataclass(frozen=True, eq=False)
class Probe:
    """A probe to be trained: the vector that it reads, its seed, and the labels that it learns.

    ``portion`` is the share of the training samples that it sees, where it is for a codelength.
    """

    task: Task
    side: str
    vector: Vector
    seed: int
    control: str
    loss: Loss
    kind: Kind
    portion: float | None = None

    @property
    def labels(self) -> str:
        """The name of the labels that it learns, ``real`` or a control."""
        return self.control if self.control in LABELS else REAL


@dataclass(frozen=True, eq=False)
class Tested:
    """A probe that has been trained: its test sums, and of every validation step, training and held-out
    loss."""

    probe: Probe
    n_train: int
    sums: BySubset
    curve: Float[np.ndarray, "validation 3"]

    @property
    def nats(self) -> float:
        """−ln p of all test targets."""
        return float(self.sums[0, :, NATS].sum())

    @property
    def place(self) -> dict[str, Any]:
        """The columns that name its row."""
        probe, vector = self.probe, self.probe.vector
        values = (probe.task.name, probe.side, vector.site, vector.layer, vector.head, probe.seed)
        return dict(zip(PLACE, (*values, probe.control), strict=True))


@dataclass(frozen=True, eq=False)
class Fitted:
    """A probe with its weights by name (their first axis is of one probe) for (vector − mean) / scale."""

    tested: Tested
    weights: Mapping[str, Tensor]
    shape: Shape
    mean: Tensor | float
    scale: Tensor | float


def losses(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    loss: Loss,
) -> Float[Tensor, "probe target"]:
    """The loss of every target in nats: cross-entropy averaged over labels, or of the softmax."""
    if loss == "sigmoid":
        by_label = torch.nn.functional.binary_cross_entropy_with_logits(
            logits, marks, reduction="none"
        )
        return by_label.mean(-1)
    shares = marks / marks.sum(-1, keepdim=True).clamp(min=1)
    return -(shares * logits.log_softmax(-1)).sum(-1)


def labels_of(
    probes: Sequence[Probe], examples: Examples, chosen: Places | slice, device: torch.device
) -> Float[Tensor, "probe target label"]:
    """The labels that probes should give some examples."""
    named = {name: examples.marks[name][chosen] for name in {probe.labels for probe in probes}}
    marks = np.stack([named[probe.labels] for probe in probes])
    return torch.from_numpy(marks).to(device).float()


def count(
    logits: Float[Tensor, "probe target label"],
    marks: Float[Tensor, "probe target label"],
    unseen: Int[Tensor, "probe target"],
    scored: Bool[Tensor, " label"],
    loss: Loss,
) -> Float[Tensor, "probe target term"]:
    """The counts TERMS of every target.

    A label is given where its logit is at least 0, of a softmax the highest one is; ``right`` are
    targets whose highest label is one of theirs. Source: jiant, AllenNLP's F1Measure.
    """
    highest = logits.argmax(-1, keepdim=True)
    gold = marks > 0
    counted = gold & scored
    wanted, is_gold = counted.sum(-1), gold.gather(-1, highest).squeeze(-1)
    if loss == "softmax":
        hit = counted.gather(-1, highest).squeeze(-1).long()
        false = scored[highest.squeeze(-1)] & ~is_gold
    else:
        positive = logits >= 0
        hit = (positive & counted).sum(-1)
        false = (positive & ~gold & scored).sum(-1)
    missed = wanted - hit + unseen
    asked = (wanted > 0) | (unseen > 0)
    right = is_gold & (wanted > 0)
    nats = losses(logits, marks, loss)
    return torch.stack([hit, false, missed, right, asked, nats], -1)


def count_probes(
    probes: Sequence[Probe],
    logits: Float[Tensor, "probe target label"],
    examples: Examples,
    chosen: Places,
) -> Float[np.ndarray, "probe target term"]:
    """The counts of what probes of one task give some examples; only real labels can be new."""
    task, device = probes[0].task, logits.device
    is_real = np.array([probe.labels == REAL for probe in probes])
    unseen = torch.from_numpy(is_real[:, None] * examples.unseen[chosen]).to(device)
    scored = torch.tensor([task.is_scored(label) for label in examples.inventory], device=device)
    marks = labels_of(probes, examples, chosen, device)
    return count(logits, marks, unseen, scored, probes[0].loss).double().cpu().numpy()


def sum_documents(
    terms: Float[np.ndarray, "target term"],
    examples: Examples,
    chosen: Places | slice = slice(None),
) -> BySubset:
    """The counts of some examples by document: of all, then of their subsets."""
    document, n = examples.document[chosen], len(examples.corpus.names)
    subsets = [np.ones(len(terms), bool), *(x[chosen] for x in examples.subsets().values())]
    sums = [
        [np.bincount(document[inside], column[inside], n) for column in terms.T]
        for inside in subsets
    ]
    return np.array(sums).transpose(0, 2, 1)


def subsets_of(examples: Examples) -> tuple[str, ...]:
    """The names of the subsets of a task's examples."""
    return ("single",) if examples.rows.shape[1] == 1 else ("left", "right", "single")


def baselines(task: Task, splits: Splits) -> dict[str, BySubset]:
    """The counts of the majority label, and of the majority label of the spans' last words.

    They read no vector, and give no probabilities.
    """
    sums: dict[str, list[BySubset]] = {name: [] for name in BASELINES}
    for turn in splits.turns:
        labels, forms = (x[turn.train] for x in (splits.examples.labels, splits.examples.forms))
        commonest = int(labels.sum(0).argmax())
        keys, index = np.unique(forms, axis=0, return_inverse=True)
        counts = np.zeros((len(keys), labels.shape[1]), int)
        np.add.at(counts, index.reshape(-1), labels)
        known = {tuple(key): label for key, label in zip(keys, counts.argmax(1), strict=True)}
        asked = splits.tested.forms[turn.test]
        by_word = np.array([known.get(tuple(key), commonest) for key in asked], int)
        for name, guess in zip(BASELINES, (np.full(len(asked), commonest), by_word), strict=True):
            sums[name].append(_count_guess(task, guess, splits.tested, turn.test))
    return {name: np.sum(parts, axis=0) for name, parts in sums.items()}


def _count_guess(
    task: Task, guess: Int[np.ndarray, " target"], examples: Examples, chosen: Places
) -> BySubset:
    labels = torch.from_numpy(examples.labels[chosen])[None].float()
    logits = torch.full_like(labels, -1.0)
    logits[0, torch.arange(len(guess)), torch.from_numpy(guess)] = 1.0
    scored = torch.tensor([task.is_scored(label) for label in examples.inventory])
    unseen = torch.from_numpy(examples.unseen[chosen])[None]
    terms = count(logits, labels, unseen, scored, "sigmoid")[0].double().numpy()
    terms[:, NATS] = np.nan
    return sum_documents(terms, examples, chosen)


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


def describe(score: Score) -> dict[str, Any]:
    """The row of a score: F1 and accuracy with 95 % intervals over documents, and of subsets F1."""
    sums = score.whole[score.whole[:, N] > 0]
    totals = np.concatenate([sums.sum(0, keepdims=True), replicate_totals(sums, REPLICATES)])
    measured = np.stack([f1_of(totals), divide(totals[:, RIGHT], totals[:, N])], axis=1)
    low, high = bounds(measured[1:], len(sums))
    hit, false, missed = totals[0, :3]
    row = dict(score.place)
    for column, name in enumerate(("f1", "accuracy")):
        row |= {name: measured[0, column], f"{name}_low": low[column], f"{name}_high": high[column]}
    row["precision"] = hit / (hit + false) if hit + false else np.nan
    row["recall"] = hit / (hit + missed) if hit + missed else np.nan
    row["n_test"] = int(totals[0, N])
    for subset, part in zip(score.subsets, score.sums[1:], strict=True):
        row[f"f1_{subset}"] = f1_of(part.sum(0, keepdims=True))[0]
    return row


def differences(scores: Sequence[Score]) -> pd.DataFrame:
    """F1 of one minus F1 of another on the same documents, with p corrected over the table (Holm).

    ``low`` to ``high`` is the 95 % bootstrap interval over documents; ``p`` is that of the t test of
    difference / standard error, which has the resolution that a correction needs. Seeds are added up.
    Pairs: the vectors of a sub-layer with each other, every vector with its controls and with the
    baselines; with a twin where both learned from as many targets.
    """
    groups: dict[tuple[Any, ...], list[Score]] = {}
    for score in scores:
        groups.setdefault(tuple(score.place[name] for name in ADDED), []).append(score)
    added = [
        Score(some[0].place, np.sum([score.sums for score in some], axis=0), some[0].subsets)
        for some in groups.values()
    ]
    table = pd.DataFrame([_compare(*pair) for pair in _pairs(added)], columns=[*COMPARED])
    table["p_holm"] = adjust(table["p"].to_numpy(), "holm") if len(table) else []
    return table


def _compare(first: Score, second: Score) -> dict[str, Any]:
    shared = (first.whole[:, N] > 0) & (second.whole[:, N] > 0)
    names = {
        "task": first.place["task"],
        "first": label(first.place),
        "second": label(second.place),
        "control": second.place["control"],
    }
    second_f1 = f1_of(second.whole[shared].sum(0, keepdims=True))[0]
    return (
        names | compare_sums(first.whole[shared], second.whole[shared]) | {"second_f1": second_f1}
    )


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
    for i, first in enumerate(real):
        for second in real[i + 1 :]:
            if _of(first, "task", "side", "head") == _of(second, "task", "side", "head") and (
                _stem(first) == _stem(second)
            ):
                yield first, second
        for second in scores:
            control = second.place["control"]
            same = _of(first, "task", "side") == _of(second, "task", "side")
            of_it = _of(first, "site", "head") == _of(second, "site", "head")
            if control in TWINS:
                of_it &= _learned_alike(first, second)
            if same and control != REAL and (of_it or control in OF_ALL):
                yield first, second


def _learned_alike(first: Score, second: Score) -> bool:
    """True if two learned from as many targets, but for what whole samples make of a number."""
    counts = [float(score.place.get("n_train", 0)) for score in (first, second)]
    return abs(counts[0] - counts[1]) <= ALIKE * max(counts)


def _of(score: Score, *names: str) -> tuple[Any, ...]:
    return tuple(score.place[name] for name in names)


def _stem(score: Score) -> str:
    return str(score.place["site"]).rpartition(".")[0]


def best_controls(rows: pd.DataFrame, compared: pd.DataFrame) -> pd.DataFrame:
    """For every row of real labels the control of the highest F1, that F1, and whether it is beyond.

    Columns ``best_control``, ``best_control_f1`` and ``beyond``: the paired difference from every control
    is above 0 by the corrected test. What a decoder's word to come is labelled most often (``identity``)
    is no control of it: no state has read that word.
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
    by_name = {(task.name, side): part for (task, side), part in splits.items()}
    scores = []
    for one in tested:
        if one.probe.portion is None:
            part = splits[one.probe.task, one.probe.side]
            sizes = _sizes(part, one.n_train, len(one.curve))
            place = one.place | {"probe": one.probe.kind} | sizes
            scores.append(Score(place, one.sums, subsets_of(part.examples)))
    for (task, side), part in splits.items():
        for name, sums in baselines(task, part).items():
            place = dict(zip(PLACE, (task.name, side, "", None, None, None, name), strict=True))
            place |= _sizes(part, len(part.turns[0].train), None)
            scores.append(Score(place, sums, subsets_of(part.examples)))
    rows = _with_selectivity(pd.DataFrame([describe(score) for score in scores]))
    informed = pd.DataFrame(_information(tested, by_name))
    if len(informed):
        rows = rows.merge(informed, "left", list(KEY))
    rows, compared = rows.astype(NUMBERS), differences(scores)
    rows = pd.concat([rows, best_controls(rows, compared)], axis=1)
    return Results(rows, compared, _by_document(scores, by_name), _curves(tested))


def _sizes(splits: Splits, n_train: int, validations: int | None) -> dict[str, Any]:
    sizes = {"n_train": n_train, "labels": len(splits.examples.inventory), "lost": splits.lost}
    return sizes | {"validations": validations}


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


def _information(
    tested: Sequence[Tested], splits: Mapping[tuple[str, str], Splits]
) -> Iterator[dict[str, Any]]:
    """Codelength, compression and usable information (bits a target) of every vector.

    ``information`` is I_V(vector → label) = H_V(label) − H_V(label | vector) on the test targets;
    ``added`` what the vector adds to the other one of its sub-layer (role to filler and the
    reverse): I_V(label; vector | other) = H_V(label | other) − H_V(label | both). It is relative to
    this family of probes: in Shannon's sense a role that is a function of its filler adds nothing.
    Source: Xu et al. 2020; Hewitt et al. 2021.
    """
    by_vector: dict[tuple[Any, ...], list[Tested]] = {}
    for one in tested:
        if one.probe.portion is not None:
            by_vector.setdefault(tuple(one.place[name] for name in KEY), []).append(one)
    bits = {}
    for key, some in by_vector.items():
        some.sort(key=lambda one: one.probe.portion or 0.0)
        asked = splits[key[:2]].tested.labels[splits[key[:2]].turns[0].test].any(1).sum()
        bits[key] = some[-1].nats / np.log(2) / max(1, asked)
    for key, (*parts, whole) in by_vector.items():
        if "+" in key[2]:
            continue
        part = splits[key[:2]]
        n_labels, turn = len(part.examples.inventory), part.turns[0]
        first = min([*parts, whole], key=lambda one: one.n_train).n_train
        length = codelength(first, n_labels, [one.nats for one in parts])
        prior = constant_bits(part.examples.labels[turn.train], part.tested.labels[turn.test])
        yield dict(zip(KEY, key, strict=True)) | {
            "codelength": length,
            "compression": compression(length, whole.n_train, n_labels),
            "information": prior - bits[key],
            "added": _added(key, bits),
        }


def _added(key: tuple[Any, ...], bits: Mapping[tuple[Any, ...], float]) -> float:
    stem, _, kind = str(key[2]).rpartition(".")
    other = {"role": "filler", "filler": "role"}.get(kind)
    one, both = ((*key[:2], f"{stem}.{name}", *key[3:]) for name in (other, "role+filler"))
    return bits[one] - bits[both] if one in bits and both in bits else np.nan


def codelength(first: int, n_labels: int, nats: Sequence[float]) -> float:
    """The bits of all labels, coded portion by portion: t_1 log2 K − Σ_i log2 p_i(portion i + 1).

    The ``first`` targets take the uniform code; ``nats`` are the sums of −ln p of every later
    portion by the probe that has been trained on those before. Source: Voita and Titov 2020.
    """
    return first * np.log2(n_labels) + sum(nats) / np.log(2)


def compression(bits: float, n_targets: int, n_labels: int) -> float:
    """The compression n log2 K / bits, which is 1 for a uniform predictor."""
    return n_targets * np.log2(n_labels) / bits


def constant_bits(training: Marks, tested: Bool[np.ndarray, "_tested label"]) -> float:
    """The bits a target that the label shares of the training data (one added to each count) cost."""
    shares = (training.sum(0) + 1) / (training.sum() + training.shape[1])
    known = tested[tested.any(1)]
    return float(-(known @ np.log2(shares) / known.sum(1)).mean())


def _by_document(scores: Sequence[Score], splits: Mapping[tuple[str, str], Splits]) -> pd.DataFrame:
    """The counts of every row by document, with which runs on the same documents are compared."""
    parts = []
    for score in scores:
        has = score.whole[:, N] > 0
        corpus = splits[score.place["task"], score.place["side"]].tested.corpus
        parts.append((np.array(corpus.names, object)[has], score.whole[has]))
    places = pd.DataFrame([score.place for score in scores], columns=list(PLACE))
    table = _repeat(places, [len(names) for names, _ in parts])
    table["document"] = np.concatenate([names for names, _ in parts])
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


def screen(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per task, vector, head and layer of the real labels, from the rows of a run.

    Columns: task, vector, layer, head (where heads were probed), F1 with its interval, the mark, the
    layers that it is tied with (where there are several), the best control beside it, the number of
    targets that the probe learnt from, and where several kinds of probe stand in the rows, the kind.
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
    for _, row in placed.sort_values(["task", "probe", "order", "layer"], kind="stable").iterrows():
        best = row["best_control"]
        beside = "" if pd.isna(best) else f"{100 * row['best_control_f1']:.1f} {best}"
        yield {
            "task": str(row["task"]),
            "probe": str(row["probe"]),
            "vector": str(row["vector"]),
            "layer": "" if pd.isna(row["layer"]) else str(row["layer"]),
            "head": "" if pd.isna(row["head"]) else str(row["head"]),
            "F1": interval_text(read_interval(row, "f1"), ".1f", 100),
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
