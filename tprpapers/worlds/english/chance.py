"""Draws that are the same in every version of Python."""

from collections.abc import Mapping, Sequence
from random import Random
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Draws that a key determines; only `Random.random` is promised never to change."""

    def __init__(self, key: str) -> None:
        self.random = Random(key).random

    def below(self, n: int) -> int:
        return int(self.random() * n)

    def happens(self, probability: float) -> bool:
        return self.random() < probability

    def pick(self, choices: Sequence[T]) -> T:
        return choices[int(self.random() * len(choices))]

    def weighted(self, weights: Mapping[T, float]) -> T:
        """A key, as likely as its weight."""
        remainder = self.random() * sum(weights.values())
        for choice, weight in weights.items():
            remainder -= weight
            if remainder < 0:
                return choice
        return list(weights)[-1]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        order = sorted((self.random(), i) for i in range(len(items)))
        return [items[i] for _, i in order]
