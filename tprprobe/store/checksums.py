"""Checksums (CRC-32C) of a store's files, which its manifest keeps once it is complete."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import google_crc32c

from tprprobe.store.layout import ARRAYS, MANIFEST, SIZES, Part, arrays_of, parts_of
from tprprobe.store.manifests import CHECKSUMS, Manifest

READ_AT_ONCE = 2**18  # bytes
EMPTY = "00000000"
CHANGED = "is not what was written"

Checksums = dict[str, str]  # by file, in hexadecimal


@dataclass
class Ledger:
    """What a manifest keeps of the files of arrays: checksums, and the bytes of compressed ones."""

    sums: Checksums
    sizes: dict[str, int]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Ledger":
        """A copy of what a manifest knows, to be carried on."""
        return cls(dict(manifest.get(CHECKSUMS, {})), dict(manifest.get(SIZES, {})))

    def add(self, file: Path, data: bytes | memoryview, is_new: bool) -> None:
        """Carries a checksum on over data written at the file's end; an unknown one stays unknown."""
        key = _key(file)
        before = EMPTY if is_new else self.sums.get(key)
        if before is not None:
            self.sums[key] = f"{_extend(int(before, 16), data):08x}"

    def add_compressed(self, file: Path, data: bytes) -> None:
        """Adds a compressed file, which is written at one stroke."""
        self.add(file, data, is_new=True)
        self.sizes[_key(file)] = len(data)

    def as_dict(self) -> dict[str, Any]:
        """What goes into the manifest."""
        return {CHECKSUMS: self.sums} | ({SIZES: self.sizes} if self.sizes else {})


def _extend(checksum: int, data: bytes | memoryview) -> int:
    """The checksum carried on, over pieces that stay in the processor's cache while they are copied."""
    for start in range(0, len(data), READ_AT_ONCE):
        checksum = google_crc32c.extend(checksum, bytes(data[start : start + READ_AT_ONCE]))
    return checksum


def _key(file: Path) -> str:
    return f"{ARRAYS}/{file.parent.name}/{file.name}"


def with_checksums(path: Path, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest of a complete store with the checksum of every file and of itself.

    What was summed while it was written is not read again.
    """
    arrays, ledger = arrays_of(manifest), Ledger.of(manifest)
    for part in parts_of(manifest):
        if part.file in ledger.sums and part.site and part.rows:
            spec = arrays[part.site][0]
            written = (part.rows[1] - part.rows[0]) * spec.row_bytes
            if not spec.is_compressed:  # the last chunk was padded
                ledger.add(path / part.file, bytes(part.size - written), is_new=False)
    known = ledger.sums
    sums = {
        part.file: known.get(part.file) or sum_file(path / part.file) for part in parts_of(manifest)
    }
    sizes = {file: ledger.sizes[file] for file in sums if file in ledger.sizes}
    content = {key: value for key, value in manifest.items() if key not in (CHECKSUMS, SIZES)}
    content |= Ledger(sums, sizes).as_dict()
    return {**content, CHECKSUMS: {**sums, MANIFEST: sum_manifest(content)}}


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


def checksums_of(manifest: Mapping[str, Any]) -> Checksums:
    """The checksums by file; empty for a store that was written without them."""
    return manifest.get(CHECKSUMS) or {}


def is_as_written(manifest: Mapping[str, Any]) -> bool:
    """True unless a manifest contradicts its checksum."""
    written = checksums_of(manifest).get(MANIFEST)
    return written is None or written == sum_manifest(manifest)


def change_of(path: Path, part: Part, sums: Mapping[str, str]) -> str | None:
    """What a file's checksum says against it, if one was kept."""
    return CHANGED if sums.get(part.file) not in (None, sum_file(path / part.file)) else None
