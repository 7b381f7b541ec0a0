"""jiang's published model as plain equations on a dictionary of tensors with the authors' names.

Written from the authors' published code and from nothing of this package. ``c`` is the authors'
configuration JSON.
"""

import math
from typing import Any

import torch
from torch import Tensor

Config = dict[str, Any]
State = dict[str, Tensor]
DEFAULTS: Config = {
    "vocab_size": 19,
    "d_model": 16,
    "d_kv": 4,
    "d_ff": 12,
    "num_layers": 1,
    "num_heads": 4,
    "relative_attention_num_buckets": 32,
    "dropout_rate": 0.1,
    "layer_norm_epsilon": 1e-6,
    "pad_token_id": 0,
    "eos_token_id": 1,
    "decoder_start_token_id": 0,
    "use_tp_enc": True,
    "use_tp_dec": True,
    "use_discrete_roles": True,
    "num_roles": 3,
    "roles_after_residual": True,
    "multi_head_rar": True,
    "tpr_binding_type": "hadamard",
    "role_weights_input": "input",
    "share_roles_among_heads": True,
    "use_tpr_gate": False,
    "tpr_output_type": "add",
    "model_type": "tpt",
}


def stacks(c: Config) -> dict[str, list[tuple[int, str]]]:
    """The attention sub-layers of a block: (number, the authors' name)."""
    sublayers = [(0, "SelfAttention"), (1, "EncDecAttention")]
    return {"encoder": sublayers[:1], "decoder": sublayers}


def shapes(c: Config) -> dict[str, tuple[int, ...]]:
    """Every tensor of a checkpoint and its shape (the tied copies aside)."""
    d, inner, heads = c["d_model"], c["num_heads"] * c["d_kv"], c["num_heads"]
    shape_of_key: dict[str, tuple[int, ...]] = {"shared.weight": (c["vocab_size"], d)}
    for stack, sublayers in stacks(c).items():
        for block in range(c["num_layers"]):
            for number, name in sublayers:
                layer = f"{stack}.block.{block}.layer.{number}"
                for projection in "qkv":
                    shape_of_key[f"{layer}.{name}.{projection}.weight"] = (inner, d)
                shape_of_key[f"{layer}.{name}.o.weight"] = (d, inner)
                if block == 0:
                    buckets = c["relative_attention_num_buckets"]
                    shape_of_key[f"{layer}.{name}.relative_attention_bias.weight"] = (
                        buckets,
                        heads,
                    )
                shape_of_key[f"{layer}.layer_norm.weight"] = (d,)
                if c["use_tp_enc" if stack == "encoder" else "use_tp_dec"]:
                    inside = not c["roles_after_residual"]
                    where = f"{layer}.{name}" if inside else layer
                    role_shapes = inside_shapes(c) if inside else residual_shapes(c)
                    shape_of_key |= {f"{where}.{key}": shape for key, shape in role_shapes.items()}
            feed_forward = f"{stack}.block.{block}.layer.{len(sublayers)}"
            shape_of_key[f"{feed_forward}.DenseReluDense.wi.weight"] = (c["d_ff"], d)
            shape_of_key[f"{feed_forward}.DenseReluDense.wo.weight"] = (d, c["d_ff"])
            shape_of_key[f"{feed_forward}.layer_norm.weight"] = (d,)
        shape_of_key[f"{stack}.final_layer_norm.weight"] = (d,)
    return shape_of_key


def linear(name: str, rows: int, columns: int) -> dict[str, tuple[int, ...]]:
    return {f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)}


