"""Sentences of the study's frames, the same words in every clause, as a table with roles and paraphrases."""

import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from pathlib import Path
from typing import Any

import numpy as np
import tomli_w

import tprprobe as tp
from tprprobe.data.frames.grammar import FOLDER as SHIPPED
from tprprobe.files.writing import write_file

FRAMES = Path(__file__).with_name("frames")
SIZES = {
    "person": 12,
    "acted": 4,
    "handed": 2,
    "thing": 2,
    "preposition": 6,
}  # words of a list that are drawn
NONE = "-"  # the role of a word that no slot is filled with


def draw_frame(name: str, seed: int, out: Path, sizes: Mapping[str, int] = SIZES) -> Path:
    """The frame of a name with words that a seed draws from the shipped lists, as a file."""
    shipped = tomllib.loads((SHIPPED / "words.toml").read_text("utf-8"))
    frame = tomllib.loads((FRAMES / f"{name}.toml").read_text("utf-8"))
    rng = np.random.default_rng(seed)
    frame["words"] = {
        key: _draw(shipped[key], sizes[key], rng) for key in dict.fromkeys(frame["slots"].values())
    }
    return write_file(out / f"{name}-{seed}.toml", tomli_w.dumps(frame))


def _draw(listed: Mapping[str, Any], n: int, rng: np.random.Generator) -> dict[str, Any]:
    words = [word.strip() for word in listed["words"].split(",")]
    indices = rng.choice(len(words), n, replace=False)
    return {**listed, "words": ", ".join(words[i] for i in sorted(indices))}


@dataclass(frozen=True, eq=False)
class Clauses:
    """Sentences with the roles of their words; two that follow one another are each other's exchange.

    clause   the sentence with roles for its words: paraphrases of one set of words differ in it
    """

    data: Any

    def __len__(self) -> int:
        return len(self.data)

    @property
    def texts(self) -> list[str]:
        """The sentences."""
        return [example.source for example in self.examples]

    def of(self, items: Sequence[int]) -> "Clauses":
        """The sentences of some items, a sentence and its exchange each."""
        items_here = tuple(self.data.items[i] for i in items)
        return Clauses(replace(self.data, items=items_here, rows=range(2 * len(items_here))))

    def pairs(self, task: str | None) -> list[list[tuple[str, str]]]:
        """The (word, role) pairs of every sentence by a task; without one, all words have the same role."""
        roles = self.roles(task) if task else [[""] * len(w) for w in self.words]
        return [list(zip(w, r, strict=True)) for w, r in zip(self.words, roles, strict=True)]

    @cached_property
    def examples(self) -> list[Any]:
        """The sentences as data."""
        return list(self.data)

    @cached_property
    def words(self) -> list[tuple[str, ...]]:
        """The words of every sentence, in lower case."""
        return [tuple(w.lower() for w in e.sentence.words) for e in self.examples]

    def roles(self, task: str = "role") -> list[list[str]]:
        """The label of every word of every sentence by a task: role or place."""
        roles = []
        for e in self.examples:
            labels = [NONE] * len(e.sentence.words)
            for target in e.sentence.targets[task]:
                labels[target.span1[0]] = target.label
            roles.append(labels)
        return roles

    @cached_property
    def clauses(self) -> list[str]:
        """The clause of every sentence."""
        return [
            " ".join(
                word if role == NONE else role.upper() for word, role in zip(w, r, strict=True)
            )
            for w, r in zip(self.words, self.roles(), strict=True)
        ]

    @cached_property
    def content(self) -> list[dict[str, str]]:
        """The word of every role of every sentence."""
        return [
            {role: word for word, role in zip(w, r, strict=True) if role != NONE}
            for w, r in zip(self.words, self.roles(), strict=True)
        ]

    @cached_property
    def sets(self) -> np.ndarray:
        """The set of content words of every sentence, as a number: its exchange and paraphrases share it."""
        return _number([tuple(sorted(c.values())) for c in self.content])

    @cached_property
    def persons(self) -> np.ndarray:
        """The two words that change places in every sentence, as a number, in any order."""
        return _number([tuple(sorted((c["agent"], c["patient"]))) for c in self.content])

    @cached_property
    def exchange(self) -> np.ndarray:
        """Where the exchange of every sentence stands."""
        return np.arange(len(self)) ^ 1

    @cached_property
    def place_of(self) -> dict[tuple[int, str, str], int]:
        """Where a sentence stands: by its set of words, its clause, and its agent."""
        agents = [c["agent"] for c in self.content]
        return {
            key: i
            for i, key in enumerate(zip(self.sets.tolist(), self.clauses, agents, strict=True))
        }


def _number(keys: list[tuple[str, ...]]) -> np.ndarray:
    numbers = dict(zip(dict.fromkeys(keys), count()))
    return np.array([numbers[key] for key in keys])


def read_clauses(name: str, seed: int, out: Path) -> Clauses:
    """All sentences of a frame with the words of a seed."""
    path = draw_frame(name, seed, out)
    frame = tomllib.loads(path.read_text("utf-8"))
    lists = list(frame["slots"].values())
    orders = [SIZES[key] - lists[:i].count(key) for i, key in enumerate(lists)]
    texts = len(frame["patterns"]) * math.prod(orders)
    return Clauses(tp.load_data(f"pairs:{path}", n=texts, seed=seed))
