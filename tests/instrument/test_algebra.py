"""The algebra of tensor-product representations, for any vectors."""

import doctest

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

import tprprobe
from tprprobe import algebra
from tprprobe.algebra import bind, duals, unbind
from tprprobe.errors import InputError

SEEDS = st.integers(0, 2**31)


def draw(seed: int, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.randn(shape, dtype=torch.float64, generator=generator) for shape in shapes]


def whole(seed: int, *shapes: tuple[int, ...]) -> list[torch.Tensor]:
    return [(3 * vectors).round() for vectors in draw(seed, *shapes)]


def test_the_examples_of_the_papers():
    assert doctest.testmod(algebra, extraglobs={"tp": tprprobe}).attempted > 8
    assert doctest.testmod(algebra, extraglobs={"tp": tprprobe}).failed == 0


@given(SEEDS, st.integers(1, 6), st.integers(6, 9))
def test_duals_of_independent_roles_recover_every_filler(seed, n, d_role):
    fillers, roles = draw(seed, (n, 4), (n, d_role))
    tpr = bind(fillers, roles).sum(0)
    torch.testing.assert_close(roles @ duals(roles).mT, torch.eye(n, dtype=torch.float64))
    torch.testing.assert_close(unbind(tpr, duals(roles)), fillers)


@given(SEEDS)
def test_with_more_roles_than_dimensions_the_error_is_what_theory_says(seed):
    fillers, roles = draw(seed, (6, 4), (6, 3))
    recovered = unbind(bind(fillers, roles).sum(0), duals(roles))
    torch.testing.assert_close(recovered, roles @ torch.linalg.pinv(roles) @ fillers)


@given(SEEDS)
def test_one_hadamard_binding_is_undone_and_crosstalk_is_the_ratio_of_roles(seed):
    fillers, roles = draw(seed, (2, 5), (2, 5))
    bindings = bind(fillers, roles, "hadamard")
    unbinding = duals(roles, "hadamard")
    torch.testing.assert_close(unbind(bindings, unbinding, "hadamard"), fillers)
    unbound = unbind(bindings.sum(0), unbinding[0], "hadamard")
    torch.testing.assert_close(unbound, fillers[0] + fillers[1] * roles[1] / roles[0])


@pytest.mark.parametrize("kind", ["outer", "hadamard"])
@given(seed=SEEDS)
def test_exchanged_fillers_differ_exactly_where_fillers_and_roles_do(kind, seed):
    a, b, numerator, denominator = whole(seed, (4,), (4,), (4,), (4,))
    fraction = bind(a, numerator, kind) + bind(b, denominator, kind)
    inverse = bind(b, numerator, kind) + bind(a, denominator, kind)
    assert torch.equal(fraction - inverse, bind(a - b, numerator - denominator, kind))


def test_bindings_broadcast_over_batches():
    fillers, role = draw(0, (2, 3, 4), (5,))
    assert bind(fillers, role).shape == (2, 3, 4, 5)
    assert unbind(bind(fillers, role), duals(role[None])[0]).shape == (2, 3, 4)


def test_an_unknown_kind_of_binding_is_refused():
    for function in (bind, unbind):
        with pytest.raises(InputError, match="hadamard"):
            function(torch.ones(2, 2), torch.ones(2), "hadamart")


def test_shapes_that_do_not_fit_are_one_line():
    filler, role = torch.ones(3, 4), torch.ones(3, 6)
    with pytest.raises(InputError, match=r"filler \[3, 4\] .* and role \[3, 6\] .* do not fit"):
        bind(filler, role, "hadamard")
    with pytest.raises(
        InputError, match=r"tpr \[3, 4, 5\] .* and unbinding \[3, 6\] .* do not fit"
    ):
        unbind(torch.ones(3, 4, 5), role)
