"""The wheel: what pip installs works from an empty folder, with what ships inside it."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def unpacked(tmp_path_factory):
    pytest.importorskip(
        "hatchling", reason="the wheel is built by hatchling: install the extra dev"
    )
    out = tmp_path_factory.mktemp("wheel")
    build = ["-m", "hatchling", "build", "-t", "wheel", "-d", str(out)]
    subprocess.run([sys.executable, *build], cwd=ROOT, check=True, capture_output=True)
    (wheel,) = out.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(out / "installed")
    return out / "installed"


def _run(unpacked: Path, folder: Path, *words: str) -> str:
    """What tprprobe prints in an empty folder, where only the wheel's package can be imported."""
    code = (
        "import runpy, tprprobe; print(tprprobe.__file__, flush=True); runpy.run_module('tprprobe')"
    )
    environment = os.environ | {"PYTHONPATH": str(unpacked)}
    command = [sys.executable, "-c", code, *words]
    ran = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.startswith(str(unpacked))
    return ran.stdout


def test_commands_of_the_wheel_run_in_an_empty_folder(unpacked, tmp_path):
    assert "torch" in _run(unpacked, tmp_path, "--version")
    assert "tpt-c-arithmetic" in _run(unpacked, tmp_path, "models")
    assert "tutorials/roles " in _run(unpacked, tmp_path, "docs")
    assert "ideas: Gauge freedom" in _run(unpacked, tmp_path, "docs", "gauge", "freedom")


def test_the_wheel_has_the_dashboard_the_claims_and_the_shipped_models(unpacked):
    for file in ("tprpapers/claims.toml", "tprprobe/py.typed"):
        assert (unpacked / file).is_file(), file
    assert list(unpacked.rglob("tpt-c-arithmetic/model.safetensors"))
    assert list(unpacked.rglob("app/main.py"))
