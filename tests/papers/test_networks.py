"""Every network gives, and is initialized to, the numbers that were checked."""

import json

import pytest
from planted.networks import CASES, FILE, measure


@pytest.mark.parametrize("case", CASES)
def test_a_network_gives_what_was_checked(case):
    golden = json.loads(FILE.read_text("utf-8"))[case]
    assert measure(case) == pytest.approx(golden, rel=1e-6, abs=1e-6)
