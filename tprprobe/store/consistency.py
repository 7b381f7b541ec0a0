"""What opening a store checks, cheaply: that manifest, metadata and token table speak of the same rows.

Files of numbers are measured, not read; the others are small, and read whole. A table that comes
without a checksum is asked for its number of rows.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import parse_json
from tprprobe.store.dtypes import disk_type
from tprprobe.store.layout import (
    ARRAYS,
    MANIFEST,
    METADATA,
    SIDES,
    TOKENS,
    SiteSpec,
    arrays_of,
    dimension_names,
    parts_of,
)
from tprprobe.store.manifests import (
    CHANGED,
    Manifest,
    change_of,
    check_files,
    checksums_of,
    is_as_written,
    undamaged,
)

if TYPE_CHECKING:
    import pandas as pd

ORDER = "endian"
COLUMNS = {"side": "UO", "sample": "iu", "token": "UO"}  # and the kinds of their types


def check_store(path: Path, manifest: Manifest) -> None:
    """Checks the lengths of all files and the content of those that say what the numbers are."""
    check_files(path, manifest)
    with undamaged(path):
        if not is_as_written(manifest):
            raise _damage(path / MANIFEST, CHANGED)
        sums = checksums_of(manifest)
        for part in parts_of(manifest):
            if part.rows is None and (fault := change_of(path, part, sums)):
                raise _damage(path / part.file, fault)
        _check_metadata(path / ARRAYS, manifest)
        if TOKENS not in sums:
            _check_count(path / TOKENS, manifest)


def check_tokens(path: Path, manifest: Manifest, table: "pd.DataFrame") -> "pd.DataFrame":
    """The token table of a store, if it has a row for every row of the arrays, sample by sample."""
    for name, kinds in COLUMNS.items() if manifest["samples"] else ():
        if name not in table:
            raise _damage(path, f"lacks the column {name}")
        held = getattr(table[name].dtype, "categories", table[name]).dtype
        if held.kind not in kinds:
            raise _damage(path, f"has {held} in the column {name}")
    count = table["side"].value_counts()
    counts = {side: int(count.get(side, 0)) for side in SIDES} | {"rows": len(table)}
    sides = {side: manifest["lengths"].get(side, 0) for side in SIDES}
    wanted = sides | {"rows": sum(sides.values())}
    counts["samples"], wanted["samples"] = table["sample"].nunique(), manifest["samples"]
    for name, number in wanted.items():
        if counts[name] != number:
            raise _damage(path, f"has {counts[name]} {name} where the manifest says {number}")
    keys = table["sample"].to_numpy() * len(SIDES) + (table["side"] == SIDES[1]).to_numpy()
    if (keys[1:] < keys[:-1]).any():
        raise _damage(path, "is not in the order of samples and sides")
    return table


def _check_count(file: Path, manifest: Manifest) -> None:
    import pyarrow.parquet as pq  # for stores without checksums

    rows, wanted = (
        pq.read_metadata(file).num_rows,
        sum(manifest["lengths"].get(s, 0) for s in SIDES),
    )
    if rows != wanted:
        raise _damage(file, f"has {rows} rows where the manifest says {wanted}")


def _check_metadata(root: Path, manifest: Manifest) -> None:
    arrays = arrays_of(manifest)
    names = dimension_names({name: spec for name, (spec, _) in arrays.items()})
    group = parse_json((root / METADATA).read_bytes(), root / METADATA)
    inline = group["consolidated_metadata"]["metadata"]
    if inline.keys() != arrays.keys():
        other = ", ".join(sorted(inline.keys() ^ arrays.keys()))
        raise _damage(root / METADATA, f"has other arrays than the manifest ({other})")
    for name, (spec, rows) in arrays.items():
        file = root / name / METADATA
        wanted = dict(_layout(spec, rows, names[name]))
        for place, document in (
            (file, parse_json(file.read_bytes(), file)),
            (root / METADATA, inline[name]),
        ):
            for key, value in _facts(document).items():
                if value != wanted[key]:
                    said = json.dumps(value)
                    raise _damage(
                        place,
                        f"says {key} {said} of {name}, the manifest {json.dumps(wanted[key])}",
                    )


def _layout(spec: SiteSpec, rows: int, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """What the metadata of an array must say of it."""
    kind = disk_type(spec.dtype)
    yield "shape", [rows, *spec.shape]
    yield "dtype", kind.newbyteorder("=").name
    yield "chunks", [max(1, min(rows, spec.chunk_rows)), *spec.shape]
    yield "axes", list(names)
    yield ORDER, "little"


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
