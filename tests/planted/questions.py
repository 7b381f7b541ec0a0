"""A store without a model: questions on fractions whose role vectors have known clusters."""

import re
from fractions import Fraction
from pathlib import Path

import numpy as np
import pandas as pd

from tprpapers.worlds.mathematics.structure_words import ARITHMETIC
from tprprobe.analyses.naming.fields import describe
from tprprobe.gold import join
from tprprobe.store import SiteSpec, Store, StoreWriter, open_store

ROLE, LAST, HIDDEN = "encoder.0.self.role", "encoder.1.self.role", "encoder.1.hidden"
MAPS, CROSS = "encoder.1.self.attention", "decoder.0.cross.attention"
ANSWERS = "decoder.0.cross.role"
SITES = {
    ROLE: SiteSpec(("source", "head", "d_head"), (2, 8)),
    LAST: SiteSpec(("source", "head", "d_head"), (2, 8)),
    HIDDEN: SiteSpec(("source", "d_model"), (16,)),
    MAPS: SiteSpec(("source_source", "head"), (2,)),
    CROSS: SiteSpec(("target_source", "head"), (2,)),
    ANSWERS: SiteSpec(("target", "head", "d_head"), (2, 8)),
}
GROUPS = 6
N_WITH_MAPS = 4  # samples with attention maps


def ask(rng: np.random.Generator) -> tuple[str, str]:
    """A question of the form (a/b)/(c/d), in words or not, and its answer."""
    a, b, c, d = (int(n) for n in rng.integers(1, 400, 4))
    question = ("Calculate ", "Evaluate ", "")[int(rng.integers(3))] + f"({a}/{b})/(-{c}/{d})."
    return question, str(-Fraction(a * d, b * c))


def groups_of(tokens: list[str]) -> np.ndarray:
    """The planted cluster of every token of a question: by kind, digits by where they stand."""
    text = "".join(token if len(token) == 1 else "\0" for token in tokens)
    groups = np.array([0 if c.isalpha() or c in " \0." else 1 for c in text])
    for group, number in zip((2, 3, 4, 5), re.finditer(r"\d+", text), strict=True):
        groups[number.start() : number.end()] = group
    return groups


def tokens_of(sample: int, question: str, answer: str) -> pd.DataFrame:
    sides = {"source": ["<sos>", *question, "<eos>"], "target": ["<sos>", *answer]}
    correct = sample % 4 != 3
    frames = [
        pd.DataFrame({"side": side, "position": range(len(tokens)), "token": tokens})
        for side, tokens in sides.items()
    ]
    prediction = answer if correct else answer[:-1] + "7"
    table = pd.concat(frames).assign(sample=sample, question=question, answer=answer)
    return table.assign(prediction=prediction, correct=correct, module="arithmetic__mixed")


def plant(
    path: Path, samples: int = 24, seed: int = 0, noise: float = 0.05, scale=1.0, model="planted"
) -> Store:
    """The store; the last layer's roles of head 0 are GROUPS far centers, all else is noise."""
    rng = np.random.default_rng(seed)
    centers = 3 * rng.normal(size=(GROUPS, 8))
    metadata = {"model": model, "data": {"name": "made", "split": "test"}}
    writer = StoreWriter.create(path, SITES, metadata)
    for sample in range(samples):
        table = tokens_of(sample, *ask(rng))
        source, target = (table[table["side"] == side] for side in ("source", "target"))
        count = {"source": len(source), "target": len(target)}
        values = {
            name: rng.normal(size=(count[spec.rows], *spec.shape))
            for name, spec in SITES.items()
            if not spec.is_attention
        }
        values[LAST][:, 0] *= noise
        values[LAST][:, 0] += centers[groups_of(list(source["token"]))]
        values[LAST] *= scale
        maps = {name: [] for name in (MAPS, CROSS)}
        if sample < N_WITH_MAPS:
            maps[MAPS] = [attend(list(source["token"]), rng)]
            shape = (2, count["target"], count["source"])
            maps[CROSS] = [rng.dirichlet(np.full(shape[2], 0.1), shape[:2]).astype("float32")]
        writer.append(values, table, maps)
    writer.finish()
    return open_store(path)


