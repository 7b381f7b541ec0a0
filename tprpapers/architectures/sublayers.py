"""The attention sub-layer of jiang's models: T5's attention with filler, role, binding and TPR."""

from jaxtyping import Float
from torch import Tensor, nn

from tprpapers.architectures.attention import attend, split_heads
from tprpapers.architectures.caches import KeyValues
from tprpapers.architectures.roles import Joining, Reduction, RoleDictionary
from tprpapers.architectures.tptconfig import TPTConfig
from tprprobe.site.site import Site, attention_map, per_head, per_position

Vector = Float[Tensor, "batch seq ..."]


class SubLayer(nn.Module):
    """tpr of F = x + o(v̄), the attention's output behind the residual; without roles F itself.

    Where roles sit inside the attention, F is x + o(tpr of v̄) instead.
    """

    def __init__(self, config: TPTConfig, bound: bool, cross: bool):
        super().__init__()
        d, d_inner = config.d_model, config.n_heads * config.d_head
        self.n_heads, self.rate = config.n_heads, config.dropout
        self.bound, self.inside = bound, bound and not config.after_residual
        self.norm = nn.RMSNorm(d, eps=config.norm_epsilon)
        self.to_query, self.to_key, self.to_value = (
            nn.Linear(d, d_inner, bias=False) for _ in range(3)
        )
        self.output = nn.Linear(d_inner, d, bias=False)
        self.dropout = nn.Dropout(config.dropout)
        self.input = per_position(d)
        self.query, self.key, self.value = (per_head(config.d_head) for _ in range(3))
        self.attention = attention_map()
        self.filler = self._vector(config)
        if bound:
            self._add_roles(config, cross)
        if config.starts_as_t5(bound):
            self._scale_as_t5(config)

    def _vector(self, config: TPTConfig) -> Site:
        return per_head(config.d_head) if self.inside else per_position(config.d_model)

    def _add_roles(self, config: TPTConfig, cross: bool) -> None:
        self.role_heads, d_role = role_shape(config)
        self.role_input = config.role_input if self.inside else "input"
        self.roles = self.reduce = None
        if config.roles == "discrete":
            shared = config.shared_roles or not self.inside
            d_input = config.d_head if self.reads_heads else config.d_model
            self.roles = RoleDictionary(d_input, self.role_heads, config.n_roles, d_role, shared)
            self.role_weights = Site("batch seq head n_roles", config.n_roles)
        else:
            self.to_role = nn.Linear(config.d_model, self.role_heads * d_role)
        if config.binding == "full_tensor_product":
            self.reduce = Reduction(config.n_heads, config.d_head)
        self.join = joining(config, cross)
        self.role = per_head(d_role)
        self.binding, self.tpr = self._vector(config), self._vector(config)

    @property
    def reads_heads(self) -> bool:
        return self.role_input in ("query", "v_bar_2")

    def _scale_as_t5(self, config: TPTConfig) -> None:
        d, d_inner = config.d_model, config.n_heads * config.d_head
        nn.init.normal_(self.to_query.weight, std=(d * config.d_head) ** -0.5)
        nn.init.normal_(self.to_key.weight, std=d**-0.5)
        nn.init.normal_(self.to_value.weight, std=d**-0.5)
        nn.init.normal_(self.output.weight, std=d_inner**-0.5)

    def forward(
        self,
        x: Float[Tensor, "batch query d_model"],
        bias: Float[Tensor, "#sample #head #query key"],
        memory: Float[Tensor, "sample key d_model"] | None = None,
        past: KeyValues | None = None,
    ) -> Float[Tensor, "batch query d_model"]:
        """The sub-layer's output.

        ``bias`` (positions and mask) is added to the scores; ``memory`` and ``past`` are as in
        :class:`tprpapers.architectures.attention.TPAttention`.
        """
        v_bar, normed, query = self.read(x, bias, memory, past)
        if self.inside:
            v_bar = self._bind(self.filler(v_bar), normed, query)
        out = x + self.dropout(self.output(v_bar.flatten(-2)))
        if not self.inside:
            out = self.filler(out)
            out = self._bind(out, out, query) if self.bound else out
        return out

    def read(
        self, x: Tensor, bias: Tensor, memory: Tensor | None, past: KeyValues | None
    ) -> tuple[Tensor, Tensor, Tensor]:
        """v̄, and the input and the queries that it was read with."""
        normed = self.input(self.norm(x))
        query = self.query(split_heads(self.to_query(normed), self.n_heads))
        key, value = self._keys_values(normed, memory, past or KeyValues())
        rate = self.rate if self.training else 0.0
        return attend(query, key, value, bias, 1.0, rate, self.attention), normed, query

    def _keys_values(self, x: Tensor, memory: Tensor | None, past: KeyValues) -> tuple[Tensor, ...]:
        if memory is not None and past.length:
            return past.pair
        read = x if memory is None else memory
        key = self.key(split_heads(self.to_key(read), self.n_heads))
        value = self.value(split_heads(self.to_value(read), self.n_heads))
        return past.extend(key, value)

    def _bind(self, filler: Vector, read: Tensor, query: Tensor) -> Vector:
        role = self.role(self._role(filler, read, query))
        if self.reduce is None:
            binding = filler * role.reshape(filler.shape)
        else:
            binding = self.reduce(role, filler)
        return self.tpr(self.join(filler, self.binding(binding), read))

    def _role(self, filler: Vector, read: Tensor, query: Tensor) -> Tensor:
        if self.roles is None:
            return split_heads(self.to_role(read), self.role_heads)
        if self.reads_heads:
            source = query if self.role_input == "query" else filler
            weights = self.roles.crossed_weights(source)
        else:
            source = filler.flatten(-2) if self.role_input == "v_bar" else read
            weights = self.roles.weights(source)
        return self.roles.mix(self.role_weights(weights))


def role_shape(config: TPTConfig) -> tuple[int, int]:
    """The number of role vectors at a position, and their width."""
    if config.after_residual and not (config.multi_head and config.heads_fill_model):
        return 1, config.d_model
    return config.n_heads, config.d_head


def joining(config: TPTConfig, cross: bool) -> Joining:
    """The module that joins filler and binding, and the published tensors that it passes over.

    Inside the attention only the gate counts. After the residual, single-head roles and the
    cross-attention of continuous ones have no gate, and ``proj&add`` adds nothing.
    """
    inside = not config.after_residual
    all_honoured = inside or (config.multi_head and not (cross and config.roles == "continuous"))
    if config.gate and all_honoured:
        return Joining("gate", config.d_model, config.n_heads if inside else 1)
    if inside:
        return Joining("add", config.d_model)
    is_dropped = config.output == "proj&add" and not all_honoured
    return Joining("drop" if is_dropped else config.output, config.d_model)
