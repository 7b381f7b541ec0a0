"""jiang's attention in double precision, with the same bits on every processor.

jiang's code takes the attention's softmax in float32 whatever the model's precision, so that its
float64 logits carry that rounding, and torch's kernel rounds differently on processors of different
vector width. This is that kernel's arithmetic at 16 lanes (AVX-512), on which the reference values
of the published models were computed.
"""

from functools import reduce

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float32, Float64
from torch import Tensor

LANES = 16
UNDERFLOW = -104.0
LOG2_E, LN2_HIGH, LN2_LOW, *COEFFICIENTS = (  # of SLEEF's expf: eˢ for |s| ≤ ln 2 / 2
    float(np.float32(value))
    for value in (
        1.442695040888963,
        0.693145751953125,
        1.428606765330187e-06,
        0.000198527617612853646278381,
        0.00139304355252534151077271,
        0.00833336077630519866943359,
        0.0416664853692054748535156,
        0.166666671633720397949219,
        0.5,
    )
)


def attend_singly(query, key, value, bias, scale, dropout, site):
    """v̄ of `tprpapers.architectures.attention.attend` without dropout, the softmax in single precision."""
    scores = torch.einsum("bqhd,bkhd->bhqk", query, key) * scale + bias
    return torch.einsum("bhqk,bkhd->bqhd", site(single_softmax(scores)), value)


def single_softmax(scores: Float64[Tensor, "*rows key"]) -> Float64[Tensor, "*rows key"]:
    """softmax over the last axis, computed in float32."""
    x = scores.float()
    powers = _exp(x - x.amax(-1, keepdim=True))
    return (powers * (1 / _sum(powers))).double()


def _exp(x: Float32[Tensor, "*rows key"]) -> Float32[Tensor, "*rows key"]:
    n = (x * LOG2_E).round()
    s = _fused(n, -LN2_LOW, _fused(n, -LN2_HIGH, x))
    polynomial = torch.full_like(s, COEFFICIENTS[0])
    for coefficient in COEFFICIENTS[1:]:
        polynomial = _fused(polynomial, s, coefficient)
    power = 1 + _fused(s * s, polynomial, s)
    return torch.where(x < UNDERFLOW, 0.0, torch.ldexp(power, n))


def _fused(a: Float32[Tensor, "..."], b: Tensor | float, c: Tensor | float) -> Tensor:
    """a b + c, rounded once."""
    return (a.double() * b + c).float()


def _sum(x: Float32[Tensor, "*rows key"]) -> Float32[Tensor, "*rows 1"]:
    if x.shape[-1] < LANES:
        return reduce(torch.add, x.split(1, -1))
    blocks = F.pad(x, (0, -x.shape[-1] % LANES)).split(LANES, -1)
    lanes = reduce(torch.add, blocks)
    while lanes.shape[-1] > 1:
        lanes = torch.add(*lanes.chunk(2, -1))
    return lanes
