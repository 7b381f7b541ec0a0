"""Question c: which roles does the pronunciation of words use? Judged by what the decoder still says.

The state after a word is replaced by a fit of (letter, role) pairs to words of other lemmas: is the whole
pronunciation kept? And where one letter is exchanged in the state, does the decoder say the other word?
"""

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from studies.real.pronunciation import (
    Pronouncer,
    pronounce,
    speak,
)
from studies.real.words import Words
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.files.runs import Part, join_parts
from tprprobe.statistics import Interval, bootstrap, bootstrap_mean, group_sums

TESTED = 5  # one lemma of five is tested
VOWELS = "aeiouy"
CONSONANTS = "".join(sorted({*"abcdefghijklmnopqrstuvwxyz"} - {*VOWELS}))
Roles = list[list[str]]
States = Float[np.ndarray, "word d_model"]


def _from_left(form: str) -> list[str]:
    return [str(i) for i in range(len(form))]


def _from_right(form: str) -> list[str]:
    return _from_left(form)[::-1]


def _both(form: str) -> list[str]:
    return [f"{i}.{j}" for i, j in zip(_from_left(form), _from_right(form), strict=True)]


def _neighbors(form: str) -> list[str]:
    around = f"#{form}#"
    return [f"{around[i]}_{around[i + 2]}" for i in range(len(form))]


def _left_and_after(form: str) -> list[str]:
    """Two roles a letter: its place from the left, and the letter after it."""
    return [f"{i}+{after}" for i, after in enumerate(f"{form}#"[1:])]


BY_FORM: dict[str, Callable[[str], list[str]]] = {
    "bag": lambda form: [""] * len(form),
    "left": _from_left,
    "right": _from_right,
    "left*right": _both,
    "wickel": _neighbors,
    "left+after": _left_and_after,
}
SYLLABLES = "syllable"
FITS = [  # scheme, family, control
    *[(scheme, "saturated", "") for scheme in (*BY_FORM, SYLLABLES)],
    ("left*right", "saturated", "permuted"),
    ("wickel", "saturated", "permuted"),
    (SYLLABLES, "saturated", "permuted"),
    ("left*right", "factored", ""),
]
SURGERY = ("left", "left*right", "wickel", SYLLABLES)


def label(words: Words, scheme: str) -> Roles:
    """The role of every letter of every word."""
    return words.syllables if scheme == SYLLABLES else [BY_FORM[scheme](f) for f in words.forms]


def permute(words: Words, scheme: str, roles: Roles, rng: np.random.Generator) -> Roles:
    """Control: roles permuted within words; those of syllables among words of equal length."""
    if scheme != SYLLABLES:
        return [list(rng.permutation(source)) for source in roles]
    changed = list(roles)
    for length in np.unique(words.lengths):
        indices = np.flatnonzero(words.lengths == length)
        for to, roles_of_word in zip(indices, rng.permutation(indices), strict=True):
            changed[to] = roles[roles_of_word]
    return changed


def pair_up(forms: Sequence[str], roles: Roles) -> list[list[tuple[str, str]]]:
    """The (letter, role) pairs of every word; a letter of two roles, with a + between, is in two pairs."""
    return [
        [
            (letter, role)
            for letter, joined in zip(form, roles_of_word, strict=True)
            for role in joined.split("+")
        ]
        for form, roles_of_word in zip(forms, roles, strict=True)
    ]


def choose_tested(words: Words, seed: int) -> Bool[np.ndarray, " word"]:
    """The words of a fifth of the lemmas, which no fit sees."""
    folds = np.random.default_rng(seed).permutation(words.groups.max() + 1) % TESTED
    return folds[words.groups] == 0


def fit_roles(
    words: Words,
    states: States,
    tested: Bool[np.ndarray, " word"],
    roles: Roles,
    family: str,
    seed: int,
) -> TPDecomposition:
    """The fit of these roles to the states of words that are not tested."""
    pairs = [
        p for p, is_tested in zip(pair_up(words.forms, roles), tested, strict=True) if not is_tested
    ]
    return TPDecomposition(family=family, random_state=seed).fit(pairs, states[~tested])


