"""Hand-compiled transformers: programs as exact weights, so it is known where a binding sits, and as what.

An encoder reads symbols and a mark; its vector at the mark is all that the decoder sees. A hidden unit of an MLP is
``relu(x + y - 1)``, the AND of two one-hot numbers, so a layer of them is the tensor product of symbol and role; an
attention head with scores 0 and SHARP averages or picks. Nothing is trained.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.binding.structure import Array, Symbols
from benchmarks.binding.subject import Subject, World, by_length, permute

SYMBOLS, KEYS, MARK, LONGEST, SHARP = "abcdef", "WXYZ", "=", 5, 200.0
SEQUENCES = 1200
NAMES = [*SYMBOLS, *KEYS, MARK]
NUMBERS = {name: i for i, name in enumerate(NAMES)}
ROLES = {"copy": LONGEST, "reverse": LONGEST, "sort": 1, "lookup": len(KEYS)}


Match = tuple[list[int], list[int]]  # numbers of the query and of the key


class Head(nn.Module):
    """A head whose every inner number scores SHARP between some numbers of query and key; it copies numbers."""

    def __init__(self, width: int, scores: list[Match], copies: list[tuple[int, int]]):
        super().__init__()
        sizes = (len(scores), len(scores), width)
        query, key, value = (torch.zeros(n, width).double() for n in sizes)
        for unit, (query_units, key_units) in enumerate(scores):
            query[unit, query_units], key[unit, key_units] = SHARP, 1
        for source, to in copies:
            value[to, source] = 1
        self.query, self.key, self.value = map(nn.Parameter, (query, key, value))

    def forward(self, x: Tensor) -> Tensor:
        scores = (x @ self.query.T) @ (x @ self.key.T).transpose(-1, -2)
        return x + scores.softmax(-1) @ x @ self.value.T


class Ands(nn.Module):
    """An MLP of ANDs: units of two numbers, and the number that they write to."""

    def __init__(self, width: int, units: Sequence[tuple[int, int, int]]):
        super().__init__()
        inner, outer = torch.zeros(2, len(units), width).double()
        outer = outer.T.contiguous()
        for unit, (a, b, to) in enumerate(units):
            inner[unit, [a, b]], outer[to, unit] = 1, 1
        bias = torch.full((len(units),), -1.0).double()
        self.inner, self.outer, self.bias = map(nn.Parameter, (inner, outer, bias))

    def forward(self, x: Tensor) -> Tensor:
        return x + (x @ self.inner.T + self.bias).relu() @ self.outer.T


@dataclass(eq=False)
class Program:
    """An encoder, where the parts of its residual stream begin, and a rotation of what it bound."""

    encoder: nn.Sequential
    at: dict[str, int]
    rotation: Tensor

    @torch.no_grad()
    def encode(self, sequences: Sequence[Symbols]) -> Array:
        """The vectors at the mark."""
        return by_length(sequences, self._encode)

    def _encode(self, sequences: list[Symbols]) -> Array:
        ids, offsets = torch.tensor([[NUMBERS[c] for c in (*s, MARK)] for s in sequences]), self.at
        x = torch.zeros(*ids.shape, offsets["end of all"]).double()
        x.scatter_(2, offsets["symbol"] + ids[..., None], 1)
        x[:, range(ids.shape[1]), [offsets["place"] + i for i in range(ids.shape[1])]] = 1
        x[:, :, offsets["one"]] = 1
        return (self.encoder(x)[:, -1, offsets["state"] :] @ self.rotation).numpy()

    @torch.no_grad()
    def unbind(self, states: Array) -> Array:
        """relu(s_fr + 2 q_r − 2) with the query q one-hot: by role what there is of every filler."""
        bound = (torch.from_numpy(states) @ self.rotation.T).unflatten(1, (len(SYMBOLS), -1))
        units = torch.eye(bound.shape[2]).double()
        return (bound[:, None] + 2 * units[None, :, None] - 2).relu().sum(-1).numpy()


def compile_program(name: str, seed: int = 0) -> Program:
    """The weights of ``copy``, ``reverse``, ``sort`` or ``lookup``; the seed is of the rotation."""
    roles, places = ROLES[name], LONGEST + 1
    bound = len(SYMBOLS) * roles
    sizes = {"symbol": len(NAMES), "place": places, "one": 1, "end": places, "right": places}
    sizes |= {"previous": len(NAMES), "bound": bound, "state": bound}
    starts = np.cumsum([0, *sizes.values()]).tolist()
    offsets = dict(zip([*sizes, "end of all"], starts, strict=True))
    width, constant = offsets["end of all"], [offsets["one"]]

    def copies(source: str, to: str, n: int) -> list[tuple[int, int]]:
        return [(offsets[source] + i, offsets[to] + i) for i in range(n)]

    layers: list[nn.Module] = []
    if name == "reverse":  # every token learns where the mark is, and so its place from the right
        mark = [(constant, [offsets["symbol"] + NUMBERS[MARK]])]
        ends = [(e, i) for e in range(places) for i in range(e)]
        place, end, right = (offsets[part] for part in ("place", "end", "right"))
        units = [(place + i, end + e, right + e - 1 - i) for e, i in ends]
        layers += [Head(width, mark, copies("place", "end", places)), Ands(width, units)]
    if name == "lookup":  # every token learns the symbol before it
        place = offsets["place"]
        back = [([place + i + 1] if i + 1 < places else [], [place + i]) for i in range(places)]
        back[0][0].append(place)
        layers.append(Head(width, back, copies("symbol", "previous", len(NAMES))))
    if name != "sort":
        numbers = {"copy": offsets["place"], "reverse": offsets["right"], "lookup": offsets["previous"] + len(SYMBOLS)}  # fmt: skip
        symbol, role, to = offsets["symbol"], numbers[name], offsets["bound"]
        pairs = product(range(len(SYMBOLS)), range(roles))
        units = [(symbol + f, role + r, to + f * roles + r) for f, r in pairs]
        layers.append(Ands(width, units))
    over = [(constant, [offsets["symbol"] + NUMBERS[symbol] for symbol in SYMBOLS])]
    source = "symbol" if name == "sort" else "bound"
    layers.append(Head(width, over, copies(source, "state", bound)))
    rotation = np.linalg.qr(np.random.default_rng((seed, 3)).normal(size=(max(16, bound),) * 2))[0]
    return Program(nn.Sequential(*layers), offsets, torch.from_numpy(rotation[:bound]))


def read_out(
    program: Program, name: str, states: Array, sequences: Sequence[Symbols]
) -> list[Symbols]:
    """What the decoder says of vectors, in the order of the sequences (sorted: in its own)."""
    activations, outputs = program.unbind(states), []
    for row, s in zip(activations, sequences, strict=True):
        best = row.argmax(-1)
        if name == "sort":  # symbol j is where running sums pass (j + ½)/n
            below = np.cumsum(row[0])[:, None] < (np.arange(len(s)) + 0.5) / len(s)
            best = np.minimum(below.sum(0), len(SYMBOLS) - 1)
        if name == "lookup":
            values = {key: SYMBOLS[best[KEYS.index(key)]] for key in s[::2]}
            outputs.append(tuple(c for key, value in values.items() for c in (key, value)))
        else:
            word = tuple(SYMBOLS[k] for k in best[: len(s)])
            outputs.append(word[::-1] if name == "reverse" else word)
    return outputs


def all_inputs(name: str) -> list[Symbols]:
    """Every input of a program: sequences of 1 to 5 symbols; or two or three different keys with values."""
    if name != "lookup":
        return [s for n in range(1, LONGEST + 1) for s in product(SYMBOLS, repeat=n)]
    choices = [(permutations(KEYS, n), [*product(SYMBOLS, repeat=n)]) for n in (2, 3)]
    pairs = [zip(k, v, strict=True) for keys, values in choices for k in keys for v in values]
    return [tuple(c for pair in pair_list for c in pair) for pair_list in pairs]


def make(name: str, seed: int, permuted: bool = False) -> World:
    """The world of a program on some of its inputs; its twin has every matrix's weights permuted."""
    program, twin, other_twin = (compile_program(name, seed) for _ in range(3))
    permute(twin.encoder, seed)
    permute(other_twin.encoder, seed + 1)
    rng = np.random.default_rng((seed, 4))
    inputs: dict[int, list[Symbols]] = {}
    for s in all_inputs(name):
        inputs.setdefault(len(s), []).append(s)
    lengths = rng.choice([n for n in inputs if n > 2], SEQUENCES).tolist()
    sequences = tuple({inputs[n][int(rng.integers(len(inputs[n])))]: None for n in lengths})
    if permuted:
        program, twin = twin, other_twin
    reader = None if permuted else partial(read_out, program, name)
    return World(sequences, program.encode, program.encode(sequences), reader, twin.encode)


def _subject(
    name: str, scheme: str, binding: bool, accepted_schemes: tuple[str, ...], size: str
) -> Subject:
    make_world, ordered = partial(make, name), name != "sort"
    return Subject(f"compiled {name}", "compiled", scheme, make_world, binding, size, accepted_schemes, True, True, ordered)  # fmt: skip


TWIN = partial(make, "copy", permuted=True)
SUBJECTS = (
    _subject("copy", "left", True, ("left",), "6 symbols at 5 places, 30 numbers"),
    _subject("reverse", "right", True, ("right",), "6 symbols at 5 places, 30 numbers"),
    _subject("sort", "left", False, ("bag",), "6 symbols, 16 numbers: the state is a bag"),
    _subject("lookup", "after key", True, (), "6 values of 4 keys, 24 numbers"),
    Subject("permuted copy", "twin", "left", TWIN, None, "30 numbers", (), False, True),
)
