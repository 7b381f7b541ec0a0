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
    control_rng = rng.spawn(1)[0]
    for question, numbers in _numbers(annotate(questions)).items():
        text, answer = questions[question], evaluate(questions[question])
        unsigned_numbers = [
            number
            for number in numbers
            if all(text[position].isdigit() for position in number["positions"])
        ]
        for kind in kinds:
            pairs = list(_pairs(kind, unsigned_numbers))
            shuffled = (pairs[i] for i in rng.permutation(len(pairs)))
            valid_pairs = (
                candidate for candidate in shuffled if _is_new(kind, text, answer, *candidate)
            )
            if pair := next(valid_pairs, None):
                counterfactual = exchange_symbols(text, *pair)
                shift = _shift(text, pair, rng)
                alike = _find_alike(kind, text, pair, unsigned_numbers, control_rng)
                answers = str(answer), *pair, counterfactual, str(evaluate(counterfactual))
                rows.append((question, kind, text, *answers, shift, alike))
    return pd.DataFrame(rows, columns=pd.Index(COLUMNS))


def list_exchanges(text: str) -> list[tuple[str, int, int]]:
    """A pair of every kind that a question has, in words, and the first positions of both; none for other texts."""
    try:
        exchanges = find_swaps([text]).to_dict("records")
    except InputError:
        return []
    return [
        (
            f"{_spell(text, exchange['first'])} ↔ {_spell(text, exchange['second'])}: {PAIRS[exchange['kind']]}",
            exchange["first"][0],
            exchange["second"][0],
        )
        for exchange in exchanges
    ]


def _spell(text: str, positions: Sequence[int]) -> str:
    return "".join(text[position] for position in sorted(positions))


def _numbers(annotated: pd.DataFrame) -> dict[int, list[Number]]:
    """The numbers of every question that has any."""
    marks = annotated.loc[annotated["number"].notna(), FIELDS].astype(object)
    marks = marks.where(marks.notna(), None)
    numbers_by_question: dict[int, dict[int, Number]] = {}
    records: Any = marks.to_dict("records")
    for row in records:
        numbers = numbers_by_question.setdefault(row["question"], {})
        number = numbers.setdefault(row["number"], {**row, "positions": ()})
        number["positions"] += (row["position"],)
    return {question: list(numbers.values()) for question, numbers in numbers_by_question.items()}


def _pairs(kind: str, numbers: list[Number]) -> Iterator[Pair]:
    """The positions of the pairs of a kind."""
    if kind == "place":
        yield from (
            (number["positions"][-1:], number["positions"][-2:-1])
            for number in numbers
            if len(number["positions"]) > 1
        )
        return
    for a, b in combinations(numbers, 2):
        alike = len(a["positions"]) == len(b["positions"]) and a["neg"] == b["neg"]
        if alike and _relates(kind, a, b):
            yield a["positions"], b["positions"]


def _relates(kind: str, a: Number, b: Number) -> bool:
    term = a["term"] == b["term"]
    if kind in ("polarity", "same polarity"):
        return term and (a["polarity"] == b["polarity"]) == (kind == "same polarity")
    siblings = a["parent_position"] is not None and a["parent_position"] == b["parent_position"]
    return siblings and a["parent"] == {"argument": "-", "sum": "+"}[kind]


def exchange_symbols(text: str, positions_a: Sequence[int], positions_b: Sequence[int]) -> str:
    """The text in which the symbols at these positions have changed places."""
    symbols = list(text)
    for i, j in zip(positions_a, positions_b, strict=True):
        symbols[i], symbols[j] = symbols[j], symbols[i]
    return "".join(symbols)


def _is_new(
    kind: str,
    text: str,
    answer: Fraction,
    positions_a: tuple[int, ...],
    positions_b: tuple[int, ...],
) -> bool:
    """True if the exchange makes another question, with the same answer or another one, as its kind asks."""
    counterfactual = exchange_symbols(text, positions_a, positions_b)
    if counterfactual == text or (kind == "place" and counterfactual[positions_b[0]] == "0"):
        return False
    try:
        return (evaluate(counterfactual) == answer) == (kind in HARMLESS)
    except InputError:  # it divides by zero
        return False


def _find_alike(
    kind: str, text: str, pair: Pair, numbers: list[Number], rng: np.random.Generator
) -> Pair:
    """A random pair off this one: of ones and tens, or of as long numbers of the same surface polarity."""
    surface_polarity = {number["positions"]: number["surface_polarity"] for number in numbers}
    if kind == "place":
        candidates = list(_pairs(kind, numbers))
    else:
        candidates = [
            candidate
            for candidate in combinations(surface_polarity, 2)
            if len(candidate[0]) == len(candidate[1])
            and [surface_polarity[positions] for positions in candidate]
            == [surface_polarity[positions] for positions in sorted(pair)]
        ]
    pair_positions = {*pair[0], *pair[1]}
    free = [
        candidate
        for candidate in candidates
        if pair_positions.isdisjoint(candidate[0] + candidate[1])
        and exchange_symbols(text, *candidate) != text
    ]
    return free[rng.integers(len(free))] if free else ((), ())


def _shift(text: str, pair: Pair, rng: np.random.Generator) -> int:
    """A random shift of both positions within the expression, off both of them; 0 if there is none."""
    expression, positions = parse(text), pair[0] + pair[1]
    start, expression_text = (
        (0, text) if expression is None else (expression.start, expression.text)
    )
    shifts = []
    for shift in range(start - min(positions), start + len(expression_text) - max(positions)):
        shifted_a, shifted_b = ([position + shift for position in digits] for digits in pair)
        is_free = {*positions}.isdisjoint(shifted_a + shifted_b)
        if is_free and exchange_symbols(text, shifted_a, shifted_b) != text:
            shifts.append(shift)
    return int(rng.choice(shifts)) if shifts else 0


def encoder_vectors(site: str) -> str | None:
    """The kind of an encoder's vectors, as the last word of their site; None for other sites."""
    return site.rpartition(".")[2] if site.startswith("encoder.") else None


def vector_kind(site: str) -> str | None:
    """The kind of encoder vectors at a site, as a word; None for sites that are not exchanged."""
    if (kind := encoder_vectors(site)) is not None:
        return kind if kind in VECTORS else None
    return "embedding role" if site == "embedding.role" else None
