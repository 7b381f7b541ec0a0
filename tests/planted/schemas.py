"""Files drawn anew from what a sound one is made of: its schema, as strategies of Hypothesis.

Written apart from `planted.structures`, which changes a part of a file: here a document is built from its
top, a table column by column, a file of tensors from its header, a text field by field, and every part
may be of another type, size or length. Hypothesis draws; nothing of the other generator is used.
"""

import json
import struct
import tomllib
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import safetensors.numpy
import tomli_w
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import seed as seeded
from hypothesis import strategies as st

MAX_CHANGED = 12  # parts of a long list or object that are drawn anew
EDGES = st.sampled_from([0, -1, 1, 2**31, 2**53 + 1, 2**63 - 1, -(2**63), 2**64, 10**25, 0.1, 1e300, 5e-324,
                         float("nan"), float("inf"), -0.0])  # fmt: skip
TEXTS = st.one_of(
    st.text(max_size=6),
    st.sampled_from(["\ud800", "\0", "..", "null", "1e9", "\u2028", "x" * 9000]),
)
ATOMS = st.one_of(st.none(), st.booleans(), EDGES, TEXTS)
ANYTHING = st.recursive(
    ATOMS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=5,
)
KINDS = ["float32", "float64", "float16", "int8", "int64", "uint8", "bool"]
COLUMNS = ["int64", "float64", "str", "bool", "category", "datetime64[ns]"]


@st.composite
def documents(draw: Any, sound: Any, odds: int) -> Any:
    """A document like a sound one, of which a part in so many is anything else."""
    if not draw(st.integers(0, odds)):
        return draw(ANYTHING)
    if isinstance(sound, dict):
        return _object(draw, sound, odds)
    if isinstance(sound, list):
        return _list(draw, sound, odds)
    if isinstance(sound, bool) or sound is None:
        return draw(st.sampled_from([True, False, None, sound, sound, sound]))
    if isinstance(sound, int):
        return draw(st.sampled_from([sound] * 9 + [sound + 1, sound - 1, -sound, 2 * sound]))
    if isinstance(sound, float):
        return draw(
            st.sampled_from([sound] * 9 + [-sound, 1 / sound if sound else 1.0, int(sound)])
        )
    return draw(st.sampled_from([sound] * 12 + [sound[::-1], sound + " ", sound[:1]]))


def _object(draw: Any, sound: dict[str, Any], odds: int) -> dict[str, Any]:
    anew = (
        draw(st.sets(st.sampled_from(sorted(sound)), max_size=MAX_CHANGED))
        if len(sound) > MAX_CHANGED
        else set(sound)
    )
    document = {
        key: draw(documents(value, odds)) if key in anew else value for key, value in sound.items()
    }
    if sound and not draw(st.integers(0, 2 * odds)):
        document.pop(draw(st.sampled_from(sorted(sound))))
    if not draw(st.integers(0, 2 * odds)):
        document[draw(TEXTS)] = draw(ANYTHING)
    return document


