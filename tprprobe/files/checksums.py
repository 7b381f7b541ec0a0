"""Checksums (CRC-32C) of bytes, by which damage is noticed, and digests (SHA-256) of files, by which they are named."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

import google_crc32c

READ_AT_ONCE = 2**18  # bytes, which stay in the processor's cache while they are copied


def extend(checksum: int, data: bytes | memoryview) -> int:
    for start in range(0, len(data), READ_AT_ONCE):
        checksum = google_crc32c.extend(checksum, bytes(data[start : start + READ_AT_ONCE]))
    return checksum


def sum_bytes(data: bytes | memoryview) -> str:
    return f"{extend(0, data):08x}"


def sum_file(file: Path) -> str:
    checksum = 0
    with open(file, "rb", buffering=0) as stream:
        while data := stream.read(READ_AT_ONCE):
            checksum = google_crc32c.extend(checksum, data)
    return f"{checksum:08x}"


def digest_files(files: Iterable[Path]) -> dict[str, str]:
    digests = {}
    for file in sorted(files):
        with file.open("rb") as stream:
            digests[file.name] = hashlib.file_digest(stream, "sha256").hexdigest()
    return digests
