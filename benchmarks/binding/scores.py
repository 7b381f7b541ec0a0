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


def fit(case: Case, method: Method, chosen: dict[str, Any], seed: int, scheme: Scheme) -> Fitted:
    """A method fitted to a case, with its roles or others."""
    states, structure = case.part(case.train)
    swaps = case.swaps["train"].by(scheme)
    return method.fit(states, replace(structure, scheme=scheme), swaps, seed, **chosen)


def errors(case: Case, primary: str, fitted: Fitted, scheme: Scheme) -> Array:
    """By tested item, the error of the primary prediction and that of knowing nothing: [item, 2]."""
    if primary == "swaps" and fitted.swap:
        swaps = case.swaps["seen"].by(scheme)
        found = fitted.swap(swaps)
        return _squares(np.where(np.isnan(found), swaps.states, found), swaps.states, swaps.targets)
    states, structure = case.part(case.test)
    structure = replace(structure, scheme=scheme)
    assert fitted.predict
    predicted = fitted.predict(states, structure)
    if primary == "states":
        return _squares(predicted, case.mean, states)
    counts: dict[str, Counter[str]] = {}
    for pairs in replace(case.structure.rows(case.train), scheme=scheme).pairs:
        for filler, role in pairs:
            counts.setdefault(role, Counter())[filler] += 1
    usual = {role: of.most_common(1)[0][0] for role, of in counts.items()}
    wrong = [[(f != said, f != usual.get(r)) for (f, r), said in of] for of in _read(structure, predicted)]  # fmt: skip
    return np.array([np.sum(of, 0) for of in wrong], float)


def _read(structure: Structure, predicted: Any) -> list[list[tuple[Pair, str]]]:
    """By sequence, every pair whose filler is asked for, and what is read."""
    both = zip(structure.pairs, predicted, strict=True)
    return [[each for each in zip(*of, strict=True) if each[0][1] != KEY] for of in both]


def _squares(found: Array, nothing: Array, wanted: Array) -> Array:
    return np.stack([np.sum((each - wanted) ** 2, 1) for each in (found, nothing)], 1)


def share(totals: Array) -> Array:
    """1 − Σ error / Σ error of knowing nothing; 0 where nothing is to be known."""
    known = totals[:, 1] > 1e-9
    return np.where(known, 1 - totals[:, 0] / np.where(known, totals[:, 1], 1), 0.0)


def total(items: Array) -> float:
    """The share recovered over all items."""
    return float(share(items.sum(0, keepdims=True))[0])


def beats(items: Array, control: Array | None = None) -> bool:
    """True if the share recovered is above that of a control (or 0), with its 95 % interval over items."""
    if control is None:
        return bootstrap(items, share, REPLICATES).low > 0
    both = np.concatenate([items, control], 1)
    return bootstrap(both, lambda of: share(of[:, :2]) - share(of[:, 2:]), REPLICATES).low > 0


def measure(case: Case, method: Method, chosen: dict[str, Any], seed: int) -> dict[str, Any]:
    """The row of a cell."""
    asked = case.structure.scheme

    def attempt(scheme: Scheme = asked, seed: int = seed, of: Case = case) -> Array:
        return errors(of, method.PRIMARY, fit(of, method, chosen, seed, scheme), scheme)

    begun = time.process_time()
    fitted = fit(case, method, chosen, seed, asked)
    cost = {"seconds": time.process_time() - begun, "parameters": float(fitted.parameters)}
    row: dict[str, Any] = dict.fromkeys(MEASURES, math.nan) | cost | {"named": ""}
    row |= _predictions(case, fitted) | _edits(case, fitted)
    if method.PRIMARY:
        items = errors(case, method.PRIMARY, fitted, asked)
        twin, again = twin_of(case, seed), attempt(seed=seed + RESEED)
        row |= {"claims_chance": beats(items), "reseed": abs(total(items) - total(again))}
        row["claims_shuffled"] = beats(items, attempt(shuffled(asked, seed)))
        row["claims"] = math.nan if fitted.claims is None else fitted.claims
        row["claims_learned"] = beats(items, attempt(of=twin)) if twin else math.nan
        if case.subject.named and not seed and "named_right" not in method.CANNOT:  # once: six fits
            named = name_scheme(case, method, items, attempt)
            row |= {"named": named, "named_right": _is_right(named, case.subject.named)}
    row |= dict.fromkeys(method.CANNOT, math.nan)
    return row | {name: float(row[name]) for name in MEASURES}


