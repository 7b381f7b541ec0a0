"""Checksums (CRC-32C) of a store's files, which its manifest keeps once it is complete."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import google_crc32c

from tprprobe.store.layout import MANIFEST, parts_of
from tprprobe.store.manifests import CHECKSUMS, Manifest

READ_AT_ONCE = 2**18  # bytes


def with_checksums(path: Path, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest of a complete store with the checksum of every file and of itself."""
    sums = {part.file: sum_file(path / part.file) for part in parts_of(manifest)}
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