def attend(tokens: list[str], rng: np.random.Generator) -> np.ndarray:
    """Maps [head, query, key]: head 0 looks at the nearest '/' on its left, else at the start."""
    weights = rng.dirichlet(np.full(len(tokens), 0.5), (2, len(tokens)))
    slash = 0
    for query, token in enumerate(tokens):
        slash = query if token == "/" else slash
        weights[0, query] *= 0.15
        weights[0, query, slash] += 0.85
    return weights.astype(np.float32)


def truth(store: Store) -> np.ndarray:
    """The planted cluster of every source token of a planted store."""
    tokens = store.tokens_of(LAST)
    return np.concatenate(
        [groups_of(list(group)) for _, group in tokens.groupby("sample")["token"]]
    )


def compose(rng: np.random.Generator, depth: int = 3, long: float = 0.4) -> str:
    """A random expression whose divisions nest; numbers have another digit with probability long."""
    if depth == 0 or (depth < 3 and rng.random() < 0.25):
        digits = 1 + min(2, int(rng.geometric(1 - long)) - 1)
        return str(int(rng.integers(10 ** (digits - 1), 10**digits)))
    operand, divisor = compose(rng, depth - 1, long), compose(rng, depth - 1, long)
    symbol = str(rng.choice(["/", "/", "*", " + ", " - "]))
    return f"({operand}){symbol}({divisor})" if depth > 1 else f"{operand}{symbol}{divisor}"


def grouping(gold: pd.DataFrame, *fields: str) -> pd.Series:
    """The planted role of every token: its kind, and of digits the words of some fields too."""
    described = describe(gold, ARITHMETIC)
    words = described["kind"].astype(str)
    digit = gold["kind"] == "digit"
    for name in fields:
        words = words.where(~digit, words + " ∧ " + described[name].astype(str))
    return words


def plant_roles(
    path: Path,
    *fields: str,
    samples: int = 200,
    noise: float = 0.2,
    wrong: float = 0.0,
    long: float = 0.4,
    seed: int = 0,
    scale=1.0,
) -> Store:
    """A store of random expressions; head 0's roles have a center a planted role, all else is noise.

    ``wrong`` is the share of tokens that lie at the center of another token's role.
    """
    rng = np.random.default_rng(seed)
    heads = ("role", "query", "key", "filler")
    sites = {
        f"encoder.0.self.{name}": SiteSpec(("source", "head", "d_head"), (2, 24)) for name in heads
    }
    flat = SiteSpec(("source", "d_model"), (24,))
    sites |= {"encoder.0.self.input": flat, "encoder.0.hidden": flat}
    templates = ("What is {}?", "{}")
    tables = [
        tokens_of(sample, templates[sample % 2].format(compose(rng, long=long)), "1")
        for sample in range(samples)
    ]
    table = pd.concat(tables, ignore_index=True)
    gold = join(table[table["side"] == "source"].reset_index(drop=True))
    groups = pd.factorize(grouping(gold, *fields))[0]
    moved = np.flatnonzero(rng.random(len(groups)) < wrong)
    groups[moved] = rng.permutation(groups[moved])
    for folder, planted in ((path, True), (path / "untrained", False)):
        writer = StoreWriter.create(folder, sites, {"model": "planted", "data": "made"})
        values = {name: rng.normal(size=(len(gold), *spec.shape)) for name, spec in sites.items()}
        if planted:
            centers = np.linalg.qr(rng.normal(size=(24, 24)))[0][: groups.max() + 1]
            values["encoder.0.self.role"][:, 0] *= noise
            values["encoder.0.self.role"][:, 0] += 2 * centers[groups]
            values["encoder.0.self.role"] *= scale
        writer.append(values, table)
        writer.finish()
    return open_store(path)
