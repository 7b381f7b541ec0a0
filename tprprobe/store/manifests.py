"""The manifest of a store: its journal while it is written, and the check of its files."""

import json
from collections.abc import Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.files.checksums import extend, sum_bytes, sum_file
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import flatten, parse_json
from tprprobe.files.writing import is_partial, write_file
from tprprobe.store.layout import (
    ARRAYS,
    JOURNAL,
    MANIFEST,
    METADATA,
    SIZES,
    Part,
    SiteSpec,
    arrays_of,
    parts_of,
)

FORMAT = "tprprobe-store"
PLAIN, COMPRESSED = 1, 2  # versions of the format: the second knows compressed sites
CHECKSUMS = "checksums"  # which older stores lack
COUNTS = "counts"  # of tokens, words and targets, and of those without the other
PROGRESS = ("complete", "samples", "lengths", "token_bytes", COUNTS, CHECKSUMS, SIZES)
KEYS = {"format", "version", "sites", *PROGRESS} - {COUNTS, CHECKSUMS, SIZES}

Manifest = dict[str, Any]


def read_manifest(path: Path, advice: str = "give the folder of a store") -> Manifest | None:
    """The manifest of the store at ``path`` so far; None where there is nothing. ``advice`` ends the error where there is something else."""
    for name in (MANIFEST, JOURNAL):
        if (path / name).is_file():
            return _read(path / name)
    if path.exists() and not (path.is_dir() and all(map(is_partial, path.iterdir()))):
        raise InputError(f"{path} is not a store (it has no {MANIFEST}): {advice}")
    return None


def read_begun(path: Path, resume: bool) -> Manifest | None:
    """The manifest of the store that a run goes on with at ``path``; None where it begins.

    Raises:
        InputError: the folder holds something else, or (no ``resume``) a store.
    """
    begun = read_manifest(path, "give a new folder to write to")
    if begun is not None and not resume:
        said = (
            "already holds a complete store; give another folder or remove it"
            if is_finished(path)
            else "holds a store that was not finished; go on with --resume, give another folder or remove it"
        )
        raise InputError(f"{path} {said}")
    return begun


def read_complete(path: Path) -> Manifest:
    """The manifest of the complete store at ``path``."""
    manifest = read_manifest(path)
    if manifest is None:
        raise InputError(f"no store at {path}: make one with `tprprobe extract --out {path}`")
    if not is_finished(path):
        raise InputError(
            f"{path} is not complete ({manifest['samples']} samples so far): go on with "
            f"`tprprobe extract … --out {path} --resume`"
        )
    return manifest


def is_finished(path: Path) -> bool:
    """True once the store is complete, down to its last file operation."""
    return (path / MANIFEST).exists()


def _read(file: Path) -> Manifest:
    with undamaged(file.parent):
        content = file.read_bytes()
    where = f"{file.parent} is damaged: its {file.name}"
    manifest = parse_json(content, where, "extract it again")
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise InputError(f"{file.parent} is not a store: its {file.name} is of something else")
    if manifest.get("version") not in (PLAIN, COMPRESSED):
        raise InputError(
            f"{file.parent} has version {manifest.get('version')} of the store's format, this "
            f"tprprobe reads versions {PLAIN} and {COMPRESSED}: extract again, or use the tprprobe that "
            "wrote it"
        )
    if not manifest.keys() >= KEYS:
        missing = ", ".join(sorted(KEYS - manifest.keys()))
        raise InputError(f"{file.parent} is damaged ({file.name} lacks {missing}): extract again")
    return manifest


def write_manifest(file: Path, manifest: Mapping[str, Any]) -> None:
    """Replaces the manifest atomically: it never exists half written."""
    write_file(file, json.dumps(manifest, indent=1, ensure_ascii=False) + "\n")


def describe(sites: Mapping[str, SiteSpec], settings: Mapping[str, Any]) -> Manifest:
    """What the manifest of a store with these sites says of it from the start, in JSON types."""
    is_compressed = any(spec.is_compressed for spec in sites.values())
    header = {"format": FORMAT, "version": COMPRESSED if is_compressed else PLAIN}
    sites_json = {name: spec.as_dict() for name, spec in sites.items()}
    return json.loads(json.dumps({**header, **settings, **header, "sites": sites_json}))


