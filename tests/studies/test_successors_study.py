"""The study of networks that are built to bind: its page has the numbers of its tables, and swaps expect what the task says."""

import tomllib
from pathlib import Path

import pytest
import torch

from studies.pages import successors_page
from studies.pages.headlines import finish_page
from studies.successors.measures import RoleSwap, Sample
from studies.successors.tables import names_role
from studies.successors.trainings import PLAN

ROOT = Path(__file__).parents[2]
RECALL = Sample("recall", [["c1", "v1", "c2", "v2", "c3", "v3", "?", "c2"]], [["v2"]])
REVERSE = Sample("reverse", [list("3141"), ["2"]], [list("1413"), ["2"]])


def test_the_page_is_made_of_its_tables():
    page = (ROOT / "studies/results/successors.md").read_text("utf-8")
    assert page == finish_page("successors", successors_page.make_page(ROOT))


def test_every_prediction_has_its_statistic_and_names_what_was_planned():
    predictions = tomllib.loads(successors_page.PREDICTIONS.read_text("utf-8"))["prediction"]
    assert [each["id"] for each in predictions] == [*successors_page.STATISTICS]
    for each in predictions:
        assert {*each["models"]} <= {*PLAN["models"]}


def test_a_swap_of_what_is_asked_expects_the_other_value():
    swap = RoleSwap(RECALL, is_asked=True)
    [(asked, other)] = swap.exchanged
    assert (asked, other) in {(1, 0), (1, 2)}
    assert swap.expected(0) == [f"v{other + 1}"]
    roles = torch.arange(8.0)[None, :, None].expand(1, 8, 2)
    order = swap.edit(roles)[0, :, 0].tolist()
    assert (order[3], order[2 * other + 1]) == (2 * other + 1, 3)
    assert [step for step in range(8) if order[step] != step] == sorted((3, 2 * other + 1))


def test_a_swap_elsewhere_leaves_the_answer():
    swap = RoleSwap(RECALL, is_asked=False)
    assert swap.exchanged == [(0, 2)]
    assert swap.expected(0) == ["v2"]


def test_a_swap_of_digits_expects_them_reversed_and_needs_two_that_differ():
    swap = RoleSwap(REVERSE, is_asked=True)
    assert swap.is_used.tolist() == [True, False]
    i, j = swap.exchanged[0]
    digits = list("3141")
    digits[i], digits[j] = digits[j], digits[i]
    assert swap.expected(0) == digits[::-1]


def test_a_swap_of_nodes_expects_the_answer_of_the_tree_with_both_letters_exchanged():
    sample = Sample("trees", [["cadr", *"abcdefghijklmno"]], [list("flm")])
    assert sample.bindings(0) == [("f", "0"), ("l", "1"), ("m", "2")]
    swap = RoleSwap(sample, is_asked=True)
    (inside, outside), expected = swap.exchanged[0], swap.expected(0)
    answer, outer = "abcdefghijklmno"[inside], "abcdefghijklmno"[outside]
    assert answer in "flm"
    assert expected == list("flm".replace(answer, outer))
    order = swap.edit(torch.arange(16.0)[None, :, None])[0, :, 0].tolist()
    assert (order[inside + 1], order[outside + 1]) == (outside + 1, inside + 1)


def test_a_swap_of_places_exchanges_the_roles_that_every_step_has():
    sample = Sample("copy", [list("314")], [list("314")])
    swap = RoleSwap(sample, is_asked=True, n_roles=6)
    i, j = swap.exchanged[0]
    roles = torch.arange(12.0).expand(1, 3, 12)
    edited = swap.edit(roles)[0, -1].view(6, 2)
    assert edited[[i, j]].tolist() == roles[0, -1].view(6, 2)[[j, i]].tolist()
    assert swap.expected(0) == [list("314")[{i: j, j: i}.get(n, n)] for n in range(3)]


@pytest.mark.parametrize(
    ("scheme", "is_named"),
    [("left*right", True), ("(before)+left", True), ("before+(left)", False), ("bag", False)],
)
def test_a_role_without_fillers_is_no_binding(scheme, is_named):
    assert names_role("reverse", scheme) == is_named
