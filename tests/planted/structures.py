"""Damage by structure: types, sizes, lengths and cuts of what a file holds, which stays a file of its kind.

`planted.damage` changes bytes; here JSON stays JSON, a table a table, a file of tensors one of tensors,
while what they say becomes another type, another size, another length. Folders lose, gain and exchange
files.
"""

import copy
import json
import math
import os
import random
import shutil
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy
import tomli_w
import torch
from planted import containers

Way = Callable[[Path, random.Random], None]

TYPES: list[Any] = [None, True, 0, -1, 1.5, "", "x", "\u202e\n"]
TYPES += [[], [[]], {}, {"a": []}, [None, 1, "x"]]
SIZES: list[Any] = [
    0, 1, -1, 2, 2**15, 2**31 - 1, 2**31, 2**63 - 1, 2**64 - 1, 10**18, -(2**63), 1e18, math.nan,
    math.inf, -math.inf, 1e-320, 0.5,
]  # fmt: skip


def damage(folder: Path, rng: random.Random) -> str:
    """Changes one file of a folder, or which files it has; what was done, in words."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    if not files:
        return "nothing is left"
    file = rng.choice(files)
    ways: list[Way] = [*BY_SUFFIX.get(file.suffix, [_cut])] * 9
    ways += [_cut, _remove, _exchange, _become_folder]
    way = rng.choice(ways)
    try:
        way(file, rng)
    except Exception:  # of what was damaged before, or has no such part
        way = _cut if file.is_file() else _replace
        way(file, rng)
    return f"{way.__name__.strip('_')} {file.relative_to(folder)}"


def changed(value: Any, rng: random.Random) -> Any:
    """A tree with one of its parts of another type, size or length."""
    value = copy.deepcopy(value)
    holders = [(None, None, value), *_places(value)]
    holder, key, value_in_place = rng.choice(holders)
    replacement = _other(value_in_place, rng)
    if holder is None:
        return replacement
    if isinstance(holder, dict) and rng.random() < 0.15:
        holder.pop(key)
    elif isinstance(holder, dict) and rng.random() < 0.1:
        holder[f"{key}x"] = holder.pop(key)
    else:
        holder[key] = replacement
    return value


def _places(value: Any) -> list[tuple[Any, Any, Any]]:
    """Every part of a tree, with what holds it and where."""
    places, waiting = [], [value]
    while waiting:
        holder = waiting.pop()
        keys = list(holder) if isinstance(holder, dict) else list(range(len(holder)))
        for key in keys[:200]:
            places.append((holder, key, holder[key]))
            if isinstance(holder[key], dict | list):
                waiting.append(holder[key])
    return places


def _other(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list) and rng.random() < 0.7:
        lists = [value[:-1], value * 2, value[::-1], [value], value[:1] * 300, [*value, None]]
        return rng.choice([*lists, [*value, rng.choice(SIZES)]])
    if isinstance(value, bool | int | float) and rng.random() < 0.7:
        return rng.choice([*SIZES, str(value), [value], [value, value], {"value": value}])
    if isinstance(value, str) and rng.random() < 0.5:
        texts = [value[:-1], value * 2, value * 3000, value.upper(), [value], f"{value}/../x"]
        return rng.choice([*texts, value + "\0"])
    return rng.choice(TYPES + SIZES)


def _json(file: Path, rng: random.Random) -> None:
    text = file.read_text()
    lines = text.splitlines() if file.suffix == ".jsonl" else [text]
    row = rng.randrange(len(lines))
    lines[row] = json.dumps(changed(json.loads(lines[row]), rng))
    file.write_text("\n".join(lines))


def _toml(file: Path, rng: random.Random) -> None:
    for _ in range(20):  # TOML has no null, and no numbers of any size
        try:
            content = tomli_w.dumps(changed(tomllib.loads(file.read_text()), rng))
            tomllib.loads(content)
        except Exception:
            continue
        file.write_text(content)
        return


def table(frame: pd.DataFrame, rng: random.Random) -> pd.DataFrame:
    """A table with other columns, other types, or other rows."""
    name, n = rng.choice(list(frame.columns)), len(frame)
    ways = [
        lambda: frame.drop(columns=name),
        lambda: frame.rename(columns={name: rng.choice(["x", "", str(frame.columns[0])])}),
        lambda: frame.iloc[: rng.randrange(n + 1)],
        lambda: pd.concat([frame, frame]),
        lambda: frame.sample(frac=1, random_state=rng.randrange(99)),
        lambda: frame[[*reversed(list(frame.columns))]],
        lambda: frame.assign(**{name: frame[name].astype(str)}),
        lambda: frame.assign(**{name: frame[name].iloc[0] if n else 0}),
        lambda: frame.assign(**{name: _one_changed(frame[name], rng)}),
        lambda: frame.assign(**{name: [[0]] * n}),
        lambda: frame.assign(**{name: rng.choice(SIZES)}),
    ]
    return rng.choice(ways)()


def _one_changed(column: pd.Series, rng: random.Random) -> np.ndarray:
    values = column.astype(object).to_numpy(copy=True)
    if len(values):
        values[rng.randrange(len(values))] = rng.choice([None, "x", -1, 2**40, math.nan])
    return values


def _csv(file: Path, rng: random.Random) -> None:
    text = file.read_text()
    if rng.random() < 0.2:  # lines of other lengths
        lines = text.splitlines()
        row = rng.randrange(len(lines))
        lines[row] = rng.choice([lines[row] + ",1", lines[row].rpartition(",")[0], "", lines[0]])
        file.write_text("\n".join(lines))
        return
    table(pd.read_csv(file), rng).to_csv(file, index=False)


def _parquet(file: Path, rng: random.Random) -> None:
    for _ in range(20):  # not every table can be written
        try:
            table(pd.read_parquet(file), rng).to_parquet(file)
        except Exception:
            continue
        return


def tensors(state: dict[str, Any], rng: random.Random) -> dict[str, Any]:
    """Tensors of which one has another shape, type, name or content."""
    name, state = rng.choice(list(state)), dict(state)
    array = np.asarray(state.pop(name))
    flat = array.reshape(-1)
    ways: list[Callable[[], Any]] = [
        lambda: flat,
        lambda: array[..., None],
        lambda: np.concatenate([flat, flat]),
        lambda: flat[:0],
        lambda: array.astype(rng.choice(["int64", "bool", "float64", "float16"])),
        lambda: np.zeros((*array.shape[::-1],), array.dtype),
        lambda: np.where(np.arange(array.size).reshape(array.shape) == 0, np.nan, array),
    ]
    way = rng.randrange(9)
    if way == 0:  # it is lost
        return state
    if way == 1:
        return state | {rng.choice([name + "x", f"layer.999999999.{name}", ""]): array}
    return state | {name: rng.choice(ways)()}


def _safetensors(file: Path, rng: random.Random) -> None:
    if rng.random() < 0.4:
        content = file.read_bytes()
        size = int.from_bytes(content[:8], "little")
        header = json.dumps(changed(json.loads(content[8 : 8 + size]), rng)).encode()
        file.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])
        return
    safetensors.numpy.save_file(tensors(safetensors.numpy.load_file(file), rng), file)


def _pt(file: Path, rng: random.Random) -> None:
    loaded = torch.load(file, weights_only=False)
    key = rng.choice([key for key, value in loaded.items() if isinstance(value, dict)])
    way = rng.randrange(4)
    if way == 0:
        loaded[rng.choice(list(loaded))] = rng.choice(TYPES + SIZES)
    elif way == 1:
        loaded[key][rng.choice([None, 3, "x", ("a", 1)])] = rng.choice([torch.zeros(1), 3, None])
    elif way == 2:
        name = rng.choice(list(loaded[key]))
        size = rng.choice([(10**6, 10**6), (2, 10**12), (0, 10**18), (10**9,)])
        loaded[key][name] = torch.zeros(1).as_strided(size, (0,) * len(size))
    else:
        try:
            loaded[key] = {k: torch.as_tensor(v) for k, v in tensors(loaded[key], rng).items()}
        except (ValueError, TypeError, RuntimeError):  # of numbers that are no tensors
            loaded.pop(key)
    torch.save(loaded, file)


def _numpy(file: Path, rng: random.Random) -> None:
    if file.suffix == ".npz":
        np.savez(file, **tensors(dict(np.load(file)), rng))
    else:
        states = tensors({"x": np.load(file)}, rng)
        np.save(file, next(iter(states.values()), np.zeros(0)))


def _cut(file: Path, rng: random.Random) -> None:
    content = file.read_bytes()
    size = rng.choice([0, 1, 8, len(content) // 2, len(content) - 1, len(content) - 8])
    file.write_bytes(content[: max(0, size)] if rng.random() < 0.8 else content + content[:size])


def _replace(file: Path, rng: random.Random) -> None:
    if file.is_dir() and not file.is_symlink():
        file.rmdir()
    else:
        file.unlink(missing_ok=True)
    file.write_bytes(b"x")


def _remove(file: Path, rng: random.Random) -> None:
    file.unlink()


def _exchange(file: Path, rng: random.Random) -> None:
    candidates = sorted(path for path in file.parent.rglob("*") if path.is_file() and path != file)
    shutil.copy(rng.choice(candidates), file) if candidates else file.unlink()


def _become_folder(file: Path, rng: random.Random) -> None:
    file.unlink()
    if rng.random() < 0.5:
        file.mkdir()
    else:
        os.symlink(file, file)  # which leads to itself


BY_SUFFIX: dict[str, list[Way]] = {
    ".json": [_json], ".jsonl": [_json], ".toml": [_toml], ".csv": [_csv], ".parquet": [_parquet],
    ".safetensors": [_safetensors], ".pt": [_pt], ".npy": [_numpy], ".npz": [_numpy],
    ".gguf": [containers.gguf], ".h5": [containers.hdf5], ".hdf5": [containers.hdf5],
}  # fmt: skip
