"""The manifest of a store: its journal while it is written, and the check of its files."""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, NonNegativeInt

from tprprobe.errors import InputError
from tprprobe.files.checksums import extend, sum_bytes, sum_file
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import flatten, parse_json
from tprprobe.files.settings import Document, parse
from tprprobe.files.writing import is_partial, write_file
from tprprobe.store import layout
from tprprobe.store.layout import JOURNAL, MANIFEST, Part, SiteSpec

FORMAT = "tprprobe-store"
PLAIN, COMPRESSED = 1, 2  # versions of the format: the second knows compressed sites

Content = dict[str, Any]  # a manifest as it stands in its file
Progress = Content  # the keys that say how far the store is written:
PROGRESS = ("complete", "samples", "lengths", "token_bytes", "counts", "checksums", "sizes")


class Origin(Document):
    """A model, or data: its name, and the digests of the files that it was read from."""

    name: str | None = None
    sha256: str | None = None
    files: dict[str, str] = Field(default_factory=dict)
    twin_of: str | None = None  # of a twin, the fingerprint of the model that it is a control of
    split: str | None = None
    seed: int | None = None
    n: int | None = None


class Manifest(Document):
    """What a store says of itself; see PROGRESS for how far it is written."""

    content: Content  # as it stands in the file
    format: Literal["tprprobe-store"]
    version: int
    sites: dict[str, SiteSpec]
    complete: bool
    samples: NonNegativeInt
    lengths: dict[str, NonNegativeInt]  # rows by axis
    token_bytes: NonNegativeInt
    counts: dict[str, int] = Field(default_factory=dict)  # of tokens, words and targets
    checksums: dict[str, str] = Field(default_factory=dict)  # by file, which older stores lack
    sizes: dict[str, NonNegativeInt] = Field(default_factory=dict)  # bytes of compressed files
    model: Origin = Origin()
    data: Origin = Origin()
    model_folder: str | None = None  # where its files lay; no part of what the store is of
    imported: dict[str, object] | None = None  # the dump that the store was made of
    target: str | None = None
    labels: dict[str, dict[str, Any] | None] = Field(default_factory=dict)  # labellers by task
    attention_samples: int | None = None
    pool: str | None = None
    words: str | None = None
    reading: dict[str, object] = Field(default_factory=dict)
    tprprobe: str | None = None

    @classmethod
    def of(cls, content: Content, where: object) -> "Manifest":
        """The manifest that a file holds, its keys as this version names them."""
        facts = {key: v for key, v in content.items() if v is not None}
        for key in ("model", "data"):  # a text, in stores of other programs
            if isinstance(name := facts.get(key), str):
                facts[key] = {"name": name}
        if isinstance(labels := facts.get("labels"), list):
            facts["labels"] = dict.fromkeys(labels)
        return parse(cls, {**facts, "content": content}, where)

    @property
    def guessed(self) -> dict[str, str]:
        """What labelled the texts that nobody did, by task, such as a pipeline of spaCy."""
        return {task: str(origin["source"]) for task, origin in self.labels.items() if origin}

    @cached_property
    def arrays(self) -> dict[str, tuple[SiteSpec, int]]:
        arrays = layout.all_arrays(self.sites)
        return {name: (spec, self.lengths.get(spec.rows, 0)) for name, spec in arrays.items()}

    def parts(self) -> Iterator[Part]:
        for name, (spec, rows) in self.arrays.items():
            for index, size in enumerate(spec.chunk_sizes(rows, padded=self.complete)):
                start = index * spec.chunk_rows
                row_range = (start, min(start + spec.chunk_rows, rows))
                file = f"{layout.ARRAYS}/{name}/{spec.chunk_file(index)}"
                if spec.is_compressed:
                    full = self.complete or row_range[1] - start == spec.chunk_rows
                    file, size = (file, self.sizes[file]) if full else (file + layout.BEGUN, size)
                yield Part(file, size, name, row_range)
            if self.complete:
                yield Part(f"{layout.ARRAYS}/{name}/{layout.METADATA}", 1, name)
        if self.complete:
            yield Part(f"{layout.ARRAYS}/{layout.METADATA}", 1)
        if self.complete or self.token_bytes:
            yield Part(layout.TOKENS if self.complete else layout.TOKENS_BEGUN, self.token_bytes)

    def describe(self) -> list[dict[str, object]]:
        rows = []
        for name in self.sites:
            spec, count = self.arrays[name]
            size = count * spec.row_bytes
            if spec.is_compressed:
                size = sum(n for file, n in self.sizes.items() if file.split("/")[1] == name)
            facts = (" × ".join(spec.axes), (count, *spec.shape), spec.dtype, spec.compression)
            rows.append(dict(zip(layout.DESCRIBED, (name, *facts, size), strict=True)))
        return rows


def read_manifest(path: Path, advice: str = "give the folder of a store") -> Manifest | None:
    for name in (MANIFEST, JOURNAL):
        if (path / name).is_file():
            return _read(path / name)
    if path.exists() and not (path.is_dir() and all(map(is_partial, path.iterdir()))):
        raise InputError(f"{path} is not a store (it has no {MANIFEST}): {advice}")
    return None


def read_begun(path: Path, resume: bool) -> Manifest | None:
    """The manifest of the store that a run goes on with at ``path``, if ``resume`` says so; None where it begins."""
    begun = read_manifest(path, "give a new folder to write to")
    if begun is not None and not resume:
        state = "complete" if is_finished(path) else "not finished"
        advice = "" if is_finished(path) else "go on with --resume, "
        raise InputError(f"{path} holds a store, {state}: {advice}give another folder or remove it")
    return begun


