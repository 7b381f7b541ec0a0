"""schlag's published model as plain equations on a dictionary of tensors with the authors' names.

Written from the authors' published code and from nothing of this package.
"""

import math
from dataclasses import dataclass

import torch
from torch import Tensor

State = dict[str, Tensor]
ATTENTIONS = {"encoder": {"self": "MHA"}, "decoder": {"self": "selfAttn", "cross": "encAttn"}}


@dataclass(frozen=True)
class Sizes:
    """A TP-Transformer, or the baseline (``roles`` False); ``binding`` is the embedding's."""

    vocab: int = 17
    heads: int = 2
    width: int = 4
    layers: int = 1
    filter: int = 10
    max_length: int = 40
    roles: bool = True
    binding: bool = True

    @property
    def d(self) -> int:
        return self.heads * self.width

    @property
    def letters(self) -> dict[str, str]:
        if self.roles:
            return {letter: f"W_{letter}" for letter in "qkvro"}
        return {letter: f"w_{letter}" for letter in "qkv"} | {"o": "linear"}


def positions(length: int, d: int) -> Tensor:
    table = torch.zeros(length, d)
    for t in range(length):
        for i in range(0, d, 2):
            rate = math.exp(i * -(math.log(10000.0) / d))
            table[t, i] = math.sin(t * rate)
            if i + 1 < d:
                table[t, i + 1] = math.cos(t * rate)
    return table


def random_state(s: Sizes, seed: int) -> State:
    generator = torch.Generator().manual_seed(seed)
    d = s.d
    shapes = {"embedding.tok_embedding.weight": (s.vocab, d)}

    def linear(name: str, rows: int, columns: int) -> None:
        shapes.update({f"{name}.weight": (rows, columns), f"{name}.bias": (rows,)})

    if s.binding:
        linear("embedding.linear", d, d)
    for stack, attentions in ATTENTIONS.items():
        for layer in range(s.layers):
            prefix = f"{stack}.layers.{layer}"
            for number in range(1, len(attentions) + 3):
                shapes.update(
                    {f"{prefix}.layernorm{number}.{kind}": (d,) for kind in ("weight", "bias")}
                )
            for attention in attentions.values():
                for name in s.letters.values():
                    linear(f"{prefix}.{attention}.{name}", d, d)
            linear(f"{prefix}.densefilter.linear1", s.filter, d)
            linear(f"{prefix}.densefilter.linear2", d, s.filter)
    state = {
        key: torch.randn(shape, generator=generator)
        * (shape[-1] ** -0.5 if len(shape) > 1 else 0.5)
        for key, shape in shapes.items()
    }
    return {"embedding.pe": positions(s.max_length, d)[None], **state}


def affine(state: State, name: str, x: Tensor) -> Tensor:
    return x @ state[f"{name}.weight"].T + state[f"{name}.bias"]


def norm(state: State, name: str, x: Tensor) -> Tensor:
    centered = x - x.mean(-1, keepdim=True)
    scaled = centered / torch.sqrt(centered.pow(2).mean(-1, keepdim=True) + 1e-5)
    return scaled * state[f"{name}.weight"] + state[f"{name}.bias"]


def embed(state: State, s: Sizes, ids: Tensor) -> tuple[Tensor, dict[str, Tensor]]:
    e = state["embedding.tok_embedding.weight"][ids] * math.sqrt(s.d)
    e = e + state["embedding.pe"][0, : ids.shape[1]]
    if not s.binding:
        return e, {}
    role = affine(state, "embedding.linear", e) + 1
    return e * role, {"filler": e, "role": role, "binding": e * role}


def attend(state: State, s: Sizes, prefix: str, h: Tensor, memory: Tensor, mask: Tensor):
    """Per head [batch, seq, head, width]; ``mask`` is 0 where a score is replaced by −1e10."""
    names = s.letters
    q, r = (
        affine(state, f"{prefix}.{names[x]}", h).unflatten(-1, (s.heads, -1))
        if x in names
        else None
        for x in "qr"
    )
    k, v = (
        affine(state, f"{prefix}.{names[x]}", memory).unflatten(-1, (s.heads, -1)) for x in "kv"
    )
    scores = torch.einsum("bqhd,bkhd->bhqk", q, k) / math.sqrt(s.width)
    weights = scores.masked_fill(mask == 0, -1e10).softmax(-1)
    v_bar = torch.einsum("bhqk,bkhd->bqhd", weights, v)
    bound = v_bar if r is None else v_bar * r
    out = affine(state, f"{prefix}.{names['o']}", bound.flatten(-2))
    vectors = {"attention": weights, "query": q, "key": k, "value": v, "filler": v_bar}
    return out, vectors | ({} if r is None else {"role": r, "binding": bound, "tpr": out})


def forward(state: State, s: Sizes, source: Tensor, target: Tensor, pad: int = 1):
    """Logits, and every vector by the name of our site."""
    source_mask = (source != pad)[:, None, None, :]
    causal = torch.ones(target.shape[1], target.shape[1], dtype=torch.bool).tril()
    target_mask = (target != pad)[:, None, :, None] & causal
    x, embedded = embed(state, s, source)
    vectors = {f"embedding.{key}": vector for key, vector in embedded.items()}
    memory = x
    for stack, attentions in ATTENTIONS.items():
        if stack == "decoder":
            memory = x
            x, embedded = embed(state, s, target)
            vectors |= {f"embedding.target.{key}": vector for key, vector in embedded.items()}
        for layer in range(s.layers):
            prefix = f"{stack}.layers.{layer}"
            for number, (attention_kind, name) in enumerate(attentions.items(), 1):
                h = norm(state, f"{prefix}.layernorm{number}", x)
                mask = (
                    target_mask if (stack, attention_kind) == ("decoder", "self") else source_mask
                )
                kv = memory if attention_kind == "cross" else h
                out, embedded = attend(state, s, f"{prefix}.{name}", h, kv, mask)
                vectors |= {
                    f"{stack}.{layer}.{attention_kind}.{key}": value
                    for key, value in embedded.items()
                }
                vectors[f"{stack}.{layer}.{attention_kind}.input"] = h
                x = x + out
            h = norm(state, f"{prefix}.layernorm{len(attentions) + 1}", x)
            inner = affine(state, f"{prefix}.densefilter.linear1", h).relu()
            x = x + affine(state, f"{prefix}.densefilter.linear2", inner)
            x = norm(state, f"{prefix}.layernorm{len(attentions) + 2}", x)
            vectors[f"{stack}.{layer}.hidden"] = x
    return x @ state["embedding.tok_embedding.weight"].T, vectors
