"""Fixtures of the whole suite."""

import os
from pathlib import Path

import pytest

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
ROOT = Path(__file__).parent.parent


@pytest.fixture(scope="session")
def root() -> Path:
    """The checkout."""
    return ROOT


@pytest.fixture(scope="session")
def shared() -> Path:
    """Optional local fixtures and corpora beside the checkout."""
    path = ROOT.parent / "shared"
    if not path.is_dir():
        pytest.skip("the parity fixtures and corpora beside the checkout are absent")
    return path
