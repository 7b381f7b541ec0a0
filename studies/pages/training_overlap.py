"""Questions whose expression the training set has in other words (`Calculate …` for `What is …`).

No question of `small-test` is in `small`: both are halves by hash of whole questions, with their words.
"""

from collections.abc import Sequence

import pandas as pd

from tprpapers.worlds.mathematics.formulas import QUESTION
from tprprobe.data import load_data
from tprprobe.training.recipes import Mix, Recipe


def list_training(recipe: Recipe) -> list[Mix]:
    """The parts of a recipe's training set, each as large as its largest stage asks."""
    mixes = [mix for stage in recipe.stages for mix in stage.mix]
    largest: dict[tuple, Mix] = {}
    for mix in sorted(mixes, key=lambda mix_: mix_.n or 0):
        largest[mix.data, mix.split, mix.seed] = mix
    return list(largest.values())


def mark_trained(questions: Sequence[str], mixes: Sequence[Mix]) -> pd.DataFrame:
    """One row per question: whether a question of these parts has its expression (``trained``)."""
    expressions = pd.Series([_expression(question) for question in questions], dtype=str)
    unseen, seen_expressions = {*expressions} - {""}, set()
    for mix in mixes:
        data = load_data(mix.data, split=mix.split, n=mix.n, seed=mix.seed)
        seen_expressions |= unseen.intersection(_expression(example.source) for example in data)
    return pd.DataFrame(
        {"question": list(questions), "trained": expressions.isin(seen_expressions)}
    )


def _expression(question: str) -> str:
    """The expression without its words; an empty text for a question in other words altogether."""
    match = QUESTION.fullmatch(question)
    return match[2] if match else ""
