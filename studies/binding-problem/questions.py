"""The questions of the short recipe: products and quotients of four digits, in published files.

    python studies/binding-problem/questions.py runs/fractions

Every structure below with all digits from 1 to 9, in one of the dataset's five templates, except
what `tprprobe binding` asks: (a/b)/(c/d) of four different digits is in no training question.
``interpolate`` asks 1,000 of these.
"""

import argparse
from fractions import Fraction
from itertools import product
from pathlib import Path

import numpy as np

PROBED, REPEATS = "({}/{})/({}/{})", 3
STRUCTURES = (
    *[PROBED] * REPEATS,
    "{}/{}/({}/{})",
    "({}/{})*({}/{})",
    "{}/({}/({}/{}))",
    "{}*{}/({}*{})",
    "({}*{})/({}/{})",
    "({}/{})/({}*{})",
)
TEMPLATES = ("{}", "What is {}?", "Evaluate {}.", "Calculate {}.", "What is the value of {}?")


def value(expression: str) -> Fraction:
    """Exact, with digits as fractions."""
    digits = "".join(
        f"F({character})" if character.isdigit() else character for character in expression
    )
    return eval(digits, {"F": Fraction})


def ask(structure: str, digits: tuple[int, ...], rng: np.random.Generator) -> str:
    expression = structure.format(*digits)
    template = TEMPLATES[rng.integers(len(TEMPLATES))]
    return f"{template.format(expression)}\n{value(expression)}\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    rng = np.random.default_rng(0)
    quadruples = list(product(range(1, 10), repeat=4))
    different = [quadruple for quadruple in quadruples if len({*quadruple}) == 4]
    training = [
        ask(structure, digits, rng)
        for structure in STRUCTURES
        for digits in quadruples
        if structure != PROBED or len({*digits}) < 4
    ]
    indices = rng.permutation(len(different))[:1000]
    held_out_questions = [ask(PROBED, different[index], rng) for index in indices]
    for split, questions in (
        ("train-easy", rng.permutation(training)),
        ("interpolate", held_out_questions),
    ):
        (folder / split).mkdir(parents=True, exist_ok=True)
        (folder / split / "arithmetic__mul_div_multiple.txt").write_text("".join(questions))


if __name__ == "__main__":
    main()
