"""Hand-compiled transformers: programs as exact weights, so it is known where a binding sits, and as what.

An encoder reads symbols and a mark; its vector at the mark is all that the decoder sees. A hidden unit of an MLP is
``relu(x + y - 1)``, the AND of two one-hot numbers, so a layer of them is the tensor product of symbol and role; an
attention head with scores 0 and -SHARP averages or picks. Nothing is trained.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import permutations, product

import numpy as np
import torch
from torch import Tensor, nn

from benchmarks.binding.structure import Array, Symbols
from benchmarks.binding.subject import Subject, World

SYMBOLS, KEYS, MARK, LONGEST, SHARP = "abcdef", "WXYZ", "=", 5, 200.0
SEQUENCES = 1200
NAMES = [*SYMBOLS, *KEYS, MARK]
NUMBERS = {name: i for i, name in enumerate(NAMES)}


class Blocks:
    """Named parts of the residual stream: which numbers a part has."""

    def __init__(self, **sizes: int):
        starts = np.cumsum([0, *sizes.values()])
        self.at = {name: int(s) for name, s in zip(sizes, starts, strict=False)}
        self.width = int(starts[-1])


class Head(nn.Module):
    """Attention of one head: score q·k, values to another part."""

    def __init__(self, width: int, inner: int):
        super().__init__()
        self.query, self.key = (
            nn.Parameter(torch.zeros(inner, width, dtype=torch.float64)) for _ in "qk"
        )
        self.value = nn.Parameter(torch.zeros(width, width, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        scores = (x @ self.query.T) @ (x @ self.key.T).transpose(-1, -2)
        return x + scores.softmax(-1) @ x @ self.value.T


class Ands(nn.Module):
    """relu(W x + b) led to other numbers."""

    def __init__(self, width: int, units: Sequence[tuple[int, int, int]], scale: float = 1.0):
        super().__init__()
        inner, outer = torch.zeros(len(units), width), torch.zeros(width, len(units))
        for u, (one, other, to) in enumerate(units):
            inner[u, one], inner[u, other] = 1.0, scale
            outer[to, u] = 1.0
        self.inner, self.outer = nn.Parameter(inner.double()), nn.Parameter(outer.double())
        self.bias = nn.Parameter(torch.full((len(units),), -scale, dtype=torch.float64))

    def forward(self, x: Tensor) -> Tensor:
        return x + (x @ self.inner.T + self.bias).relu() @ self.outer.T


@dataclass(eq=False)
class Program:
    """An encoder, a rotation of what it bound, and the size of that: fillers × roles."""

    encoder: nn.Sequential
    blocks: Blocks
    bound: int
    rotation: Tensor

    @torch.no_grad()
    def encode(self, sequences: Sequence[Symbols]) -> Array:
        """The vectors at the mark."""
        out = np.zeros((len(sequences), self.rotation.shape[1]))
        lengths = np.array([len(s) for s in sequences])
        for n in np.unique(lengths):
            rows, at = np.flatnonzero(lengths == n), self.blocks.at
            x = torch.zeros(len(rows), n + 1, self.blocks.width, dtype=torch.float64)
            ids = torch.tensor([[NUMBERS[c] for c in (*sequences[row], MARK)] for row in rows])
            x.scatter_(2, at["symbol"] + ids[..., None], 1)
            for place in range(n + 1):
                x[:, place, at["place"] + place] = 1
            x[:, :, at["one"]] = 1
            state = self.encoder(x)[:, -1, at["state"] : at["state"] + self.bound]
            out[rows] = (state @ self.rotation).numpy()
        return out

    @torch.no_grad()
    def unbind(self, states: Array, roles: int) -> Array:
        """relu(s_fr + 2 q_r − 2) with the query q one-hot: the filler numbers at every role, [row, role, filler]."""
        back = torch.from_numpy(states) @ self.rotation.T
        bound = back.reshape(len(states), len(SYMBOLS), roles)
        asked = torch.eye(roles, dtype=torch.float64)
        return (bound[:, None] + 2 * asked[None, :, None] - 2).relu().sum(-1).numpy()


def _pick(blocks: Blocks, query: str, key: str, shift: int, value: str, to: str, n: int) -> Head:
    """A head that looks from place i (or any) to the place whose key fits, and copies a part."""
    head, at = Head(blocks.width, n), blocks.at
    with torch.no_grad():
        for i in range(n):
            head.key[i, at[key] + i] = 1
            if query == "place":
                head.query[max(0, i + shift), at["place"] + i] = SHARP
            else:
                head.query[i, at["one"]] = SHARP
        size = {"place": LONGEST + 1, "symbol": len(NAMES)}[value]
        for i in range(size):
            head.value[at[to] + i, at[value] + i] = 1
    return head


def _average(blocks: Blocks, source: str, size: int, over: Sequence[str]) -> Head:
    """A head that averages a part over the tokens of some symbols."""
    head, at = Head(blocks.width, 1), blocks.at
    with torch.no_grad():
        head.query[0, at["one"]] = SHARP
        for symbol in over:
            head.key[0, at["symbol"] + NUMBERS[symbol]] = 1
        for i in range(size):
            head.value[at["state"] + i, at[source] + i] = 1
    return head


def compile_program(name: str, seed: int = 0) -> Program:
    """The weights of ``copy``, ``reverse``, ``sort`` or ``lookup``."""
    roles = {"copy": LONGEST, "reverse": LONGEST, "sort": 1, "lookup": len(KEYS)}[name]
    bound, places = len(SYMBOLS) * roles, LONGEST + 1
    sizes = {"symbol": len(NAMES), "place": places, "one": 1, "end": places, "right": places}
    blocks = Blocks(**sizes, previous=len(NAMES), bound=bound, state=bound)
    at, layers = blocks.at, list[nn.Module]()
    by = {"copy": at["place"], "reverse": at["right"], "lookup": at["previous"] + len(SYMBOLS)}
    if name == "reverse":
        mark = _pick(blocks, "one", "symbol", 0, "place", "end", 1)
        with torch.no_grad():
            mark.key.zero_()
            mark.key[0, at["symbol"] + NUMBERS[MARK]] = 1
        units = [
            (at["place"] + i, at["end"] + e, at["right"] + e - 1 - i)
            for e in range(places)
            for i in range(e)
        ]
        layers += [mark, Ands(blocks.width, units)]
    if name == "lookup":
        layers.append(_pick(blocks, "place", "place", -1, "symbol", "previous", places))
    source = "symbol"
    if name != "sort":
        units = [
            (at["symbol"] + f, by[name] + r, at["bound"] + f * roles + r)
            for f in range(len(SYMBOLS))
            for r in range(roles)
        ]
        layers.append(Ands(blocks.width, units))
        source = "bound"
    layers.append(_average(blocks, source, bound, SYMBOLS))
    width = max(16, bound)
    rng = np.random.default_rng((seed, 3))
    rotation = np.linalg.qr(rng.normal(size=(width, width)))[0][:bound]
    return Program(nn.Sequential(*layers), blocks, bound, torch.from_numpy(rotation))


def read_out(
    program: Program, name: str, states: Array, sequences: Sequence[Symbols]
) -> list[Symbols]:
    """What the decoder says from vectors, led back to the order of the sequences (sorted: in its order)."""
    if name == "sort":
        return [
            _count_out(row, len(s))
            for row, s in zip(program.unbind(states, 1)[:, 0], sequences, strict=True)
        ]
    read = program.unbind(states, LONGEST if name != "lookup" else len(KEYS)).argmax(-1)
    said = []
    for row, s in zip(read, sequences, strict=True):
        if name == "lookup":
            said.append(
                tuple(SYMBOLS[row[KEYS.index(s[i - 1])]] if i % 2 else c for i, c in enumerate(s))
            )
        else:
            word = tuple(SYMBOLS[row[j]] for j in range(len(s)))
            said.append(word if name == "copy" else word[::-1])
    return said


def _count_out(shares: Array, n: int) -> Symbols:
    """Symbol j of the sorted ones: as many symbols are before it as running sums lie below (j + ½)/n."""
    sums = np.cumsum(shares)
    return tuple(
        SYMBOLS[min(int((sums < (j + 0.5) / n).sum()), len(SYMBOLS) - 1)] for j in range(n)
    )


def all_inputs(name: str) -> list[Symbols]:
    """Every input of a program: sequences of 1 to 5 symbols; or two or three different keys with values."""
    if name == "lookup":
        return [
            tuple(c for pair in zip(keys, values, strict=True) for c in pair)
            for n in (2, 3)
            for keys in permutations(KEYS, n)
            for values in product(SYMBOLS, repeat=n)
        ]
    return [s for n in range(1, LONGEST + 1) for s in product(SYMBOLS, repeat=n)]


def make(name: str, seed: int, permuted: bool = False) -> World:
    """The world of a program on some of its inputs; its twin has every matrix's weights permuted."""
    program, twin = compile_program(name, seed), permute(compile_program(name, seed), seed)
    rng = np.random.default_rng((seed, 4))
    inputs = all_inputs(name)
    inputs = [s for s in inputs if len(s) > 2]
    lengths = rng.choice(sorted({len(s) for s in inputs}), SEQUENCES)
    by_length = {n: [s for s in inputs if len(s) == n] for n in set(lengths.tolist())}
    drawn = {by_length[n][int(rng.integers(len(by_length[n])))]: None for n in lengths.tolist()}
    sequences = tuple(drawn)
    if permuted:
        program, twin = twin, permute(compile_program(name, seed), seed + 1)
    read = None if permuted else partial(read_out, program, name)
    return World(sequences, program.encode, program.encode(sequences), read, twin.encode, 1.0)


def permute(program: Program, seed: int) -> Program:
    """The program with the weights of every matrix in another order."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for weight in program.encoder.parameters():
            order = torch.randperm(weight.numel(), generator=generator)
            weight.copy_(weight.flatten()[order].reshape(weight.shape))
    return program


def _subject(name: str, scheme: str, binding: bool, named: tuple[str, ...], text: str) -> Subject:
    return Subject(
        f"compiled {name}",
        "compiled",
        scheme,
        partial(make, name),
        binding,
        text,
        named,
        shares=True,
        ordered=name != "sort",
    )


SUBJECTS = (
    _subject("copy", "left", True, ("left",), "6 symbols at 5 places, 30 numbers"),
    _subject("reverse", "right", True, ("right",), "6 symbols at 5 places, 30 numbers"),
    _subject("sort", "left", False, ("bag",), "6 symbols, 16 numbers: the state is a bag"),
    _subject("lookup", "after key", True, (), "6 values of 4 keys, 24 numbers"),
    Subject(
        "permuted copy",
        "twin",
        "left",
        partial(make, "copy", permuted=True),
        None,
        "30 numbers",
        learnt=False,
        reads=False,
        shares=True,
    ),
)
