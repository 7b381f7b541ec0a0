"""What a method does on a case: recovered shares, edits, claims of binding, the scheme that it names, noise, cost."""

import math
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.binding.schemes import CANDIDATES, SCHEMES, shuffled
from benchmarks.binding.structure import Array, Fitted, Method, Pair, Scheme, Structure, Swaps
from benchmarks.binding.subject import KEY, Case, read_edits, twin_of
from tprprobe.statistics import bootstrap

REPLICATES, RESEED = 1000, 1000
SYNONYMS: dict[str, str] = {"left*length": "left*right", "right*length": "left*right"}
KINDS = {"seen": "", "withheld": "_withheld"}
MEASURES = {  # what a cell has, NaN where a method cannot answer
    "r2": "variance recovered",
    "r2_withheld": "variance recovered, withheld pairs",
    "accuracy": "fillers read",
    "accuracy_withheld": "fillers read, withheld pairs",
    "interchange": "interchange, seen pairs",
    "interchange_withheld": "interchange, withheld pairs",
    "others_kept": "edits that change nothing else",
    "ceiling": "interchange by the model itself",
    "claims_chance": "claims binding: beats chance",
    "claims_shuffled": "claims binding: beats shuffled roles",
    "claims": "claims binding: by a test of its own",
    "claims_learned": "claims learned binding: beats the twin",
    "named_right": "scheme named right",
    "reseed": "difference after another seed",
    "seconds": "processor seconds to fit",
    "parameters": "parameters",
}


def fit(case: Case, method: Method, setting: dict[str, Any], seed: int, scheme: Scheme) -> Fitted:
    """A method fitted to a case, with its roles or others."""
    states, structure = case.part(case.train)
    swaps = case.swaps["train"].by(scheme)
    return method.fit(states, replace(structure, scheme=scheme), swaps, seed, **setting)


def errors(case: Case, primary: str, model: Fitted, scheme: Scheme) -> Array:
    """By tested item, the error of the primary prediction and that of knowing nothing: [item, 2]."""
    if primary == "swaps" and model.swap:
        swaps = case.swaps["seen"].by(scheme)
        edited = model.swap(swaps)
        edited = np.where(np.isnan(edited), swaps.states, edited)
        return _squares(edited, swaps.states, swaps.targets)
    states, structure = case.part(case.test)
    structure = replace(structure, scheme=scheme)
    assert model.predict
    predicted = model.predict(states, structure)
    if primary == "states":
        return _squares(predicted, case.mean, states)
    counts: dict[str, Counter[str]] = {}
    for pairs in replace(case.structure.rows(case.train), scheme=scheme).pairs:
        for filler, role in pairs:
            counts.setdefault(role, Counter())[filler] += 1
    usual = {role: fillers.most_common(1)[0][0] for role, fillers in counts.items()}
    wrong = [[(f != reading, f != usual.get(r)) for (f, r), reading in row] for row in _read(structure, predicted)]  # fmt: skip
    return np.array([np.sum(row, 0) for row in wrong], float)


def _read(structure: Structure, predicted: Any) -> list[list[tuple[Pair, str]]]:
    """By sequence, every pair whose filler is asked for, and what is read."""
    rows = zip(structure.pairs, predicted, strict=True)
    return [[item for item in zip(*row, strict=True) if item[0][1] != KEY] for row in rows]


def _squares(estimates: Array, nothing: Array, targets: Array) -> Array:
    return np.stack([np.sum((vectors - targets) ** 2, 1) for vectors in (estimates, nothing)], 1)


def share(totals: Array) -> Array:
    """1 − Σ error / Σ error of knowing nothing; 0 where nothing is to be known."""
    is_positive = totals[:, 1] > 1e-9
    return np.where(is_positive, 1 - totals[:, 0] / np.where(is_positive, totals[:, 1], 1), 0.0)


def total(items: Array) -> float:
    """The share recovered over all items."""
    return float(share(items.sum(0, keepdims=True))[0])


def beats(items: Array, control: Array | None = None) -> bool:
    """True if the share recovered is above that of a control (or 0), with its 95 % interval over items."""

    def difference(totals: Array) -> Array:
        return share(totals[:, :2]) - (0 if control is None else share(totals[:, 2:]))

    columns = items if control is None else np.concatenate([items, control], 1)
    return bootstrap(columns, difference, REPLICATES).low > 0


