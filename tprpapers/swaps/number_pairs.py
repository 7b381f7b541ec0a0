"""Pairs of numbers, or digits, whose roles can change places: what the new question would be.

A swap exchanges vectors at positions of equal count; the counterfactual is the question in which the
symbols have changed places instead, and its answer is exact arithmetic. Kinds:

    polarity       a numerator and a denominator of one multiplicative term
    argument       the first and the second argument of a binary minus
    place          the ones and the tens digit of one number
and, of which the answer must not change:
    same polarity  two numerators or two denominators of one term
    sum            the two arguments of a plus
"""

from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import combinations
from typing import Any

import numpy as np
import pandas as pd

from tprpapers.worlds.mathematics.formulas import parse
from tprprobe.errors import InputError, unknown
from tprprobe.gold import annotate, evaluate

PAIRS = {  # as a page calls them
    "polarity": "numerator and denominator",
    "argument": "the two sides of a minus",
    "place": "ones and tens",
    "same polarity": "two numerators or two denominators",
    "sum": "the two sides of a plus",
}
VECTORS = ("role", "filler", "key", "binding", "hidden")  # that are exchanged
CHANGING = ("polarity", "argument", "place")
HARMLESS = ("same polarity", "sum")
KINDS = CHANGING + HARMLESS
COLUMNS = (
    *("question", "kind", "text", "answer", "first", "second", "counterfactual", "predicted"),
    *("elsewhere", "alike"),
)

FIELDS = ["question", "number", "position", "polarity", "term", "parent", "parent_position", "neg"]
FIELDS += ["surface_polarity"]
Number = dict[str, Any]  # of a question: the positions of its digits, and its gold fields
Pair = tuple[tuple[int, ...], tuple[int, ...]]  # two sets of positions that change places


def find_swaps(
    questions: Sequence[str], kinds: Sequence[str] = KINDS, seed: int = 0
) -> pd.DataFrame:
    """Pairs of numbers in questions whose exchange has an exact counterfactual answer.

    Both numbers are whole, have as many digits, and both or neither have a sign. Questions without a pair are left out.

    Args:
        questions: The questions, arithmetic that :func:`tprprobe.gold.arithmetic` reads.
        kinds: The kinds of pairs: ``polarity`` (a numerator and a denominator), ``argument``, ``place``, ``same polarity``, ``sum``.
        seed: Seed of the choice among pairs.

    Returns:
        One row per question and kind: one pair, drawn at random; see [columns](interventions.md#columns-of-swaps).

    Raises:
        InputError: An unknown kind.

    Examples:
        >>> find_swaps(["Calculate 2/3."], ["polarity"])[["counterfactual", "predicted"]].values.tolist()
        [['Calculate 3/2.', '3/2']]
    """
    if wrong := [kind for kind in kinds if kind not in KINDS]:
        raise unknown("kind of swap", wrong[0], KINDS)
    rng, rows = np.random.default_rng(seed), []
    others = rng.spawn(1)[0]
    for question, numbers in _numbers(annotate(questions)).items():
        text, answer = questions[question], evaluate(questions[question])
        whole = [each for each in numbers if all(text[at].isdigit() for at in each["positions"])]
        for kind in kinds:
            pairs = list(_pairs(kind, whole))
            drawn = (pairs[i] for i in rng.permutation(len(pairs)))
            new = (each for each in drawn if _is_new(kind, text, answer, *each))
            if pair := next(new, None):
                other = exchanged(text, *pair)
                shift = _shift(text, pair, rng)
                alike = _find_alike(kind, text, pair, whole, others)
                answers = str(answer), *pair, other, str(evaluate(other))
                rows.append((question, kind, text, *answers, shift, alike))
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def list_exchanges(text: str) -> list[tuple[str, int, int]]:
    """A pair of every kind that a question has, in words, and the first positions of both; none for other texts."""
    try:
        found = find_swaps([text]).to_dict("records")
    except InputError:
        return []
    return [
        (
            f"{_spell(text, each['first'])} ↔ {_spell(text, each['second'])}: {PAIRS[each['kind']]}",
            each["first"][0],
            each["second"][0],
        )
        for each in found
    ]


def _spell(text: str, at: Sequence[int]) -> str:
    return "".join(text[each] for each in sorted(at))


