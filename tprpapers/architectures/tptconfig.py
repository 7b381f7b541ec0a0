"""Sizes and options of jiang's TP-Transformers: every setting that their authors' code can run."""

from dataclasses import dataclass
from typing import Literal

from tprprobe.errors import InputError

Roles = Literal["discrete", "continuous", "none"]
RoleInput = Literal["input", "v_bar", "query", "v_bar_2"]
Binding = Literal["hadamard", "full_tensor_product"]
Output = Literal["add", "concat", "proj&add"]
Initialization = Literal["published", "t5", "torch"]


@dataclass(frozen=True)
class TPTConfig:
    """T5 with roles in the stacks that ``role_stacks`` (encoder, decoder) marks; ids as published.

    Roles are bound ``after_residual`` to F = X + A(X), or inside the attention to v̄. Discrete ones
    come from ``n_roles`` entries: ``multi_head`` and ``output`` count after the residual only,
    ``shared_roles``, ``role_input`` and ``binding`` inside the attention only.

    ``initialization`` is that of the attentions and their position biases: T5's scales (``t5``) or
    torch's defaults (``torch``). ``published`` is torch's where roles come after the residual.
    """

    vocab_size: int = 32128
    d_model: int = 512
    n_heads: int = 8
    d_head: int = 64
    n_layers: tuple[int, int] = (6, 6)
    d_ff: int = 2048
    dropout: float = 0.1
    norm_epsilon: float = 1e-6
    n_buckets: int = 32
    cross_position_bias: bool = True
    roles: Roles = "discrete"
    role_stacks: tuple[bool, bool] = (True, True)
    after_residual: bool = True
    n_roles: int = 50
    multi_head: bool = True
    shared_roles: bool = True
    role_input: RoleInput = "input"
    binding: Binding = "hadamard"
    gate: bool = False
    output: Output = "add"
    initialization: Initialization = "published"
    pad: int = 0
    sos: int = 0
    eos: int = 1

    def __post_init__(self):
        if self.n_buckets < 4:
            raise InputError(f"n_buckets = {self.n_buckets}: T5's distances need 4 at least")
        if self.roles == "none" or not any(self.role_stacks):
            return
        if refusal := self._after_residual() if self.after_residual else self._inside():
            raise InputError(f"{refusal}: the published code cannot run this setting")

    @property
    def heads_fill_model(self) -> bool:
        return self.n_heads * self.d_head == self.d_model

    def starts_as_t5(self, bound: bool) -> bool:
        """True if an attention starts at T5's scales, given whether its stack is ``bound`` to roles."""
        if self.initialization == "published":
            return not (bound and self.after_residual)
        return self.initialization == "t5"

    def _after_residual(self) -> str | None:
        if self.binding != "hadamard":
            return f"{self.binding} with roles after the residual"
        if self.roles == "discrete" and self.multi_head and not self.heads_fill_model:
            return f"{self.n_heads} heads of {self.d_head} roles on d_model {self.d_model}"
        return None

    def _inside(self) -> str | None:
        if self.roles == "continuous" and self.binding != "hadamard":
            return f"{self.binding} with continuous roles"
        if self.roles == "discrete" and self.role_input == "v_bar" and not self.heads_fill_model:
            return f"roles read from v_bar, {self.n_heads} × {self.d_head} ≠ d_model {self.d_model}"
        return None