def measure(case: Case, method: Method, setting: dict[str, Any], seed: int) -> dict[str, Any]:
    """The row of a cell."""
    scheme = case.structure.scheme

    def attempt(scheme: Scheme = scheme, seed: int = seed, drawn_case: Case = case) -> Array:
        fitted = fit(drawn_case, method, setting, seed, scheme)
        return errors(drawn_case, method.PRIMARY, fitted, scheme)

    begun = time.process_time()
    model = fit(case, method, setting, seed, scheme)
    cost = {"seconds": time.process_time() - begun, "parameters": float(model.parameters)}
    row: dict[str, Any] = dict.fromkeys(MEASURES, math.nan) | cost | {"named": ""}
    row |= _predictions(case, model) | _edits(case, model)
    if method.PRIMARY:
        items = errors(case, method.PRIMARY, model, scheme)
        twin, reseeded = twin_of(case, seed), attempt(seed=seed + RESEED)
        row |= {"claims_chance": beats(items), "reseed": abs(total(items) - total(reseeded))}
        row["claims_shuffled"] = beats(items, attempt(shuffled(scheme, seed)))
        row["claims"] = math.nan if model.claims is None else model.claims
        row["claims_learned"] = beats(items, attempt(drawn_case=twin)) if twin else math.nan
        if case.subject.named and not seed and "named_right" not in method.CANNOT:  # once: six fits
            scheme_name = name_scheme(case, method, items, attempt)
            row |= {"named": scheme_name, "named_right": _is_right(scheme_name, case.subject.named)}
    row |= dict.fromkeys(method.CANNOT, math.nan)
    return row | {name: float(row[name]) for name in MEASURES}


def _predictions(case: Case, model: Fitted) -> dict[str, float]:
    """R² of vectors, or the share of fillers that are read; of test sequences with a withheld pair too."""
    scores, train_pairs = {}, case.structure.rows(case.train).known
    for suffix, rows in (("", case.test), ("_withheld", case.test_withheld)):
        states, structure = case.part(rows)
        predicted = model.predict(states, structure) if model.predict and len(rows) else None
        if isinstance(predicted, np.ndarray):
            scores["r2" + suffix] = total(_squares(predicted, case.mean, states))
        elif predicted is not None:
            readings = [item for row in _read(structure, predicted) for item in row]
            asked = (item for item in readings if not (suffix and item[0] in train_pairs))
            right = [filler == reading for (filler, _), reading in asked]
            scores["accuracy" + suffix] = float(np.mean(right)) if right else math.nan
    return scores


def _edits(case: Case, model: Fitted) -> dict[str, float]:
    """The shares of edits after which all symbols are right, and after which those not edited are."""
    scores: dict[str, float] = {}
    for kind, suffix in KINDS.items() if case.subject.reads and model.swap else ():
        swaps = case.swaps[kind]
        edited = model.swap(swaps) if model.swap and len(swaps.places) else np.zeros((0, 1))
        able = np.flatnonzero(~np.isnan(edited).any(1))
        if able.size:
            right, unchanged = judge_edits(case, edited[able], swaps.take(able))
            scores["interchange" + suffix] = right
            if kind == "seen":
                scores |= {"others_kept": unchanged, "ceiling": judge_edits(case, swaps.targets, swaps)[0]}  # fmt: skip
    return scores


def judge_edits(case: Case, edited: Array, swaps: Swaps) -> tuple[float, float]:
    """The share of edits after which all symbols are right, and that after which those not edited are."""
    right, unchanged, readings = [], [], read_edits(case, edited, swaps)
    before, after = swaps.before.sequences, swaps.after.sequences
    for reading, source, target, place in zip(readings, before, after, swaps.places, strict=True):
        right.append(reading == case.subject.says(target))
        context = source[:place] + source[place + 1 :]
        is_same = reading[:place] + reading[place + 1 :] == context
        has_all = not Counter(context) - Counter(reading)
        unchanged.append(is_same if case.subject.ordered else has_all)
    return float(np.mean(right)), float(np.mean(unchanged))


def name_scheme(case: Case, method: Method, items: Array, attempt: Callable[..., Array]) -> str:
    """The scheme that a method finds by itself; else the one of fewest roles that is not worse than the best by
    more than chance, by its primary score.
    """
    if (search := getattr(method, "name_roles", None)) is not None:
        return str(search(*case.part(case.train)))
    attempts = {case.subject.scheme: items}
    attempts |= {name: attempt(SCHEMES[name]) for name in CANDIDATES if name not in attempts}
    best = max(attempts.values(), key=total)
    if not beats(best):
        return "no structure"

    def count_roles(name: str) -> int:
        return len(replace(case.structure, scheme=SCHEMES[name]).names(1))

    return next(
        name for name in sorted(attempts, key=count_roles) if not beats(best, attempts[name])
    )


def _is_right(scheme_name: str, accepted: tuple[str, ...]) -> bool:
    """True for an accepted name; where nothing is bound, for roles without fillers beside a bag, too."""
    unbound = "no structure" in accepted and scheme_name.startswith(("(", "bag+("))
    return unbound or SYNONYMS.get(scheme_name, scheme_name) in accepted
