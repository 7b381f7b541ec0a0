"""What of a store is not as it was written: what opening it checks, cheaply, and what reading every file finds.

Opening checks that manifest, metadata and token table speak of the same rows: files of numbers are measured, not
read; the others are small, and read whole. A table that comes without a checksum is asked for its number of rows.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tprprobe.errors import InputError
from tprprobe.files.checksums import sum_file
from tprprobe.files.jsonfiles import parse_json
from tprprobe.store import layout
from tprprobe.store.dtypes import disk_type
from tprprobe.store.layout import ARRAYS, MANIFEST, METADATA, SIDES, TOKENS, Part
from tprprobe.store.manifests import (
    Manifest,
    check_files,
    fault_of,
    read_complete,
    sum_manifest,
    undamaged,
)

if TYPE_CHECKING:
    import pandas as pd

CHANGED = "is not what was written"
ORDER = "endian"
COLUMNS = {"side": "UO", "sample": "iu", "token": "UO"}  # and the kinds of their types


def check_store(path: Path, manifest: Manifest) -> None:
    """Checks the lengths of all files and the content of those that say what the numbers are."""
    check_files(path, manifest)
    with undamaged(path):
        if not is_as_written(manifest):
            raise _damage(path / MANIFEST, CHANGED)
        for entry in manifest.files.parts():
            if entry.rows is None and (fault := _change_of(path, entry, manifest)):
                raise _damage(path / entry.file, fault)
        _check_metadata(path / ARRAYS, manifest)
        if TOKENS not in manifest.checksums:
            import pyarrow.parquet as pq

            rows, lengths = pq.read_metadata(path / TOKENS).num_rows, manifest.lengths
            if rows != (expected := sum(lengths.get(side, 0) for side in SIDES)):
                raise _damage(path / TOKENS, f"has {rows} rows where the manifest says {expected}")


def check_twin(path: Path, manifest: Manifest, kind: str, twin: Manifest) -> None:
    """Checks that the store of a twin is of this store's model, made a twin of this kind, on the same data.

    Stores that do not name the files of their model are older than the bond and are not checked.
    """
    if "files" not in manifest.model.model_fields_set:
        return
    twin_model, name = twin.model, str(twin.model.name)
    is_bound = twin_model.twin_of == manifest.model.sha256 and name.startswith(f"{kind}:")
    data, twin_data = (each.data.model_copy(update={"n": None}) for each in (manifest, twin))
    if not is_bound or data != twin_data:
        description = f"{name} on {twin_data.name}"
        raise InputError(
            f"{path / kind} is no control of {path} (it is of {description}, or of other files): extract it again"
        )


def check_tokens(path: Path, manifest: Manifest, table: "pd.DataFrame") -> "pd.DataFrame":
    """The token table of a store, if it has a row for every row of the arrays, sample by sample."""
    for name, kinds in COLUMNS.items() if manifest.samples else ():
        if name not in table:
            raise _damage(path, f"lacks the column {name}")
        kind = getattr(table[name].dtype, "categories", table[name]).dtype
        if kind.kind not in kinds:
            raise _damage(path, f"has {kind} in the column {name}")
    expected = {side: manifest.lengths.get(side, 0) for side in SIDES}
    expected |= {"rows": sum(expected.values()), "samples": manifest.samples}
    count = {"rows": len(table), "samples": table["sample"].nunique()}
    count |= {side: int((table["side"] == side).sum()) for side in SIDES}
    for name, number in expected.items():
        if count[name] != number:
            raise _damage(path, f"has {count[name]} {name} where the manifest says {number}")
    keys = table["sample"].to_numpy() * len(SIDES) + (table["side"] == SIDES[1]).to_numpy()
    if (keys[1:] < keys[:-1]).any():
        raise _damage(path, "is not in the order of samples and sides")
    return table


def _check_metadata(root: Path, manifest: Manifest) -> None:
    arrays = manifest.files.arrays
    names = layout.dimension_names({name: spec for name, (spec, _) in arrays.items()})
    group = parse_json((root / METADATA).read_bytes(), root / METADATA)
    inline = group["consolidated_metadata"]["metadata"]
    if inline.keys() != arrays.keys():
        different = ", ".join(sorted(inline.keys() ^ arrays.keys()))
        raise _damage(root / METADATA, f"has other arrays than the manifest ({different})")
    for name, (spec, rows) in arrays.items():
        expected = {
            "shape": [rows, *spec.shape],
            "dtype": disk_type(spec.dtype).newbyteorder("=").name,
            "chunks": [max(1, min(rows, spec.chunk_rows)), *spec.shape],
            "axes": list(names[name]),
            ORDER: "little",
        }
        file = root / name / METADATA
        documents = {file: parse_json(file.read_bytes(), file), root / METADATA: inline[name]}
        for place, document in documents.items():
            for key, value in _facts(document).items():
                if value != expected[key]:
                    stored_value, expected_value = json.dumps(value), json.dumps(expected[key])
                    raise _damage(
                        place, f"says {key} {stored_value} of {name}, the manifest {expected_value}"
                    )


def _facts(document: Mapping[str, Any]) -> dict[str, Any]:
    """What the metadata of an array says of it."""
    return {
        "shape": document["shape"],
        "dtype": document["data_type"],
        "chunks": document["chunk_grid"]["configuration"]["chunk_shape"],
        "axes": document["dimension_names"],
        ORDER: document["codecs"][0]["configuration"][ORDER],
    }


def _damage(file: Path, fault: str) -> InputError:
    return InputError(f"{file} {fault}: the store is damaged, extract it again")


def is_as_written(manifest: Manifest) -> bool:
    """True unless a manifest contradicts its checksum."""
    digest = manifest.checksums.get(MANIFEST)
    return digest is None or digest == sum_manifest(manifest.content)


def _change_of(path: Path, entry: Part, manifest: Manifest) -> str | None:
    """What a file's checksum says against it, if one was kept."""
    digest = manifest.checksums.get(entry.file)
    return CHANGED if digest not in (None, sum_file(path / entry.file)) else None


