"""`tprprobe train` of every recipe and every file of pairs in a folder, one after another, as one of several processes."""

import os
from collections.abc import Mapping
from pathlib import Path


def main(folder: Path, place: Mapping[str, str]) -> None:
    """The place is what a starter says of a process in its environment."""
    from tprprobe.cli import app

    os.environ |= place
    for recipe in sorted(folder.glob("*.toml")):
        app(["train", str(recipe), "--out", str(recipe.with_suffix(""))], standalone_mode=False)
    for pairs in folder.glob("*.tsv"):
        settings = ["stages.0.learning_rate=1e-9", "batch_size=8", "model.d_model=16", "patience=1"]
        options = [argument for setting in settings for argument in ("--set", setting)]
        arguments = ["train", "--data", str(pairs), "--out", str(pairs.with_suffix("")), *options]
        app(arguments, standalone_mode=False)
