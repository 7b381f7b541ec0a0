"""Tensor-product representations: fillers bound to roles, added up, and unbound again.

A structure is a sum of bindings, so it is no bag of words (Source: huang Eqs 1 and 2), and the dual
of a role recovers its filler:

>>> jay, kay, saw = torch.eye(3)
>>> roles = torch.tensor([[1.0, 0, 0], [1, 1, 0], [1, 1, 1]])  # subject, object, verb
>>> jay_saw_kay = bind(torch.stack([jay, kay, saw]), roles).sum(0)
>>> kay_saw_jay = bind(torch.stack([kay, jay, saw]), roles).sum(0)
>>> torch.equal(jay_saw_kay, kay_saw_jay)
False
>>> u_subject, u_object, u_verb = duals(roles)
>>> torch.allclose(unbind(jay_saw_kay, u_subject), jay, atol=1e-6)
True

With the place of a digit for its role, 985 is r(ones) ⊗ f(5) + r(tens) ⊗ f(8) + r(hundreds) ⊗ f(9)
(Source: jiang §2), and every digit comes back from it:

>>> f, r = torch.eye(10), torch.tensor([[1.0, 2, 0], [0, 1, 0], [3, 0, 1]])
>>> number = bind(f[[5, 8, 9]], r).sum(0)
>>> unbind(number, duals(r)).argmax(-1).tolist()
[5, 8, 9]

The diagonal of the tensor product is enough to tell a/b from b/a (Source: schlag §7):

>>> a, b, numerator, denominator = torch.tensor([[1.0, 2], [3, 4], [1, 1], [1, -1]])
>>> bind(a, numerator, "hadamard") + bind(b, denominator, "hadamard")  # a/b
tensor([ 4., -2.])
>>> bind(b, numerator, "hadamard") + bind(a, denominator, "hadamard")  # b/a
tensor([4., 2.])
"""

from collections.abc import Iterator
from contextlib import contextmanager

import torch
from jaxtyping import Float
from torch import Tensor

from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import lacks_memory

KINDS = ("outer", "hadamard")


def bind(
    filler: Float[Tensor, "*#batch d_filler"],
    role: Float[Tensor, "*#batch d_role"],
    kind: str = "outer",
) -> Tensor:
    """The binding of a filler to a role.

    Args:
        filler: The filler f.
        role: The role r.
        kind: ``outer``, the tensor product f ⊗ r = f rᵀ; or ``hadamard``, its diagonal f ⊙ r.

    Returns:
        [*batch, d_filler, d_role] of the tensor product, [*batch, d_role] of its diagonal. The TPR of a structure is
        the sum of its bindings.

    Raises:
        InputError: An unknown kind, or shapes or types that do not fit.

    Source: Smolensky 1990; schlag Eq. 3 for the Hadamard product.

    Examples:
        >>> tp.bind(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]))
        tensor([[0., 1.],
                [0., 2.]])
    """
    _check(kind)
    with _refusing(filler=filler, role=role):
        return filler[..., :, None] * role[..., None, :] if kind == "outer" else filler * role


def unbind(tpr: Tensor, unbinding: Float[Tensor, "*#batch d_role"], kind: str = "outer") -> Tensor:
    """The filler S u that a TPR holds at a role.

    Args:
        tpr: The TPR S, [*batch, d_filler, d_role], or [*batch, d_role] of Hadamard products.
        unbinding: The dual u of the role.
        kind: ``outer``, or ``hadamard``: s ⊙ u, exact for one binding, with crosstalk for more.

    Returns:
        The filler [*batch, d_filler].

    Raises:
        InputError: An unknown kind, or shapes or types that do not fit.

    Source: Smolensky 1990; huang Sec. 3.

    Examples:
        >>> tpr = tp.bind(torch.tensor([1.0, 2.0]), torch.tensor([0.0, 1.0]))
        >>> tp.unbind(tpr, torch.tensor([0.0, 1.0]))
        tensor([1., 2.])
    """
    _check(kind)
    with _refusing(tpr=tpr, unbinding=unbinding):
        return (tpr @ unbinding[..., None]).squeeze(-1) if kind == "outer" else tpr * unbinding


def duals(
    roles: Float[Tensor, "*batch n_roles d_role"], kind: str = "outer"
) -> Float[Tensor, "*batch n_roles d_role"]:
    """The unbinding vectors u_i of role vectors r_j, both in rows: R Uᵀ = I, so r_j · u_i = δ_ij.

    They are the pseudo-inverse of R, so for linearly dependent roles the nearest to that; for
    "hadamard" 1/r, elementwise. Orthonormal roles are their own duals. Source: huang §2.
    """
    _check(kind)
    return torch.linalg.pinv(roles).mT if kind == "outer" else roles.reciprocal()


@contextmanager
def _refusing(**operands: Tensor) -> Iterator[None]:
    """A block in which torch's errors of tensors that do not fit are one line with their shapes and types."""
    try:
        yield
    except (RuntimeError, IndexError) as error:
        if lacks_memory(error):
            raise
        shapes = (f"{name} {[*x.shape]} ({x.dtype})" for name, x in operands.items())
        raise InputError(f"{' and '.join(shapes)} do not fit: {error}") from error


def _check(kind: str) -> None:
    if kind not in KINDS:
        raise unknown("kind of binding", kind, KINDS)