def measure_seed(
    model: Pronouncer, words: Words, states: States, runs: Path, seed: int
) -> dict[str, pd.DataFrame]:
    """The tables of one split: words (a row a tested word and fit), and surgery (a row a word, scheme and edit)."""
    tested = choose_tested(words, seed)
    jobs = []
    for fit_name in FITS:
        name = "-".join(filter(None, fit_name)).replace("*", "-")
        make = partial(_measure_fit, model, words, states, tested, fit_name, seed)
        jobs.append(Part(runs / f"seed-{seed}" / name, make))
        jobs[-1].finish()
    return {name: join_parts(jobs, name) for name in ("words", "surgery")}


def _measure_fit(
    model: Pronouncer,
    words: Words,
    states: States,
    tested: Bool[np.ndarray, " word"],
    fit_name: tuple[str, str, str],
    seed: int,
) -> dict[str, pd.DataFrame]:
    scheme, family, control = fit_name
    roles = label(words, scheme)
    if control:
        roles = permute(words, scheme, roles, np.random.default_rng(seed))
    fit = fit_roles(words, states, tested, roles, family, seed)
    indices = np.flatnonzero(tested)
    pairs = pair_up(words.forms, roles)
    encoded = fit.encode([pairs[i] for i in indices])
    spoken = speak(model, encoded)
    middle = states[~tested].mean(0)
    columns = {"roles": scheme, "family": family, "control": control, "seed": seed}
    rows = pd.DataFrame(
        {
            "form": [words.forms[i] for i in indices],
            "lemma": words.groups[indices],
            "regular": words.regular[indices],
            "length": words.lengths[indices],
            "kept": [s == words.sounds[i] for s, i in zip(spoken, indices, strict=True)],
            "error": ((states[indices] - encoded) ** 2).sum(1),
            "total": ((states[indices] - middle) ** 2).sum(1),
        }
    ).assign(**columns)
    surgery = pd.DataFrame()
    if scheme in SURGERY and family == "saturated" and not control:
        surgery = operate(model, words, states, indices, fit, scheme, seed).assign(**columns)
    return {"words": rows, "surgery": surgery}


def operate(
    model: Pronouncer,
    words: Words,
    states: States,
    indices: np.ndarray,
    fit: TPDecomposition,
    scheme: str,
    seed: int,
) -> pd.DataFrame:
    """One letter of every tested word exchanged in its state: what the decoder says then.

    Vowels become vowels, consonants consonants; words that the network says alike afterwards are left out.
    ``exact`` is what the network says of the other word.
    """
    rng = np.random.default_rng(1000 + seed)
    places = [int(rng.integers(len(words.forms[i]))) for i in indices]
    elsewhere = [
        int((p + rng.integers(1, len(words.forms[i]))) % len(words.forms[i]))
        for p, i in zip(places, indices, strict=True)
    ]
    changed = [_exchange(words.forms[i], p, rng) for i, p in zip(indices, places, strict=True)]
    expected = pronounce(model, changed)
    pairs = pair_up(words.forms, label(words, scheme))
    before = [pairs[i] for i in indices]
    after = pair_up(changed, _relabel(words, scheme, changed, indices))
    move = fit.encode(after) - fit.encode(before)
    wrong = [
        fit.encode([[(after_pairs[p], before_pairs[q][1])]])
        - fit.encode([[(before_pairs[p][0], before_pairs[q][1])]])
        for after_pairs, before_pairs, p, q in zip(changed, before, places, elsewhere, strict=True)
    ]
    noise = rng.normal(size=move.shape)
    noise *= np.linalg.norm(move, axis=1, keepdims=True) / np.linalg.norm(
        noise, axis=1, keepdims=True
    )
    edits = {"exchange": move, "elsewhere": np.concatenate(wrong), "random": noise}
    edits["none"] = np.zeros_like(move)
    spoken = {name: speak(model, states[indices] + moved) for name, moved in edits.items()}
    spoken["other word"] = expected
    rows = [
        {
            "form": words.forms[i],
            "changed": changed[k],
            "lemma": words.groups[i],
            "edit": name,
            "exact": phonemes[k] == expected[k],
        }
        for k, i in enumerate(indices)
        if expected[k] != words.sounds[i]
        for name, phonemes in spoken.items()
    ]
    return pd.DataFrame(rows)