def read_complete(path: Path) -> Manifest:
    manifest = read_manifest(path)
    if manifest is None:
        raise InputError(f"no store at {path}: make one with `tprprobe extract --out {path}`")
    if not is_finished(path):
        raise InputError(
            f"{path} is not complete ({manifest.samples} samples so far): go on with "
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
            f"{file.parent} has version {manifest.get('version')} of the store's format, which this tprprobe does "
            "not read: extract again, or use the tprprobe that wrote it"
        )
    return Manifest.of(manifest, f"{where} cannot be read, extract it again")


def write_manifest(path: Path, content: Content, progress: Progress) -> Manifest:
    """The manifest of a store that is being written, with its progress last; its file is replaced whole."""
    now = {**content, **progress}
    content = without_progress(now) | {k: now[k] for k in PROGRESS if k in now}
    write_file(path / JOURNAL, json.dumps(content, indent=1, ensure_ascii=False) + "\n")
    return Manifest.of(content, path / JOURNAL)


def describe(sites: Mapping[str, SiteSpec], settings: Mapping[str, object]) -> Content:
    """What the manifest of a store with these sites says of it from the start, in JSON types."""
    is_compressed = any(spec.is_compressed for spec in sites.values())
    header = {"format": FORMAT, "version": COMPRESSED if is_compressed else PLAIN}
    sites_json = {name: spec.as_dict() for name, spec in sites.items()}
    return json.loads(json.dumps({**header, **settings, **header, "sites": sites_json}))


def without_progress(content: Content) -> Content:
    return {k: v for k, v in content.items() if k not in PROGRESS}


def check_same(path: Path, begun: Content, content: Content) -> None:
    settings = [flatten(without_progress(manifest)) for manifest in (begun, content)]
    for key in (key for values in reversed(settings) for key in values):
        before, now = (json.dumps(values.get(key), ensure_ascii=False) for values in settings)
        if before == now or key in ("version", "model_folder"):  # the former follows from the sites
            continue
        room, _, file = key.partition(".files.")
        if file:
            raise InputError(f"{path} was begun with another {file} of the {room}: put that back")
        change = f"{key} {before}, now it is {now}"
        raise InputError(f"{path} was begun with {change}: give the same, or another folder")


def check_begun(path: Path, manifest: Manifest) -> None:
    """Checks that every file of a store that grows has its length at least: Zarr reads a missing chunk as NaN."""
    with undamaged(path):
        for entry in manifest.parts():
            if fault := fault_of(path, entry, growing=True):
                raise InputError(f"{path / entry.file} {fault}: damaged, extract the store again")


def fault_of(path: Path, entry: Part, growing: bool = False) -> str | None:
    try:
        size = (path / entry.file).stat().st_size
    except (FileNotFoundError, NotADirectoryError):
        return "is missing"
    may_grow = growing or entry.file.endswith(layout.METADATA)  # whose lengths no manifest knows
    wrong = size < entry.size if may_grow else size != entry.size
    return f"has {size} of {entry.size} bytes" if wrong else None


def undamaged(path: Path) -> AbstractContextManager[None]:
    return as_input_error(f"{path} is damaged", "extract it again")


EMPTY = "00000000"


@dataclass
class Ledger:
    """The checksums of the files of arrays, and the bytes of compressed ones, carried on while they are written."""

    sums: dict[str, str]  # by file, in hexadecimal
    sizes: dict[str, int]

    @classmethod
    def of(cls, manifest: Manifest) -> "Ledger":
        return cls(dict(manifest.checksums), dict(manifest.sizes))

    def add(self, file: Path, data: bytes | memoryview, is_new: bool, packed: bool = False) -> None:
        """Carries a checksum on over data written at the file's end; an unknown one stays unknown."""
        key = f"{layout.ARRAYS}/{file.parent.name}/{file.name}"
        before = EMPTY if is_new else self.sums.get(key)
        if before is not None:
            self.sums[key] = f"{extend(int(before, 16), data):08x}"
        if packed:
            self.sizes[key] = len(data)

    def progress(self) -> Progress:
        sums: Progress = {"checksums": self.sums}
        return {**sums, "sizes": self.sizes} if self.sizes else sums


def with_checksums(path: Path, manifest: Manifest) -> Progress:
    """The checksum of every file of a complete store and of its manifest; of many the ledger knows it."""
    arrays, ledger, sums = manifest.arrays, Ledger.of(manifest), {}
    for entry in manifest.parts():
        if entry.file in ledger.sums and entry.site and entry.rows:
            spec = arrays[entry.site][0]
            if not spec.is_compressed:  # the last chunk was padded
                n_bytes = (entry.rows[1] - entry.rows[0]) * spec.row_bytes
                ledger.add(path / entry.file, bytes(entry.size - n_bytes), is_new=False)
        sums[entry.file] = ledger.sums.get(entry.file) or sum_file(path / entry.file)
    sizes = {file: ledger.sizes[file] for file in sums if file in ledger.sizes}
    progress = Ledger(sums, sizes).progress()
    total = sum_manifest({**manifest.content, **progress})
    return {**progress, "checksums": {**sums, MANIFEST: total}}


def sum_manifest(content: Content) -> str:
    sums = {file: digest for file, digest in content["checksums"].items() if file != MANIFEST}
    text = json.dumps({**content, "checksums": sums}, sort_keys=True)
    return sum_bytes(text.encode())