@dataclass(frozen=True)
class Damage:
    """A damaged file of a store, what is wrong with it, and the site and the rows that it holds."""

    file: str
    fault: str
    site: str | None = None
    rows: tuple[int, int] | None = None

    def __str__(self) -> str:
        description = f"{self.file} {self.fault}"
        if self.rows is None:
            return description
        return f"{self.site}, rows {self.rows[0]} to {self.rows[1] - 1} ({description})"


@dataclass(frozen=True)
class Verification:
    """The damage of a store and its twins; of ``unchecked`` files, which have no checksum, only the
    lengths could be compared.
    """

    store: Path
    files: int
    unchecked: int
    damage: list[Damage]


def verify(path: Path) -> Verification:
    """The damage of a store and its twins, every file read once."""
    files, damage, unchecked = 0, [], 0
    for kind, store in {"": path, **layout.twins_in(path)}.items():
        manifest = read_complete(store)
        if kind:
            check_twin(path, read_complete(path), kind, manifest)
        with undamaged(store):
            damaged = list(find_damage(store, manifest))
            names = [MANIFEST, *(entry.file for entry in manifest.files.parts())]
            unchecked += len({*names} - manifest.checksums.keys())
        files += len(names)
        damage += [
            replace(fault, file=f"{kind}/{fault.file}") if kind else fault for fault in damaged
        ]
    return Verification(path, files, unchecked, damage)


def find_damage(path: Path, manifest: Manifest) -> Iterator[Damage]:
    """The damaged files of a store, its twins' left out; every file is read once."""
    if not is_as_written(manifest):
        yield Damage(MANIFEST, CHANGED)
    for entry in manifest.files.parts():
        if fault := fault_of(path, entry) or _change_of(path, entry, manifest):
            yield Damage(entry.file, fault, entry.site, entry.rows)
