"""`tprprobe train` of every recipe of a folder, one after another: processes import only once."""

import sys
from pathlib import Path

from tprprobe.cli import app

for recipe in sorted(Path(sys.argv[1]).glob("*.toml")):
    app(["train", str(recipe), "--out", str(recipe.with_suffix(""))], standalone_mode=False)
