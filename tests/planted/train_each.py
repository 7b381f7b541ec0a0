"""`tprprobe train` of every recipe of a folder, one after another, as one of several processes."""

import os
from collections.abc import Mapping
from pathlib import Path


def main(folder: Path, place: Mapping[str, str]) -> None:
    """The place is what a starter says of a process in its environment."""
    from tprprobe.cli import app

    os.environ |= place
    for recipe in sorted(folder.glob("*.toml")):
        app(["train", str(recipe), "--out", str(recipe.with_suffix(""))], standalone_mode=False)
