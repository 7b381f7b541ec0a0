"""Finding what ships beside the code: checkpoints, probe tasks, the dashboard."""

import os
from pathlib import Path

from tprprobe.errors import unknown

_PACKAGE = Path(__file__).parents[1]


def roots(kind: str) -> list[Path]:
    """The folders searched for ``kind`` (models, probes, app): $TPRPROBE_PATH, wheel, checkout."""
    folders = map(Path, filter(None, os.environ.get("TPRPROBE_PATH", "").split(os.pathsep)))
    bases = [*folders, _PACKAGE / "shipped", _PACKAGE.parent]
    return [base / kind for base in bases if (base / kind).is_dir()]


def available(kind: str) -> dict[str, Path]:
    """Every named folder of ``kind``; of equal names the first root's."""
    path_of_name: dict[str, Path] = {}
    for path in (path for root in roots(kind) for path in sorted(root.iterdir())):
        if path.is_dir() and path.name[0] not in "._":
            path_of_name.setdefault(path.name, path)
    return path_of_name


def find(kind: str, name: str | os.PathLike[str]) -> Path:
    """The folder of ``name``: an existing path, else the asset of that name that ships."""
    if Path(name).is_dir():
        return Path(name)
    paths = available(kind)
    if str(name) in paths:
        return paths[str(name)]
    raise unknown(f"{kind[:-1] if kind.endswith('s') else kind} or folder", name, paths)
