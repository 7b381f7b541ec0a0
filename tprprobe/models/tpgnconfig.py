"""Sizes and options of huang's Tensor Product Generation Network."""

from dataclasses import dataclass
from typing import Literal

from tprprobe.errors import InputError


@dataclass(frozen=True)
class TPGNConfig:
    """The paper's sizes; ``d_model`` is d, the width of p_t and the side of Ŝ_t.

    What the paper leaves open or contradicts is an option:

    - ``output``: W_x is ``free``, or ``tied`` to W_e (Eq. 19), which is possible only where words
      are embedded in d² dimensions.
    - ``embedding``: W_e is ``trained``, or ``fixed`` (as in Algorithm 1) to what it is given.
    - ``cells``: c_{1,0} is ``zeros``, or like Ŝ_0 a linear map of the ``features``.
    - ``biases``: they are "included throughout the model" but in none of the equations.

    ``dropout`` is of the embedded words and of f_t; the paper has none.
    """

    vocab_size: int = 8791
    d_model: int = 25
    d_embedding: int = 25
    d_features: int = 2048
    output: Literal["free", "tied"] = "free"
    embedding: Literal["trained", "fixed"] = "trained"
    cells: Literal["zeros", "features"] = "zeros"
    biases: bool = True
    dropout: float = 0.0
    pad: int = 1
    sos: int = 2
    eos: int = 3

    def __post_init__(self):
        if self.output == "tied" and self.d_embedding != self.d_model**2:
            raise InputError(
                f"output = 'tied' with d_embedding {self.d_embedding}: f_t has d² = "
                f"{self.d_model**2} dimensions, so W_x = W_eᵀ needs d_embedding {self.d_model**2}"
            )