def residual_shapes(c: Config) -> dict[str, tuple[int, ...]]:
    d, n = c["d_model"], c["num_roles"]
    if not c["use_discrete_roles"]:
        shape_of_key = linear("r", d, d)
    elif c["multi_head_rar"]:
        shape_of_key = linear("r", n * c["num_heads"], d) | {"R": (n, c["d_kv"])}
    else:
        shape_of_key = linear("r", n, d) | {"R": (n, d)}
    if c["use_tpr_gate"]:
        shape_of_key |= linear("tpr_gate_proj", 2, d)
    if c["tpr_output_type"] == "concat":
        shape_of_key |= linear("tpr_out_proj1", d // 8 * 7, d) | linear("tpr_out_proj2", d // 8, d)
    elif c["tpr_output_type"] == "proj&add":
        shape_of_key |= linear("tpr_out_proj", d, d)
    return shape_of_key


def inside_shapes(c: Config) -> dict[str, tuple[int, ...]]:
    d, heads, width, n = c["d_model"], c["num_heads"], c["d_kv"], c["num_roles"]
    shape_of_key: dict[str, tuple[int, ...]] = {}
    if c["use_discrete_roles"]:
        input_width = width if c["role_weights_input"] in ("query", "v_bar_2") else d
        shape_of_key |= linear("r", n * heads, input_width)
        shape_of_key["R"] = (n if c["share_roles_among_heads"] else n * heads, width)
        if c["tpr_binding_type"] == "full_tensor_product":
            shape_of_key["tpr_reduce_vec"] = (heads, width)
    else:
        shape_of_key |= linear("r", heads * width, d)
    return shape_of_key | (linear("tpr_gate_proj", 2 * heads, d) if c["use_tpr_gate"] else {})


def random_state(c: Config, seed: int) -> State:
    """Random weights of moderate size."""
    generator = torch.Generator().manual_seed(seed)
    return {
        key: torch.randn(shape, generator=generator)
        * (shape[-1] ** -0.5 if len(shape) > 1 else 0.5)
        for key, shape in shapes(c).items()
    }


def bucket(distance: int, buckets: int, bidirectional: bool) -> int:
    """The bucket of memory position − query position."""
    behind, offset = -distance, 0
    if bidirectional:
        buckets //= 2
        offset, behind = (buckets if behind < 0 else 0), abs(behind)
    behind = max(behind, 0)
    exact = buckets // 2
    if behind < exact:
        return offset + behind
    grown = torch.log(torch.tensor(behind / exact)) / math.log(128 / exact) * (buckets - exact)
    return offset + min(exact + int(grown), buckets - 1)


def position_bias(
    state: State, c: Config, stack: str, name: str, queries: int, keys: int
) -> Tensor:
    """[head, query, key]."""
    number = 1 if name == "EncDecAttention" else 0
    table = state[f"{stack}.block.0.layer.{number}.{name}.relative_attention_bias.weight"]
    sides = (c["relative_attention_num_buckets"], stack == "encoder")
    bucket_ids = [[bucket(k - q, *sides) for k in range(keys)] for q in range(queries)]
    return table[torch.tensor(bucket_ids)].permute(2, 0, 1)


def norm(x: Tensor, weight: Tensor, c: Config) -> Tensor:
    return weight * x / torch.sqrt(x.pow(2).mean(-1, keepdim=True) + c["layer_norm_epsilon"])


def affine(state: State, name: str, x: Tensor) -> Tensor:
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def split(x: Tensor, heads: int) -> Tensor:
    """[batch, seq, head · width] → [batch, head, seq, width]."""
    return x.view(x.shape[0], x.shape[1], heads, -1).transpose(1, 2)


def join(x: Tensor) -> Tensor:
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def sublayer(
    state: State, c: Config, prefix: str, name: str, x: Tensor, kv: Tensor | None, bias: Tensor
):
    """The sub-layer's output and its vectors by the last part of our site's name."""
    heads, a = c["num_heads"], f"{prefix}.{name}"
    h = norm(x, state[f"{prefix}.layer_norm.weight"], c)
    memory = h if kv is None else kv
    q = split(h @ state[f"{a}.q.weight"].T, heads)
    k, v = (split(memory @ state[f"{a}.{p}.weight"].T, heads) for p in "kv")
    v_bar = ((q @ k.transpose(-1, -2) + bias).softmax(-1)) @ v
    bound = c["use_tp_enc" if prefix.startswith("encoder") else "use_tp_dec"]
    if bound and not c["roles_after_residual"]:
        context, vectors = bind_inside(state, c, a, h, q, v_bar)
        return x + context @ state[f"{a}.o.weight"].T, vectors
    filler = x + join(v_bar) @ state[f"{a}.o.weight"].T
    if not bound:
        return filler, {"filler": filler}
    return bind_after(state, c, prefix, filler, cross=kv is not None)


def entries(R: Tensor) -> Tensor:
    return R / R.pow(2).sum(1, keepdim=True).sqrt()


def bind_inside(state: State, c: Config, a: str, h: Tensor, q: Tensor, v_bar: Tensor):
    heads, n, (batch, seq, _) = c["num_heads"], c["num_roles"], h.shape
    vectors = {}
    if c["use_discrete_roles"]:
        R, weights_input = entries(state[f"{a}.R"]), c["role_weights_input"]
        if weights_input in ("input", "v_bar"):
            scores = split(
                affine(state, f"{a}.r", h if weights_input == "input" else join(v_bar)), heads
            )
        else:
            per_head = affine(state, f"{a}.r", q if weights_input == "query" else v_bar)
            flat = per_head.contiguous().view(batch, seq, heads, n, heads)
            scores = torch.stack([flat[:, :, i, :, i] for i in range(heads)], 1)
        w = scores.softmax(-1)
        vectors["role_weights"] = w.transpose(1, 2)
        role_vectors = [
            R if c["share_roles_among_heads"] else R[i * n : (i + 1) * n] for i in range(heads)
        ]
        role = torch.stack([w[:, i] @ role_vectors[i] for i in range(heads)], 1)
    else:
        role = split(affine(state, f"{a}.r", h), heads)
    if c["tpr_binding_type"] == "full_tensor_product":
        outer = role[..., :, None] * v_bar[..., None, :]
        tpr = torch.einsum("bhsfd,hd->bhsf", outer, state[f"{a}.tpr_reduce_vec"])
    else:
        tpr = v_bar * role
    gate = torch.ones(())
    if c["use_tpr_gate"]:
        pairs = affine(state, f"{a}.tpr_gate_proj", h).softmax(-1).view(batch, seq, heads, 2)
        gate = pairs[..., 0].transpose(1, 2)[..., None]
    context = gate * tpr + v_bar
    per_head = {"filler": v_bar, "role": role, "binding": tpr, "tpr": context}
    vectors |= {site: vector.transpose(1, 2) for site, vector in per_head.items()}
    return join(context), vectors


def bind_after(state: State, c: Config, prefix: str, F: Tensor, cross: bool):
    discrete, multi, output = c["use_discrete_roles"], c["multi_head_rar"], c["tpr_output_type"]
    vectors = {"filler": F}
    if discrete:
        logits = affine(state, f"{prefix}.r", F)
        w = split(logits, c["num_heads"] if multi else 1).softmax(-1)
        vectors["role_weights"] = w.transpose(1, 2)
        role = join(w @ entries(state[f"{prefix}.R"]))
    else:
        role = affine(state, f"{prefix}.r", F)
    tpr = F * role
    everything = multi and (discrete or not cross)
    if c["use_tpr_gate"] and everything:
        out = affine(state, f"{prefix}.tpr_gate_proj", F).softmax(-1)[..., :1] * tpr + F
    elif output == "add":
        out = F + tpr
    elif output == "concat":
        halves = [
            affine(state, f"{prefix}.tpr_out_proj1", F),
            affine(state, f"{prefix}.tpr_out_proj2", tpr),
        ]
        out = torch.cat(halves, -1)
    else:
        out = F + affine(state, f"{prefix}.tpr_out_proj", tpr) if everything else F
    return out, vectors | {"role": role, "binding": tpr, "tpr": out}


def forward(
    state: State, c: Config, source: Tensor, target: Tensor
) -> tuple[Tensor, dict[str, Tensor]]:
    """Logits, and every vector by the name of our site."""
    vectors: dict[str, Tensor] = {}
    seq, steps = source.shape[1], target.shape[1]
    real = (source != c["pad_token_id"])[:, None, None, :].float()
    causal = torch.ones(steps, steps).tril()
    biases = {
        ("encoder", 0): position_bias(state, c, "encoder", "SelfAttention", seq, seq)
        + (1 - real) * -10000.0,
        ("decoder", 0): position_bias(state, c, "decoder", "SelfAttention", steps, steps)
        + (1 - causal) * -10000.0,
        ("decoder", 1): position_bias(state, c, "decoder", "EncDecAttention", steps, seq)
        + (1 - real) * -1e9,
    }
    memory = None
    for stack, ids in (("encoder", source), ("decoder", target)):
        x = state["shared.weight"][ids]
        for block in range(c["num_layers"]):
            for number, name in stacks(c)[stack]:
                prefix, kv = f"{stack}.block.{block}.layer.{number}", memory if number else None
                x, sublayer_vectors = sublayer(state, c, prefix, name, x, kv, biases[stack, number])
                site = f"{stack}.{block}.{'cross' if number else 'self'}"
                vectors |= {f"{site}.{key}": vector for key, vector in sublayer_vectors.items()}
            feed_forward = f"{stack}.block.{block}.layer.{len(stacks(c)[stack])}"
            h = norm(x, state[f"{feed_forward}.layer_norm.weight"], c)
            inner = (h @ state[f"{feed_forward}.DenseReluDense.wi.weight"].T).relu()
            x = x + inner @ state[f"{feed_forward}.DenseReluDense.wo.weight"].T
            vectors[f"{stack}.{block}.hidden"] = x
        x = norm(x, state[f"{stack}.final_layer_norm.weight"], c)
        memory = x if stack == "encoder" else memory
    return x * c["d_model"] ** -0.5 @ state["shared.weight"].T, vectors
