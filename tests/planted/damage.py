"""Damage as it happens to files: bytes flipped, cut short, replaced; JSON and tables with other content."""

import json
import random
from pathlib import Path
from typing import Any

import pandas as pd

STRANGE: list[Any] = [
    None,
    "",
    "x",
    -1,
    0,
    10**30,
    1e308,
    [],
    {},
    [None],
    {"a": None},
    True,
    "\ud800",
    "9" * 5000,
]


def damage(path: Path, rng: random.Random) -> None:
    """Changes one file, as its kind allows."""
    ways = [_flip, _cut, _replace]
    if path.suffix in (".json", ".jsonl"):
        ways += [_json] * 5
    if path.suffix in (".csv", ".parquet"):
        ways += [_table] * 5
    rng.choice(ways)(path, rng)


def _flip(path: Path, rng: random.Random) -> None:
    content = bytearray(path.read_bytes())
    for _ in range(rng.choice([1, 1, 8])):
        if content:
            content[rng.randrange(len(content))] = rng.randrange(256)
    path.write_bytes(content)


def _cut(path: Path, rng: random.Random) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: rng.randrange(len(content) + 1)])


def _replace(path: Path, rng: random.Random) -> None:
    path.write_bytes(
        rng.choice([b"", b"\0" * 40, b"null", b"[]", b"{}", b"\xff\xfe", b"a,b\n1,2\n", b"PAR1"])
    )


def _json(path: Path, rng: random.Random) -> None:
    lines = path.read_text().splitlines() if path.suffix == ".jsonl" else [path.read_text()]
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(_changed(json.loads(lines[at]), rng))
    path.write_text("\n".join(lines))


def _changed(value: Any, rng: random.Random) -> Any:
    """The value with one part lost, renamed or replaced by something strange."""
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(list(value))
        if rng.random() < 0.3:
            return {name: each for name, each in value.items() if name != key}
        return {**value, key: _changed(value[key], rng)}
    if isinstance(value, list) and value and rng.random() < 0.8:
        at = rng.randrange(len(value))
        return [*value[:at], _changed(value[at], rng), *value[at + 1 :]]
    return rng.choice(STRANGE)


def _table(path: Path, rng: random.Random) -> None:
    csv = path.suffix == ".csv"
    table = pd.read_csv(path) if csv else pd.read_parquet(path)
    name = rng.choice(list(table.columns))
    way = rng.randrange(5)
    if way == 0:
        table = table.drop(columns=name)
    elif way == 1:
        table = table.rename(columns={name: f"{name}x"})
    elif way == 2:
        table[name] = rng.choice(["x", -1, 1e308, float("nan"), ""])
    elif way == 3:
        table = table.iloc[:0]
    else:
        table[name] = (
            table[name].astype(str).sample(frac=1, random_state=rng.randrange(99)).to_numpy()
        )
    table.to_csv(path, index=False) if csv else table.to_parquet(path)
