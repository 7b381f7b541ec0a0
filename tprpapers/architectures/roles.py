"""The parts of jiang's sub-layers: the source of roles, and the joining of binding and filler.

Source: jiang Eqs. 4–6 and the options of the authors' code (github.com/jiangycTarheel/TPT-Summ).
"""

import torch
from jaxtyping import Float
from torch import Tensor, nn

from tprpapers.architectures.attention import split_heads
from tprprobe.errors import InputError

PerPosition = Float[Tensor, "batch seq d_model"]
PerHead = Float[Tensor, "batch seq head d_head"]
Weights = Float[Tensor, "batch seq head n_roles"]
# A filler or binding has heads where roles sit inside the attention, else the model's width.
Vector = Float[Tensor, "batch seq ..."]


class RoleDictionary(nn.Module):
    """Discrete roles: role = w r̂ with w = softmax(x W_r + b_r) and r̂ the entries at length 1.

    The entries are shared by the heads, or each head owns ``n_roles`` of them.
    """

    def __init__(self, d_input: int, n_heads: int, n_roles: int, d_role: int, shared: bool):
        super().__init__()
        self.n_heads, self.shared = n_heads, shared
        self.to_weights = nn.Linear(d_input, n_heads * n_roles)
        self.role_embedding = nn.Parameter(
            torch.empty(n_roles if shared else n_heads * n_roles, d_role)
        )
        nn.init.xavier_uniform_(self.role_embedding, gain=1.414)

    def weights(self, x: Float[Tensor, "batch seq width"]) -> Weights:
        return split_heads(self.to_weights(x), self.n_heads).softmax(-1)

    def crossed_weights(self, x: PerHead) -> Weights:
        """The attention read from one vector a head, in the published order.

        The authors' code gives each head the scores of all heads and views them as [seq, head,
        n_roles, head] although they lie as [head, seq, …]: unless seq is 1, the weights of a
        position are read at other positions and heads, later ones included.
        """
        batch, seq, heads, _ = x.shape
        scores = self.to_weights(x.transpose(1, 2)).reshape(batch, seq, heads, -1, heads)
        return scores.diagonal(dim1=2, dim2=4).transpose(-1, -2).softmax(-1)

    def mix(self, weights: Weights) -> PerHead:
        entries = self.role_embedding / self.role_embedding.norm(dim=1, keepdim=True)
        if self.shared:
            return weights @ entries
        own = entries.unflatten(0, (self.n_heads, -1))
        return torch.einsum("bshn,hnd->bshd", weights, own)


class Reduction(nn.Module):
    """The ``full_tensor_product`` of the authors' code: (r ⊗ f) w = r (f · w), w one vector a head."""

    def __init__(self, n_heads: int, d_head: int):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(n_heads, d_head))
        nn.init.xavier_uniform_(self.weight, gain=1.414)

    def forward(self, role: PerHead, filler: PerHead) -> PerHead:
        return role * (filler * self.weight).sum(-1, keepdim=True)


class Joining(nn.Module):
    """tpr of the filler F and the binding B = R ⊙ F.

    add       F + B (jiang Eq. 6)
    gate      F + g · B, g the first of each pair of softmax(x W + b) over the pairs of ``n_gates``
    concat    [F W_1 + b_1, B W_2 + b_2], seven eighths and one eighth of the width
    proj&add  F + B W + b
    drop      F: settings in which the authors' code leaves the binding unused
    """

    def __init__(self, kind: str, d_model: int, n_gates: int = 1):
        super().__init__()
        self.kind = kind
        if kind == "gate":
            self.to_gate = nn.Linear(d_model, 2 * n_gates)
        elif kind == "concat":
            if d_model % 8:
                raise InputError(f"output 'concat' needs a d_model that 8 divides, not {d_model}")
            self.of_filler = nn.Linear(d_model, d_model // 8 * 7)
            self.of_binding = nn.Linear(d_model, d_model // 8)
        elif kind == "proj&add":
            self.of_binding = nn.Linear(d_model, d_model)

    def forward(self, filler: Vector, binding: Vector, read: PerPosition) -> Vector:
        if self.kind == "drop":
            return filler
        if self.kind == "concat":
            return torch.cat([self.of_filler(filler), self.of_binding(binding)], -1)
        if self.kind == "gate":
            gate = self.to_gate(read).softmax(-1)[..., ::2]  # [batch, seq, n_gates]
            binding = (gate[..., None] if binding.ndim == 4 else gate) * binding
        elif self.kind == "proj&add":
            binding = self.of_binding(binding)
        return filler + binding
