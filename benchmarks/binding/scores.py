"""What a method does on a case: recovered shares, edits, claims of binding, the scheme that it names, noise, cost."""

import math
import time
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from benchmarks.binding.schemes import CANDIDATES, SCHEMES, shuffled
from benchmarks.binding.structure import Array, Fitted, Method, Scheme, Structure, Swaps
from benchmarks.binding.subject import Case, read_edits, twin_of
from tprprobe.statistics import bootstrap

REPLICATES, RESEED = 1000, 1000
SYNONYMS = {"left*length": "left*right", "right*length": "left*right", "length*left": "left*right"}
UNBOUND = ("bag", "no structure")
MEASURES = {  # name: (title, format); what a cell has, NaN where a method cannot answer
    "r2": ("variance recovered", ".3f"),
    "r2_withheld": ("the same, withheld pairs", ".3f"),
    "accuracy": ("fillers read", ".3f"),
    "accuracy_withheld": ("withheld fillers read", ".3f"),
    "interchange": ("interchange, seen pairs", ".3f"),
    "interchange_withheld": ("interchange, withheld pairs", ".3f"),
    "others_kept": ("edits that change nothing else", ".3f"),
    "ceiling": ("interchange by the model itself", ".3f"),
    "claims_chance": ("claims binding: better than chance", ".2f"),
    "claims_shuffled": ("claims binding: better than shuffled roles", ".2f"),
    "claims": ("claims binding: by its own test", ".2f"),
    "claims_learnt": ("claims that it is learnt: better than in the twin", ".2f"),
    "named_right": ("scheme named right", ".2f"),
    "reseed": ("difference after another seed", ".4f"),
    "seconds": ("seconds of a processor, to fit", ".2f"),
    "parameters": ("parameters", ".0f"),
}


def fit(
    case: Case, method: Method, chosen: dict[str, Any], seed: int, scheme: Scheme | None = None
) -> Fitted:
    """A method fitted to a case, with its roles or others."""
    states, structure = case.part(case.train)
    swaps = case.swaps["train"]
    if scheme is not None:
        structure, swaps = structure.by(scheme), swaps.by(scheme)
    return method.fit(states, structure, swaps, seed, **chosen)


def errors(case: Case, method: Method, fitted: Fitted, scheme: Scheme | None = None) -> Array:
    """By tested item, the error of the primary prediction and that of knowing nothing: [item, 2]."""
    states, structure = case.part(case.test)
    if method.PRIMARY == "swaps":
        swaps = case.swaps["seen"] if scheme is None else case.swaps["seen"].by(scheme)
        found = fitted.swap(swaps)
        assert found is not None
        edited = np.where(np.isnan(found), swaps.states, found)
        return _squares(edited, swaps.states, swaps.targets)
    structure = structure if scheme is None else structure.by(scheme)
    train = case.structure.rows(case.train)
    train = train if scheme is None else train.by(scheme)
    predicted = fitted.predict(states, structure)
    if method.PRIMARY == "states":
        mean = case.world.states[case.train].mean(0)
        return _squares(predicted, np.broadcast_to(mean, states.shape), states)
    usual = _usual(train)
    rows = []
    for pairs, read in zip(structure.pairs, predicted, strict=True):
        asked = [(f, r, said) for (f, r), said in zip(pairs, read, strict=True) if r != "key"]
        rows.append(
            [sum(f != said for f, _, said in asked), sum(f != usual.get(r) for f, r, _ in asked)]
        )
    return np.array(rows, float)


def _squares(found: Array, nothing: Array, wanted: Array) -> Array:
    return np.stack([np.sum((each - wanted) ** 2, 1) for each in (found, nothing)], 1)


def _usual(structure: Structure) -> dict[str, str]:
    """The most frequent filler of every role."""
    counts: dict[str, Counter[str]] = {}
    for pairs in structure.pairs:
        for filler, role in pairs:
            counts.setdefault(role, Counter())[filler] += 1
    return {role: of.most_common(1)[0][0] for role, of in counts.items()}


def share(totals: Array) -> Array:
    """1 − Σ error / Σ error of knowing nothing; 0 where nothing is to be known."""
    known = totals[:, 1] > 1e-9
    return np.where(known, 1 - totals[:, 0] / np.where(known, totals[:, 1], 1), 0.0)


def beats(items: Array, control: Array | None = None) -> bool:
    """True if the share recovered is above that of a control (or 0): its 95 % interval over items is."""
    both = items if control is None else np.concatenate([items, control], 1)

    def apart(totals: Array) -> Array:
        return share(totals) - (share(totals[:, 2:]) if control is not None else 0)

    return bootstrap(both, apart, REPLICATES).low > 0


def measure(case: Case, method: Method, chosen: dict[str, Any], seed: int) -> dict[str, Any]:
    """The row of a cell."""
    begun = time.process_time()
    fitted = fit(case, method, chosen, seed)
    seconds = time.process_time() - begun
    row: dict[str, Any] = dict.fromkeys(MEASURES, math.nan)
    row |= (
        _predictions(case, fitted)
        | _edits(case, fitted)
        | _claims(case, method, fitted, chosen, seed)
    )
    row |= {"seconds": seconds, "parameters": fitted.parameters, "named": ""}
    if case.subject.named and method.PRIMARY:
        named = name_scheme(case, method, fitted, chosen, seed)
        row |= {"named": named, "named_right": float(_is_right(named, case.subject.named))}
    return row | dict.fromkeys(method.CANNOT, math.nan)


