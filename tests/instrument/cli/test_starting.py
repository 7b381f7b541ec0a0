"""Commands import what they need when they need it: lists, help and stores are told at once."""

import subprocess
import sys

from tprprobe.cli import COMMANDS

HELPED = """
import sys
from tprprobe.cli import app

heavy = {"torch", "pandas", "matplotlib", "sklearn", "scipy", "zarr", "xarray", "numpy"}
for command in (["--help"], ["models"], ["figure"], *([name, "--help"] for name in sys.argv[1:])):
    try:
        app(command, standalone_mode=False)
    finally:
        assert not heavy & {*sys.modules}, (command, heavy & {*sys.modules})
"""
INSPECTED = """
import sys
from tprprobe.cli import app

app(["inspect", sys.argv[1]], standalone_mode=False)
app(["inspect", sys.argv[1], "--verify"], standalone_mode=False)
heavy = {"torch", "pandas", "pyarrow", "matplotlib", "sklearn", "scipy", "zarr", "xarray"}
assert not heavy & {*sys.modules}, heavy & {*sys.modules}
"""


def test_lists_and_help_import_nothing_that_computes():
    subprocess.run([sys.executable, "-c", HELPED, *COMMANDS], check=True)


def test_a_store_is_inspected_without_what_reads_its_arrays(make_model, make_data, tmp_path):
    from tprprobe.extraction import extract

    data = make_data([("1+1", "2"), ("2+3", "5")])
    store = extract(make_model(), data, ["encoder.0.self.role"], tmp_path / "store")
    subprocess.run([sys.executable, "-c", INSPECTED, store.path], check=True)


LOADED = """
import sys
from tprprobe.models import load_model
from tprprobe.models.architectures import build, sketched
from tprprobe.models.listing import list_presets

load_model("tpt-c-arithmetic")
with sketched():
    for preset in list_presets():
        assert all(each.is_meta for each in build({"preset": preset}).parameters())
assert "torch._dynamo" not in sys.modules
"""


def test_a_model_is_loaded_without_torchs_compiler():
    subprocess.run([sys.executable, "-c", LOADED], check=True)