def check_same(path: Path, begun: Mapping[str, Any], wanted: Mapping[str, Any]) -> None:
    """Checks that two manifests are of the same model, data and sites."""
    old, new = (
        flatten({k: v for k, v in of.items() if k not in PROGRESS}) for of in (begun, wanted)
    )
    for key in [key for key in (*new, *old) if key != "version"]:  # which follows from the sites
        if old.get(key) != new.get(key):
            room, _, file = key.partition(".files.")
            if file:
                raise InputError(
                    f"{path} was begun with another {file} of the {room}: put that back, or give another folder"
                )
            was, now = (json.dumps(each.get(key), ensure_ascii=False) for each in (old, new))
            raise InputError(
                f"{path} was begun with {key} {was}, now it is {now}: give the same settings, or "
                "another folder"
            )


def check_files(path: Path, manifest: Manifest, growing: bool = False) -> None:
    """Checks that every file is there at its full length: Zarr reads a missing chunk as NaN.

    Those of a store that is ``growing`` may be longer.
    """
    with undamaged(path):
        for part in parts_of(manifest):
            if fault := fault_of(path, part, growing):
                raise InputError(
                    f"{path / part.file} {fault}: the store is damaged, extract it again"
                )


def fault_of(path: Path, part: Part, growing: bool = False) -> str | None:
    """What a file's length tells against it: missing, cut short or, of numbers all written, too long."""
    try:
        size = (path / part.file).stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    least = growing or part.file.endswith(METADATA)  # whose lengths no manifest knows
    wrong = size < part.size if least else size != part.size
    return f"has {size} of {part.size} bytes" if wrong else None


def undamaged(path: Path) -> AbstractContextManager[None]:
    """A block in which every error of reading is one line: the store is damaged."""
    return as_input_error(f"{path} is damaged", "extract it again")


EMPTY = "00000000"


@dataclass
class Ledger:
    """What a manifest keeps of the files of arrays: checksums, and the bytes of compressed ones."""

    sums: dict[str, str]  # by file, in hexadecimal
    sizes: dict[str, int]

    @classmethod
    def of(cls, manifest: Mapping[str, Any]) -> "Ledger":
        """A copy of what a manifest knows, to be carried on."""
        return cls(dict(manifest.get(CHECKSUMS, {})), dict(manifest.get(SIZES, {})))

    def add(self, file: Path, data: bytes | memoryview, is_new: bool, packed: bool = False) -> None:
        """Carries a checksum on over data written at the file's end; an unknown one stays unknown."""
        key = f"{ARRAYS}/{file.parent.name}/{file.name}"
        before = EMPTY if is_new else self.sums.get(key)
        if before is not None:
            self.sums[key] = f"{extend(int(before, 16), data):08x}"
        if packed:
            self.sizes[key] = len(data)

    def as_dict(self) -> dict[str, Any]:
        return {CHECKSUMS: self.sums} | ({SIZES: self.sizes} if self.sizes else {})


def with_checksums(path: Path, manifest: Mapping[str, Any]) -> Manifest:
    """The manifest of a complete store with the checksum of every file and of itself.

    What was summed while it was written is not read again.
    """
    arrays, ledger, sums = arrays_of(manifest), Ledger.of(manifest), {}
    for part in parts_of(manifest):
        if part.file in ledger.sums and part.site and part.rows:
            spec = arrays[part.site][0]
            if not spec.is_compressed:  # the last chunk was padded
                written = (part.rows[1] - part.rows[0]) * spec.row_bytes
                ledger.add(path / part.file, bytes(part.size - written), is_new=False)
        sums[part.file] = ledger.sums.get(part.file) or sum_file(path / part.file)
    sizes = {file: ledger.sizes[file] for file in sums if file in ledger.sizes}
    content = {key: value for key, value in manifest.items() if key not in (CHECKSUMS, SIZES)}
    content |= Ledger(sums, sizes).as_dict()
    return {**content, CHECKSUMS: {**sums, MANIFEST: sum_manifest(content)}}


def sum_manifest(manifest: Mapping[str, Any]) -> str:
    """The checksum of all that a manifest says but this checksum."""
    sums = {file: each for file, each in manifest[CHECKSUMS].items() if file != MANIFEST}
    text = json.dumps({**manifest, CHECKSUMS: sums}, sort_keys=True)
    return sum_bytes(text.encode())


def checksums_of(manifest: Mapping[str, Any]) -> dict[str, str]:
    """The checksums by file; empty for a store that was written without them."""
    return manifest.get(CHECKSUMS) or {}