def _predictions(case: Case, fitted: Fitted) -> dict[str, float]:
    """R² of vectors, or the share of fillers that are read; of test sequences with a withheld pair too."""
    found, mean = {}, case.world.states[case.train].mean(0)
    known = case.structure.rows(case.train).known
    for suffix, rows in (("", case.test), ("_withheld", case.test_withheld)):
        states, structure = case.part(rows)
        predicted = fitted.predict(states, structure) if len(rows) else None
        if isinstance(predicted, np.ndarray):
            of = _squares(predicted, np.broadcast_to(mean, states.shape), states)
            found["r2" + suffix] = float(share(of.sum(0, keepdims=True))[0])
        elif predicted is not None:
            asked = [
                f == said
                for pairs, read in zip(structure.pairs, predicted, strict=True)
                for (f, r), said in zip(pairs, read, strict=True)
                if r != "key" and (not suffix or (f, r) not in known)
            ]
            found["accuracy" + suffix] = float(np.mean(asked)) if asked else math.nan
    return found


def _edits(case: Case, fitted: Fitted) -> dict[str, float]:
    """Of edits: all symbols read as they should be; and those that were not edited."""
    found: dict[str, float] = {}
    for kind in ("seen", "withheld") if case.subject.reads else ():
        swaps = case.swaps[kind]
        edited = fitted.swap(swaps) if len(swaps.places) else None
        if edited is None or not (able := np.flatnonzero(~np.isnan(edited).any(1))).size:
            continue
        right, others = judge_edits(case, edited[able], _take(swaps, able))
        found["interchange" + ("_withheld" if kind == "withheld" else "")] = right
        if kind == "seen":
            found["others_kept"] = others
            found["ceiling"] = judge_edits(case, swaps.targets, swaps)[0]
    return found


def judge_edits(case: Case, edited: Array, swaps: Swaps) -> tuple[float, float]:
    """The shares of edits after which all symbols are those of the edited sequence, and all others are."""
    said, right, others = read_edits(case, edited, swaps), [], []
    for read, before, after, place in zip(
        said, swaps.before.sequences, swaps.after.sequences, swaps.places, strict=True
    ):
        right.append(read == case.subject.says(after))
        rest = before[:place] + before[place + 1 :]
        if case.subject.ordered:
            others.append(read[:place] + read[place + 1 :] == rest)
        else:
            others.append(not Counter(rest) - Counter(read))
    return float(np.mean(right)), float(np.mean(others))


def _take(swaps: Swaps, at: Array) -> Swaps:
    arrays = {name: getattr(swaps, name)[at] for name in ("states", "places", "donors", "targets")}
    return replace(swaps, before=swaps.before.rows(at), after=swaps.after.rows(at), **arrays)


def _claims(
    case: Case, method: Method, fitted: Fitted, chosen: dict[str, Any], seed: int
) -> dict[str, float]:
    """What a method says about binding, by four rules; and how far another seed leads."""
    if not method.PRIMARY:
        return {}
    items, scheme = errors(case, method, fitted), shuffled(case.structure.scheme, seed)
    control = errors(case, method, fit(case, method, chosen, seed, scheme), scheme)
    again = errors(case, method, fit(case, method, chosen, seed + RESEED))
    apart = [float(share(each.sum(0, keepdims=True))[0]) for each in (items, again)]
    found = {"claims_chance": float(beats(items)), "claims_shuffled": float(beats(items, control))}
    found["reseed"] = abs(apart[0] - apart[1])
    if (own := getattr(fitted, "claims", None)) is not None:
        found["claims"] = float(own)
    if (twin := twin_of(case, seed)) is not None:
        of_twin = errors(twin, method, fit(twin, method, chosen, seed))
        found["claims_learnt"] = float(beats(items, of_twin))
    return found


def name_scheme(
    case: Case, method: Method, fitted: Fitted, chosen: dict[str, Any], seed: int
) -> str:
    """The scheme that a method finds by itself; else the one of fewest roles that is not worse than the best by
    more than chance, by its primary score.
    """
    if (own := getattr(method, "name_roles", None)) is not None:
        return str(own(*case.part(case.train)))
    found = {case.subject.scheme: errors(case, method, fitted)}
    for name in (name for name in CANDIDATES if name not in found):
        scheme = SCHEMES[name]
        found[name] = errors(case, method, fit(case, method, chosen, seed, scheme), scheme)
    shares = {name: float(share(of.sum(0, keepdims=True))[0]) for name, of in found.items()}
    best = max(shares, key=lambda name: shares[name])
    if not beats(found[best]):
        return "no structure"
    roles = {
        name: len({r for _, r in case.structure.by(SCHEMES[name]).known}) for name in CANDIDATES
    }
    return next(
        name
        for name in sorted(roles, key=lambda n: roles[n])
        if not beats(found[best], found[name])
    )


def _is_right(named: str, accepted: tuple[str, ...]) -> bool:
    name = SYNONYMS.get(named, named)
    unbound = name in UNBOUND or name.startswith(("(", "bag+("))
    return name in accepted or (unbound and "no structure" in accepted)