def _numbers(annotated: pd.DataFrame) -> dict[int, list[Number]]:
    """The numbers of every question that has any."""
    marks = annotated.loc[annotated["number"].notna(), FIELDS].astype(object)
    marks = marks.where(marks.notna(), None)
    found: dict[int, dict[int, Number]] = {}
    records: Any = marks.to_dict("records")
    for row in records:
        numbers = found.setdefault(row["question"], {})
        number = numbers.setdefault(row["number"], {**row, "positions": ()})
        number["positions"] += (row["position"],)
    return {question: list(numbers.values()) for question, numbers in found.items()}


def _pairs(kind: str, numbers: list[Number]) -> Iterator[Pair]:
    """The positions of the pairs of a kind."""
    if kind == "place":
        yield from (
            (at["positions"][-1:], at["positions"][-2:-1])
            for at in numbers
            if len(at["positions"]) > 1
        )
        return
    for one, other in combinations(numbers, 2):
        alike = len(one["positions"]) == len(other["positions"]) and one["neg"] == other["neg"]
        if alike and _relates(kind, one, other):
            yield one["positions"], other["positions"]


def _relates(kind: str, one: Number, other: Number) -> bool:
    term = one["term"] == other["term"]
    if kind in ("polarity", "same polarity"):
        return term and (one["polarity"] == other["polarity"]) == (kind == "same polarity")
    siblings = (
        one["parent_position"] is not None and one["parent_position"] == other["parent_position"]
    )
    return siblings and one["parent"] == {"argument": "-", "sum": "+"}[kind]


def exchanged(text: str, first: Sequence[int], second: Sequence[int]) -> str:
    """The text in which the symbols at these positions have changed places."""
    symbols = list(text)
    for one, other in zip(first, second, strict=True):
        symbols[one], symbols[other] = symbols[other], symbols[one]
    return "".join(symbols)


def _is_new(
    kind: str, text: str, answer: Fraction, first: tuple[int, ...], second: tuple[int, ...]
) -> bool:
    """True if the exchange makes another question, with the same answer or another one, as its kind asks."""
    other = exchanged(text, first, second)
    if other == text or (kind == "place" and other[second[0]] == "0"):
        return False
    try:
        return (evaluate(other) == answer) == (kind in HARMLESS)
    except InputError:  # it divides by zero
        return False


def _find_alike(
    kind: str, text: str, pair: Pair, numbers: list[Number], rng: np.random.Generator
) -> Pair:
    """A random pair off the given one that stands as it does: of ones and tens, or of two numbers of
    as many digits each, of which the surface rule (denominator if right after '/') says the same.
    """
    standing = {each["positions"]: each["surface_polarity"] for each in numbers}
    if kind == "place":
        found = list(_pairs(kind, numbers))
    else:
        found = [
            two
            for two in combinations(standing, 2)
            if len(two[0]) == len(two[1])
            and [standing[each] for each in two] == [standing[each] for each in sorted(pair)]
        ]
    own = {*pair[0], *pair[1]}
    free = [
        two for two in found if own.isdisjoint(two[0] + two[1]) and exchanged(text, *two) != text
    ]
    return free[rng.integers(len(free))] if free else ((), ())


def _shift(text: str, pair: Pair, rng: np.random.Generator) -> int:
    """A random shift of both positions within the expression, off both of them; 0 if there is none."""
    expression, both = parse(text), pair[0] + pair[1]
    start, inside = (0, text) if expression is None else (expression.start, expression.text)
    shifts = []
    for shift in range(start - min(both), start + len(inside) - max(both)):
        first, second = ([at + shift for at in each] for each in pair)
        if {*both}.isdisjoint(first + second) and exchanged(text, first, second) != text:
            shifts.append(shift)
    return int(rng.choice(shifts)) if shifts else 0


def encoder_vectors(site: str) -> str | None:
    """The kind of an encoder's vectors, as the last word of their site; None for other sites."""
    return site.rpartition(".")[2] if site.startswith("encoder.") else None


def vectors_of(site: str) -> str | None:
    """The kind of encoder vectors at a site, as a word; None for sites that are not exchanged."""
    if (kind := encoder_vectors(site)) is not None:
        return kind if kind in VECTORS else None
    return "embedding role" if site == "embedding.role" else None