def _predictions(case: Case, fitted: Fitted) -> dict[str, float]:
    """R² of vectors, or the share of fillers that are read; of test sequences with a withheld pair too."""
    found, known = {}, case.structure.rows(case.train).known
    for suffix, rows in (("", case.test), ("_withheld", case.test_withheld)):
        states, structure = case.part(rows)
        predicted = fitted.predict(states, structure) if fitted.predict and len(rows) else None
        if isinstance(predicted, np.ndarray):
            found["r2" + suffix] = total(_squares(predicted, case.mean, states))
        elif predicted is not None:
            read = [each for of in _read(structure, predicted) for each in of]
            right = [pair[0] == said for pair, said in read if not (suffix and pair in known)]
            found["accuracy" + suffix] = float(np.mean(right)) if right else math.nan
    return found


def _edits(case: Case, fitted: Fitted) -> dict[str, float]:
    """The shares of edits after which all symbols are right, and after which those not edited are."""
    found: dict[str, float] = {}
    for kind, suffix in KINDS.items() if case.subject.reads and fitted.swap else ():
        swaps = case.swaps[kind]
        edited = fitted.swap(swaps) if fitted.swap and len(swaps.places) else np.zeros((0, 1))
        able = np.flatnonzero(~np.isnan(edited).any(1))
        if able.size:
            right, others = judge_edits(case, edited[able], swaps.take(able))
            found["interchange" + suffix] = right
            if kind == "seen":
                found |= {"others_kept": others, "ceiling": judge_edits(case, swaps.targets, swaps)[0]}  # fmt: skip
    return found


def judge_edits(case: Case, edited: Array, swaps: Swaps) -> tuple[float, float]:
    """The share of edits after which all symbols are right, and that after which those not edited are."""
    right, others, said = [], [], read_edits(case, edited, swaps)
    before, after = swaps.before.sequences, swaps.after.sequences
    for read, old, new, place in zip(said, before, after, swaps.places, strict=True):
        right.append(read == case.subject.says(new))
        rest = old[:place] + old[place + 1 :]
        kept = read[:place] + read[place + 1 :] == rest
        others.append(kept if case.subject.ordered else not Counter(rest) - Counter(read))
    return float(np.mean(right)), float(np.mean(others))


def name_scheme(case: Case, method: Method, items: Array, attempt: Callable[..., Array]) -> str:
    """The scheme that a method finds by itself; else the one of fewest roles that is not worse than the best by
    more than chance, by its primary score.
    """
    if (search := getattr(method, "name_roles", None)) is not None:
        return str(search(*case.part(case.train)))
    found = {case.subject.scheme: items}
    found |= {name: attempt(SCHEMES[name]) for name in CANDIDATES if name not in found}
    best = max(found.values(), key=total)
    if not beats(best):
        return "no structure"
    n_roles = {name: len(replace(case.structure, scheme=SCHEMES[name]).names(1)) for name in found}
    return next(n for n in sorted(found, key=lambda n: n_roles[n]) if not beats(best, found[n]))


def _is_right(named: str, accepted: tuple[str, ...]) -> bool:
    """True for an accepted name; where nothing is bound, for roles without fillers beside a bag, too."""
    unbound = "no structure" in accepted and named.startswith(("(", "bag+("))
    return unbound or SYNONYMS.get(named, named) in accepted