def _exchange(form: str, place: int, rng: np.random.Generator) -> str:
    kind = VOWELS if form[place] in VOWELS else CONSONANTS
    letter = str(rng.choice([c for c in kind if c != form[place]]))
    return form[:place] + letter + form[place + 1 :]


def _relabel(words: Words, scheme: str, changed: Sequence[str], indices: np.ndarray) -> Roles:
    """Roles of the changed words; the places in syllables stay those of the words before."""
    if scheme == SYLLABLES:
        return [words.syllables[i] for i in indices]
    return [BY_FORM[scheme](form) for form in changed]


def summarize(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a fit and seed: R² and the share of pronunciations that are kept, with intervals over lemmas."""
    table_rows = []
    for key, fit_rows in rows.groupby(
        ["roles", "family", "control", "seed"], sort=False, dropna=False
    ):
        columns = dict(zip(("roles", "family", "control", "seed"), key, strict=True))
        preserved = bootstrap_mean(fit_rows["kept"].to_numpy(float), fit_rows["lemma"].to_numpy())
        r2 = bootstrap(error_sums(fit_rows, "error", "total"), lambda t: 1 - t[:, 0] / t[:, 1])
        table_rows.append(
            columns | {"n": len(fit_rows)} | r2.columns("r2") | preserved.columns("kept")
        )
    return pd.DataFrame(table_rows)


def summarize_surgery(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a scheme, edit and seed: the share of exact changes, with intervals over lemmas."""
    table_rows = []
    for key, edit_rows in rows.groupby(["roles", "edit", "seed"], sort=False):
        columns = dict(zip(("roles", "edit", "seed"), key, strict=True))
        exact = bootstrap_mean(edit_rows["exact"].to_numpy(float), edit_rows["lemma"].to_numpy())
        table_rows.append(columns | {"n": len(edit_rows)} | exact.columns("exact"))
    return pd.DataFrame(table_rows)


def error_sums(rows: pd.DataFrame, *columns: str) -> np.ndarray:
    return group_sums(rows[list(columns)].to_numpy(float), rows["lemma"].to_numpy())


def pick_fit(
    rows: pd.DataFrame, roles: str, family: str = "saturated", control: str = ""
) -> pd.DataFrame:
    is_scheme = (rows["roles"] == roles) & (rows["family"] == family)
    return rows[is_scheme & (rows["control"] == control)].reset_index(drop=True)


def subtract_fits(fit: pd.DataFrame, second: pd.DataFrame, weight: float = 1.0) -> Interval:
    """Pronunciations kept by one fit minus by another (times a weight), the same words."""
    assert (fit["form"] == second["form"]).all()
    value = fit["kept"].to_numpy(float) - weight * second["kept"].to_numpy(float)
    return bootstrap_mean(value, fit["lemma"].to_numpy())


def subtract_irregular(rows: pd.DataFrame) -> Interval:
    """Kept pronunciations of regular minus of irregular words, every length weighing as it occurs."""
    lengths = [
        n for n, length_rows in rows.groupby("length") if length_rows["regular"].nunique() == 2
    ]
    cells = []
    for n in lengths:
        for rule in (True, False):
            inside = ((rows["length"] == n) & (rows["regular"] == rule)).to_numpy(float)
            cells += [inside * rows["kept"], inside]
    sums = group_sums(np.stack(cells, 1), rows["lemma"].to_numpy())

    def statistic(totals: np.ndarray) -> np.ndarray:
        preserved, n = totals.reshape(len(totals), len(lengths), 2, 2).transpose(3, 0, 1, 2)
        share = np.divide(preserved, n, out=np.zeros_like(preserved), where=n > 0)
        weight = n.sum(2) * (n > 0).all(2)
        return ((share[..., 0] - share[..., 1]) * weight).sum(1) / weight.sum(1)

    return bootstrap(sums, statistic)