def _list(draw: Any, sound: list[Any], odds: int) -> list[Any]:
    anew = draw(st.sets(st.integers(0, max(0, len(sound) - 1)), max_size=MAX_CHANGED))
    items = [draw(documents(value, odds)) if i in anew else value for i, value in enumerate(sound)]
    lengths = [len(items)] * 12 + [0, 1, len(items) - 1, len(items) // 2]
    items = items[: draw(st.sampled_from(lengths))]
    return items * draw(st.sampled_from([1] * 15 + [2, 40]))


@st.composite
def arrays(draw: Any, sound: np.ndarray, odds: int) -> np.ndarray:
    """An array like a sound one, whose shape, type or numbers may be others."""
    shape, kind = list(sound.shape), sound.dtype
    for axis in range(len(shape)):
        if not draw(st.integers(0, odds)):
            shape[axis] = draw(
                st.sampled_from([0, 1, shape[axis] + 1, max(0, shape[axis] - 1), 2 * shape[axis]])
            )
    if not draw(st.integers(0, odds)):
        shape = draw(st.sampled_from([shape[:-1], [*shape, 1], [1, *shape], shape[::-1], []]))
    if not draw(st.integers(0, odds)):
        kind = np.dtype(draw(st.sampled_from(KINDS)))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        numbers = np.resize(sound, shape).astype(kind) if sound.size else np.zeros(shape, kind)
        if numbers.size and not draw(st.integers(0, odds)):
            flat = numbers.reshape(-1)
            edge = draw(st.sampled_from([np.nan, np.inf, -np.inf, 1e38, 0.0, -1.0]))
            flat[draw(st.integers(0, flat.size - 1)) :] = (
                edge if kind.kind == "f" else draw(st.integers(0, 1))
            )
    return numbers


@st.composite
def states(draw: Any, sound: dict[str, np.ndarray], odds: int) -> dict[str, np.ndarray]:
    """Named arrays like sound ones."""
    names = sorted(sound)
    anew = draw(st.sets(st.sampled_from(names), max_size=MAX_CHANGED))
    arrays_by_name = {
        name: draw(arrays(sound[name], odds)) if name in anew else sound[name] for name in names
    }
    if not draw(st.integers(0, odds)):
        arrays_by_name.pop(draw(st.sampled_from(names)))
    if not draw(st.integers(0, odds)):
        arrays_by_name[draw(st.text(max_size=9))] = sound[names[0]]
    return arrays_by_name


@st.composite
def tables(draw: Any, sound: pd.DataFrame, odds: int) -> pd.DataFrame:
    """A table like a sound one: of other columns, types, lengths and values."""
    rows = draw(st.sampled_from([len(sound)] * 12 + [0, 1, max(0, len(sound) - 1)]))
    columns: dict[str, Any] = {}
    for name in map(str, sound.columns):
        if not draw(st.integers(0, 2 * odds)):
            continue
        values = sound[name].iloc[:rows].reset_index(drop=True)
        if not draw(st.integers(0, odds)):
            values = values.astype(object)
            for row in draw(st.sets(st.integers(0, max(0, rows - 1)), max_size=3)) if rows else ():
                values.iloc[row] = draw(ATOMS)
        if not draw(st.integers(0, odds)):
            kind: Any = draw(st.sampled_from(COLUMNS))
            values = pd.Series(np.arange(rows)).astype(kind)
        columns[draw(st.text(max_size=5)) if not draw(st.integers(0, 2 * odds)) else name] = values
    table = pd.DataFrame(columns)
    return (
        table[draw(st.permutations(list(table.columns)))]
        if not draw(st.integers(0, odds))
        else table
    )


@st.composite
def fields(draw: Any, sound: str, odds: int) -> str:
    """A text like a sound one, line by line and field by field."""
    lines = sound.split("\n")
    pool = sorted({field for line in lines for field in line.replace("\t", " ").split(" ")})
    for row in draw(st.sets(st.integers(0, len(lines) - 1), min_size=1, max_size=4)):
        blank = "\t" if "\t" in lines[row] else " "
        cells = lines[row].split(blank)
        place = draw(st.integers(0, len(cells) - 1))
        cells[place] = str(draw(st.one_of(st.sampled_from(pool), EDGES, TEXTS)))
        if not draw(st.integers(0, odds)):
            cells = draw(
                st.sampled_from(
                    [
                        cells[:-1],
                        cells * 2,
                        cells[::-1],
                        [""],
                        [*cells, ""],
                    ]
                )
            )
        lines[row] = blank.join(cells)
    order = list(range(len(lines)))
    if not draw(st.integers(0, odds)):
        start = draw(st.integers(0, len(lines) - 1))
        order = draw(
            st.sampled_from([order[start:], order[:start], order + order[start:], order[::-1]])
        )
    return "\n".join(lines[row] for row in order)


@st.composite
def raw(draw: Any, sound: bytes, odds: int) -> bytes:
    """Bytes like sound ones: numbers of 1 to 8 bytes drawn anew, parts left out, put in, twice."""
    content = bytearray(sound)
    for _ in range(draw(st.integers(1, 3))):
        offset = draw(
            st.integers(0, max(0, len(content) - 1)) | st.integers(0, min(400, len(content)))
        )
        size = draw(st.sampled_from([1, 2, 4, 8]))
        number = draw(
            st.sampled_from(
                [0, 1, 3, 127, 128, 255, 2**15, 2**31, 2**32 - 1, 2**40, 2**63, 2**64 - 1]
            )
        )
        content[offset : offset + size] = (number % 2 ** (8 * size)).to_bytes(size, "little")
    if not draw(st.integers(0, odds)):
        offset, length = (
            draw(st.integers(0, len(content))),
            draw(st.sampled_from([1, 8, 100, 4096])),
        )
        content[offset : offset + length] = draw(
            st.sampled_from([b"", content[offset : offset + length] * 2, bytes(length)])
        )
    return bytes(content)


@dataclass(frozen=True)
class Schemas:
    """The files of a sound folder by their paths in it, each with what draws another one."""

    drawn: dict[str, Any]

    @classmethod
    def of(cls, folder: Path) -> "Schemas":
        """The schemas of a folder's files."""
        files = sorted(path for path in folder.rglob("*") if path.is_file())
        return cls({str(path.relative_to(folder)): _strategy(path) for path in files})

    def draw(self, count: int, name: str) -> Iterator[dict[str, Any]]:
        """So many sets of one or two files to be written; what a name draws is always the same."""
        drawings: list[dict[str, Any]] = []
        names = st.lists(st.sampled_from(sorted(self.drawn)), min_size=1, max_size=2, unique=True)
        quiet = list(HealthCheck)

        @seeded(name)
        @settings(
            max_examples=count,
            database=None,
            phases=[Phase.generate],
            suppress_health_check=quiet,
            deadline=None,
        )
        @given(st.data())
        def collect(data: Any) -> None:
            drawings.append(
                {file_name: data.draw(self.drawn[file_name]) for file_name in data.draw(names)}
            )

        collect()
        yield from drawings


def write(folder: Path, drawing: dict[str, Any]) -> str:
    """Writes drawn files into a folder, those that can be; what was written, in words."""
    for name, value in drawing.items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                _write(folder / name, value)
            except Exception:  # no file of this kind can hold it
                (folder / name).write_bytes(repr(value).encode("utf-8", "replace")[:4096])
    return " and ".join(drawing)


def _strategy(file: Path) -> Any:
    odds = st.sampled_from([6, 20, 60])
    kind, build = _read(file)
    return odds.flatmap(lambda level: build(kind, level))


def _read(file: Path) -> tuple[Any, Any]:
    """What a file holds, and the strategy of such things."""
    if file.suffix in (".json", ".jsonl"):
        lines = [file.read_text()] if file.suffix == ".json" else file.read_text().splitlines()
        with suppress(ValueError):  # lines under the name of one document are a text
            records = [json.loads(line) for line in lines if line]
            return records[0] if file.suffix == ".json" else records, documents
    if file.suffix == ".toml":
        return tomllib.loads(file.read_text()), documents
    if file.suffix in (".csv", ".parquet"):
        return (pd.read_csv if file.suffix == ".csv" else pd.read_parquet)(file), tables
    if file.suffix == ".safetensors":
        return file.read_bytes(), _containers
    if file.suffix == ".npz":
        return dict(np.load(file)), states
    if file.suffix == ".npy":
        return np.load(file), arrays
    content = file.read_bytes()
    try:
        return content.decode("utf-8"), fields
    except UnicodeDecodeError:
        return content, raw


@st.composite
def _containers(draw: Any, content: bytes, odds: int) -> Any:
    """Files of tensors: other tensors, or the same tensors with another header."""
    if draw(st.booleans()):
        return draw(states(safetensors.numpy.load(content), odds))
    (size,) = struct.unpack("<Q", content[:8])
    header = json.dumps(draw(documents(json.loads(content[8 : 8 + size]), odds))).encode()
    header_size = draw(st.sampled_from([len(header)] * 9 + [0, len(header) - 1, 2**63]))
    return struct.pack("<Q", header_size) + header + content[8 + size :]


def _write(file: Path, value: Any) -> None:
    if isinstance(value, bytes):
        file.write_bytes(value)
    elif file.suffix == ".safetensors":
        safetensors.numpy.save_file(value, file)
    elif isinstance(value, pd.DataFrame):
        value.to_parquet(file) if file.suffix == ".parquet" else value.to_csv(file, index=False)
    elif file.suffix == ".npz":
        np.savez(file, **value)
    elif file.suffix == ".npy":
        np.save(file, value)
    elif file.suffix == ".toml":
        file.write_text(tomli_w.dumps(value))
    elif file.suffix == ".jsonl":
        file.write_text("\n".join(json.dumps(line) for line in value))
    elif file.suffix == ".json":
        file.write_text(json.dumps(value))
    else:
        file.write_bytes(str(value).encode("utf-8", "surrogatepass"))
