"""The files that the name of a data set names."""

from pathlib import Path

from tprprobe import plugins
from tprprobe.files.checksums import digest_files

PAIRS = ((".source", ".target"), (".target", ".source"))  # endings of files that are read together


def digest_named(name: str) -> dict[str, str]:
    """The sha256 of the files of `FILE`, `FOLDER`, `FILE:COLUMN` or `PREFIX:FILE`; none of what is generated."""
    start, colon, suffix = name.partition(":")
    paths = [suffix] if colon else []
    if start not in plugins.find("data"):  # whose name a folder may bear, too
        paths += [name, name.rpartition(":")[0]]
    existing = [path for path in map(Path, filter(None, paths)) if path.exists()]
    return digest_files(_files(existing[0])) if existing else {}


def _files(path: Path) -> set[Path]:
    if path.is_dir():
        files = {*path.glob("[!.]*"), *path.glob("[!.]*/*.txt")}
    else:
        files = {path, *(path.with_name(path.name.replace(*pair)) for pair in PAIRS)}
    return {file for file in files if file.is_file()}
