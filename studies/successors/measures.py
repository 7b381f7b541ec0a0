"""What is measured of a model: its answers, how much its states bind, and what an exchange of designed roles changes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

import tprprobe as tp
from tprpapers.successors.programs import NUMBERS, translate
from tprpapers.successors.trees import FUNCTIONS, list_nodes
from tprprobe.data.pairs import Pairs, encode_pairs, encode_texts
from tprprobe.estimators.bindings.components import BindingComponents
from tprprobe.models.answers import exact_matches
from tprprobe.models.protocol import Model, require_vocabulary

N_SAMPLES, N_ANSWERED = 1500, 500  # sequences whose states are read, and those that are answered
SHARE_SEED, ROLE = 0, "encoder.0.role"
Binding = tuple[str, str]  # a filler and its designed role


@dataclass(frozen=True)
class Sample:
    """The sequences of a split, with the steps at which a filler is read and its designed role."""

    task: str
    sources: Sequence[Sequence[str]]
    targets: Sequence[Sequence[str]]

    @classmethod
    def load(cls, task: str, data: str, split: str) -> "Sample":
        examples = list(tp.load_data(data, split=split, n=N_SAMPLES, seed=0))
        return cls(task, [e.source.split() for e in examples], [e.target.split() for e in examples])

    @property
    def n_bound(self) -> int:
        """The most fillers of a sequence."""
        return max(len(self.bindings(row)) for row in range(len(self.sources)))

    def bindings(self, row: int) -> list[Binding]:
        """Values with their cues, digits with their places, the letters of an answer with their nodes in it, places with the persons
        who are there, or numbers with their places in a program.
        """
        symbols = self.targets[row] if self.task == "trees" else self.sources[row]
        if self.task == "recall":
            return [(symbols[i + 1], symbols[i]) for i in range(0, len(symbols) - 2, 2)]
        if self.task == "stories":
            return [(symbols[step], symbols[step - 2]) for step in self.list_steps(row)]
        if self.task == "programs":
            return bind_numbers(symbols)
        return [(symbol, str(place)) for place, symbol in enumerate(symbols)]

    def list_steps(self, row: int) -> list[int]:
        """The positions at which the fillers are read."""
        symbols = self.sources[row]
        if self.task == "programs":
            return [step for step, symbol in enumerate(symbols) if symbol in NUMBERS]
        if self.task == "stories":
            arrivals = {
                symbols[i]: i + 2 for i in range(0, len(symbols), 3) if symbols[i + 1] == "goes"
            }
            return list(arrivals.values())
        if self.task == "recall":
            return list(range(1, len(symbols) - 2, 2))
        return list(range(1 if self.task == "trees" else 0, len(symbols)))  # a function comes first

    @property
    def last_step(self) -> int:
        """The position after which all fillers of the longest sources are bound."""
        longest = max(range(len(self.sources)), key=lambda row: len(self.sources[row]))
        if self.task == "recall":
            return self.list_steps(longest)[-1]
        n_asked = 3 if self.task == "stories" else 0
        return len(self.sources[longest]) - 1 - n_asked

    def list_distinct(self, step: int) -> list[int]:
        """The rows of sequences that reach a step, one for every different beginning."""
        prefixes = {
            tuple(symbols[: step + 1]): row
            for row, symbols in enumerate(self.sources)
            if len(symbols) > step
        }
        return list(prefixes.values())

    def first(self, n: int) -> "Sample":
        return Sample(self.task, self.sources[:n], self.targets[:n])

    def encode(self, model: Model) -> Pairs:
        texts = [" ".join(symbols) for symbols in self.sources]
        answers = [" ".join(symbols) for symbols in self.targets]
        return encode_texts(texts, answers, require_vocabulary(model))


def measure_accuracy(model: Model, data: str, split: str) -> float:
    """The share of held-out answers that are right in every symbol."""
    pairs = encode_pairs(tp.load_data(data, split=split, n=N_ANSWERED), require_vocabulary(model))
    return float(exact_matches(model, pairs)[0].mean())


@torch.no_grad()
def measure_shares(
    model: Model, sample: Sample, site: str, is_shuffled: bool = False
) -> Iterator[dict[str, Any]]:
    """The shares of fillers, roles and bindings in a site's states, after the last filler.

    As a control, roles are shuffled within sequences.
    """
    source = sample.encode(model).batch(torch.arange(len(sample.sources)), model.config.pad)[0]
    with tp.capture(model, [site]) as captured:
        model.encode(source)
    states, rng = captured[site].double().numpy(), np.random.default_rng(SHARE_SEED)
    step, n_bound = sample.last_step, sample.n_bound
    rows = sample.list_distinct(step)
    bindings = [sample.bindings(row) for row in rows]
    if is_shuffled:
        bindings = [shuffle_roles(pairs, rng) for pairs in bindings]
    vectors = states[rows, step] if states.ndim == 3 else states[rows]
    shares = BindingComponents(random_state=SHARE_SEED).fit(bindings, vectors)
    for component, share in shares.shares_.items():
        values = {"share": share.value, "low": share.low, "high": share.high}
        yield {"step": n_bound, "part": component, "n": len(rows), **values}


def shuffle_roles(bindings: Sequence[Binding], rng: np.random.Generator) -> list[Binding]:
    order = rng.permutation(len(bindings))
    return [(filler, bindings[i][1]) for (filler, _), i in zip(bindings, order, strict=True)]


def bind_numbers(symbols: Sequence[str]) -> list[Binding]:
    """The numbers of a text in order, with their places in its program: which tuple, and which of its arguments.

    >>> bind_numbers("take n3 from n7 then multiply it by n2".split())
    [('n3', '0.2'), ('n7', '0.1'), ('n2', '1.2')]
    """
    steps = [step for step, symbol in enumerate(symbols) if symbol in NUMBERS]
    numbered = [*symbols]
    for step in steps:
        numbered[step] = str(step)  # so that equal numbers differ
    places = {
        argument: f"{i}.{place}"
        for i, part in enumerate(translate(numbered))
        for place, argument in enumerate(part)
    }
    return [(symbols[step], places[str(step)]) for step in steps]


@dataclass(frozen=True)
class RoleSwap:
    """The roles of two fillers' steps exchanged, and the answers that the algebra then expects."""

    sample: Sample
    is_asked: bool  # whether the first of the two is the one that is asked for
    n_roles: int = 0  # of a model that has the roles of all places at every step
    seed: int = 0

    @cached_property
    def exchanged(self) -> list[tuple[int, int]]:
        """The two fillers of every sequence, counted from 0; of sequences that are too short, none."""
        rng, exchanged = np.random.default_rng(self.seed), []
        for row, symbols in enumerate(self.sample.sources):
            if self.sample.task == "trees":
                exchanged.append(choose_nodes(symbols, rng))
                continue
            bindings = self.sample.bindings(row)
            places = [i for i, (filler, _) in enumerate(bindings)]
            if self.sample.task == "recall":
                query_index = next(i for i, (_, cue) in enumerate(bindings) if cue == symbols[-1])
                remaining = [i for i in places if i != query_index]
                pair = [query_index, int(rng.choice(remaining))] if self.is_asked else remaining[:2]
            else:
                pair = [int(i) for i in rng.permutation(len(places))[:2]]
            differ = len(pair) == 2 and bindings[pair[0]][0] != bindings[pair[1]][0]
            exchanged.append((pair[0], pair[1]) if differ else (0, 0))
        return exchanged

    @cached_property
    def is_used(self) -> np.ndarray:
        return np.array([i != j for i, j in self.exchanged])

    def expected(self, row: int) -> list[str]:
        """The answer to the sequence with both fillers exchanged."""
        (i, j), source = self.exchanged[row], self.sample.sources[row]
        if self.sample.task == "trees":
            letters = [*source[1:]]
            letters[i], letters[j] = letters[j], letters[i]
            return [letters[node] for node in list_nodes(FUNCTIONS[source[0]])]
        if self.sample.task == "programs":
            steps, words = self.sample.list_steps(row), [*source]
            words[steps[i]], words[steps[j]] = words[steps[j]], words[steps[i]]
            return [word for part in translate(words) for word in part]
        bindings = self.sample.bindings(row)
        fillers = [filler for filler, _ in bindings]
        fillers[i], fillers[j] = fillers[j], fillers[i]
        if self.sample.task in ("recall", "stories"):
            cue = find_person(source) if self.sample.task == "stories" else source[-1]
            return [f for f, (_, c) in zip(fillers, bindings, strict=True) if c == cue]
        return fillers[::-1] if self.sample.task == "reverse" else fillers

    def edit(self, roles: Tensor) -> Tensor:
        """The roles of all steps, those of the two fillers exchanged."""
        if self.n_roles:
            return self.edit_places(roles)
        order = torch.arange(roles.shape[1]).repeat(len(roles), 1)
        for row, pair in enumerate(self.exchanged):
            i, j = (self.sample.list_steps(row)[n] for n in pair)
            order[row, i], order[row, j] = j, i
        return roles.gather(1, order[..., None].expand_as(roles))

    def edit_places(self, roles: Tensor) -> Tensor:
        """The roles of all places at every step, those of two places exchanged."""
        order = torch.arange(self.n_roles).repeat(len(roles), 1)
        for row, (i, j) in enumerate(self.exchanged):
            order[row, i], order[row, j] = j, i
        by_place = roles.unflatten(-1, (self.n_roles, -1))
        return by_place.gather(2, order[:, None, :, None].expand_as(by_place)).flatten(-2)


