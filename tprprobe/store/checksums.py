"""Checksums (CRC-32C) of a store's files, which its manifest keeps once it is complete."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google_crc32c

from tprprobe.store.layout import MANIFEST, arrays_of, parts_of
from tprprobe.store.manifests import CHECKSUMS, Manifest

READ_AT_ONCE = 2**18  # bytes
EMPTY = "00000000"

Checksums = dict[str, str]  # by file, in hexadecimal


def add_to_sum(sums: Checksums, file: str, is_new: bool, data: bytes | memoryview) -> None:
    """Carries a file's checksum on over data written at its end; of an unknown one it stays unknown."""
    before = EMPTY if is_new else sums.get(file)
    if before is not None:
        sums[file] = f"{google_crc32c.extend(int(before, 16), bytes(data)):08x}"


def with_checksums(path: Path, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest of a complete store with the checksum of every file and of itself.

    What was summed while it was written is not read again.
    """
    sites, known = arrays_of(manifest), dict(manifest.get(CHECKSUMS, {}))
    for part in parts_of(manifest):
        if part.file in known and part.site and part.rows:
            written = (part.rows[1] - part.rows[0]) * sites[part.site][0].row_bytes
            add_to_sum(known, part.file, False, bytes(part.size - written))
    sums = {
        part.file: known.get(part.file) or sum_file(path / part.file) for part in parts_of(manifest)
    }
    summed = {**manifest, CHECKSUMS: sums}
    return {**summed, CHECKSUMS: {**sums, MANIFEST: sum_manifest(summed)}}


def sum_file(file: Path) -> str:
    """The checksum of a file."""
    checksum = 0
    with open(file, "rb", buffering=0) as stream:
        while data := stream.read(READ_AT_ONCE):
            checksum = google_crc32c.extend(checksum, data)
    return f"{checksum:08x}"


def sum_manifest(manifest: Mapping[str, Any]) -> str:
    """The checksum of all that a manifest says but this checksum."""
    sums = {file: each for file, each in manifest[CHECKSUMS].items() if file != MANIFEST}
    text = json.dumps({**manifest, CHECKSUMS: sums}, sort_keys=True)
    return f"{google_crc32c.value(text.encode()):08x}"
