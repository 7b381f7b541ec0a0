"""Every promise of SECURITY.md has a test of that name."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]


def test_every_promise_has_its_test():
    promises = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (ROOT / "SECURITY.md").read_text("utf-8"))
    assert len(promises) > 12
    for file, name in promises:
        assert f"\ndef {name}(" in (ROOT / file).read_text("utf-8"), (file, name)
