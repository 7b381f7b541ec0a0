"""`tprprobe train` of every recipe of a folder, one after another: processes import only once."""

import sys
from pathlib import Path


def main(folder: Path) -> None:
    from tprprobe.cli import app

    for recipe in sorted(folder.glob("*.toml")):
        app(["train", str(recipe), "--out", str(recipe.with_suffix(""))], standalone_mode=False)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
