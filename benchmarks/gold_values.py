"""Gold structure against the data set's own answers: `python benchmarks/gold_values.py [questions]`.

For every arithmetic module: is the exact value of our parse the answer, and do the numerators over
the denominators of every term, signed and added, give it again (where no sum is in a product)?
"""

import sys
import time
from collections import defaultdict
from fractions import Fraction

import pandas as pd

from tprprobe.data import load_data
from tprprobe.gold import annotate, evaluate, tally

MODULES = ("mixed", "mul_div_multiple", "add_sub_multiple", "add_or_sub", "mul", "div")
SPLITS = ("train-easy", "train-medium", "train-hard", "interpolate", "extrapolate")
COLUMNS = ["module", "question", "answer"]


def flat(structure: pd.DataFrame) -> set[int]:
    """The questions that are expressions in which no sum stands inside a product."""
    nested = structure.query("kind == 'op' and char in ['+', '-'] and parent in ['*', '/']")
    return set(structure.query("kind == 'digit'")["question"]) - set(nested["question"])


def recombine(structure: pd.DataFrame) -> dict[int, Fraction]:
    """Σ of ± Π numerators / Π denominators over the terms of every flat question."""
    characters = structure.query("kind in ['digit', 'point'] and question in @flat(@structure)")
    groups = characters.groupby(["question", "number"])
    texts = groups["char"].agg("".join)
    roles = [groups[name].first().to_list() for name in ("term", "add_sign", "polarity", "neg")]
    terms: dict[tuple[int, int], Fraction] = {}
    for (question, _), text, term, sign, polarity, neg in zip(
        texts.index, texts, *roles, strict=True
    ):
        value = Fraction(-1 if neg else 1) * Fraction(text)
        factor = value if polarity == "numerator" else 1 / value
        terms[question, term] = terms.get((question, term), Fraction(sign)) * factor
    totals: dict[int, Fraction] = defaultdict(Fraction)
    for (question, _), term in terms.items():
        totals[question] += term
    return totals


def verify(questions: list[str], answers: list[str]) -> dict[str, int]:
    """How many questions of each sort there are, and how many values are not the answer."""
    structure = annotate(questions)
    expressions = sorted(set(structure.query("kind == 'digit'")["question"]))
    recombined = recombine(structure)
    wrong = sum(evaluate(questions[row]) != Fraction(answers[row]) for row in expressions)
    n_wrongly = sum(value != Fraction(answers[row]) for row, value in recombined.items())
    return tally(structure) | {"wrong": wrong, "recombined": len(recombined), "wrongly": n_wrongly}


def main(total: int) -> None:
    """Prints the table of all modules and splits."""
    spec = "mathematics:" + "+".join(f"arithmetic__{module}" for module in MODULES)
    print(
        "| module, split | parsed | worded | unparsed | wrong | recombined | wrongly | a second |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for split in SPLITS:
        data = load_data(spec, split=split, n=total // len(SPLITS), workers=2)
        rows = pd.DataFrame([(x.module, x.question, x.answer) for x in data], columns=COLUMNS)
        for module, module_rows in rows.groupby("module", sort=False):
            questions, answers = module_rows["question"].to_list(), module_rows["answer"].to_list()
            start = time.perf_counter()
            annotate(questions)
            speed = len(module_rows) / (time.perf_counter() - start)
            counts = " | ".join(str(count) for count in verify(questions, answers).values())
            print(f"| {module}, {split} | {counts} | {speed:.0f} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
