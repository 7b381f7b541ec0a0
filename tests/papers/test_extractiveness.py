"""Coverage and density of Grusky et al.: fragments by hand, bounds, and what copying gives."""

import math

import pytest

from tprpapers.scoring.extractiveness import find_fragments, measure_pair


@pytest.mark.parametrize(
    ("document", "summary", "lengths"),
    [
        ("a b c d", "b c", [2]),
        ("a b c d", "b c a b", [2, 2]),
        ("a b a c", "a c", [2]),  # the longer run, not the first
        ("a b", "x a y b z", [1, 1]),
        ("a b", "x y", []),
        ("", "a", []),
    ],
)
def test_fragments(document, summary, lengths):
    assert find_fragments(document.split(), summary.split()) == lengths


def test_measures_of_a_pair():
    measures = measure_pair("The bank sold a boat. It is old.", "The bank sold Kim a boat.")
    assert measures["coverage"] == pytest.approx(5 / 6)
    assert measures["density"] == pytest.approx((9 + 4) / 6)
    assert measures["compression"] == pytest.approx(8 / 6)
    assert measures["novel 1-grams"] == pytest.approx(1 / 6)
    assert math.isnan(measure_pair("a b", "")["coverage"])