def find_person(symbols: Sequence[str]) -> str:
    """Whose place a story asks for: a person's, or that of the person who took the thing last.

    >>> find_person("mary takes milk john takes milk where is milk".split())
    'john'
    """
    takers = {
        symbols[i + 2]: symbols[i] for i in range(0, len(symbols), 3) if symbols[i + 1] == "takes"
    }
    return takers.get(symbols[-1], symbols[-1])


def choose_nodes(symbols: Sequence[str], rng: np.random.Generator) -> tuple[int, int]:
    """A node of the answer and one that is not in it; twice the root if they have the same letter."""
    letters, answer = symbols[1:], list_nodes(FUNCTIONS[symbols[0]])
    i, j = rng.choice(answer), rng.choice(sorted({*range(len(letters))} - {*answer}))
    return (int(i), int(j)) if letters[i] != letters[j] else (0, 0)


@torch.no_grad()
def measure_swap(model: Model, swap: RoleSwap) -> dict[str, float]:
    """The shares of answers that the algebra expects, that stay, and that are expected without an edit.

    The roles of all other steps stay as they are without the edit.
    """
    source = swap.sample.encode(model).batch(
        torch.arange(len(swap.sample.sources)), model.config.pad
    )[0]
    with tp.capture(model, [ROLE]) as captured:
        model.encode(source)
    answers = write_answers(model, swap.sample)
    with tp.intervene(model, {ROLE: tp.interventions.patch(swap.edit(captured[ROLE]))}):
        edited = write_answers(model, swap.sample)
    rows = np.flatnonzero(swap.is_used).tolist()
    expected = [swap.expected(row) for row in rows]
    return {
        "algebra": float(np.mean([edited[r] == e for r, e in zip(rows, expected, strict=True)])),
        "stays": float(np.mean([edited[r] == answers[r] for r in rows])),
        "unedited": float(np.mean([answers[r] == e for r, e in zip(rows, expected, strict=True)])),
        "n": len(rows),
    }


def write_answers(model: Model, sample: Sample) -> list[list[str]]:
    """What a model writes, symbol by symbol."""
    texts = [" ".join(symbols) for symbols in sample.sources]
    return [text.split() for text in model.generate(texts, max_length=8)]
