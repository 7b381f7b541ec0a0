"""A check that the vectors at a model's sites obey the equations of its paper."""

from collections.abc import Callable, Iterator
from functools import singledispatch

import pandas as pd
import torch
from jaxtyping import Int
from torch import Tensor, nn

from tprpapers.architectures.attention import TPAttention, split_heads
from tprpapers.architectures.sublayers import SubLayer
from tprpapers.architectures.transformer import Embedding
from tprprobe.models.protocol import Model
from tprprobe.site.hooks import capture, find_sites

Batch = tuple[Int[Tensor, "batch seq"], Int[Tensor, "batch target_seq"]]
SiteReader = Callable[[str], Tensor]  # the vectors captured at a site of the module
Equation = tuple[str, str, Tensor]  # a site, what it must equal in words and in numbers
JOINED = {
    "add": "{0} + {1}",
    "gate": "g ({0}) + {1}",
    "concat": "[{1} W_1 + b_1, ({0}) W_2 + b_2]",
    "proj&add": "({0}) W + b + {1}",
    "drop": "{1}",
}


def random_batch(model: Model, size: int = 4, length: int = 12, seed: int = 0) -> Batch:
    """Source and target ids for a model of unknown vocabulary; the start symbol comes first."""
    generator = torch.Generator().manual_seed(seed)
    vocab = model.config.vocab_size
    source, target = (torch.randint(vocab, (size, length), generator=generator) for _ in range(2))
    target[:, 0] = model.config.sos
    return source, target


@torch.no_grad()
def binding_contract(model: Model, batch: Batch | None = None) -> pd.DataFrame:
    """Each equation of the model's paper at each site, with its largest deviation on a batch (default: a random one).

    Columns: site, equation, deviation (max |captured − computed|), scale (max |captured|). A model
    without roles has no rows.
    """
    names = [name for name in find_sites(model) if not name.endswith(".attention")]
    with capture(model, names) as vectors:
        model(*(batch or random_batch(model)))
    rows = []
    for prefix, module in model.named_modules():
        for site, equation, expected in equations(module, lambda s, p=prefix: vectors[f"{p}.{s}"]):
            captured = vectors[f"{prefix}.{site}"]
            deviation = (captured - expected).abs().max().item()
            rows.append((f"{prefix}.{site}", equation, deviation, captured.abs().max().item()))
    return pd.DataFrame(rows, columns=["site", "equation", "deviation", "scale"])


@singledispatch
def equations(_module: nn.Module, _read_site: SiteReader) -> Iterator[Equation]:
    """The equations that hold between a module's sites; most modules have none."""
    return iter(())


@equations.register
def _(module: Embedding, read_site: SiteReader) -> Iterator[Equation]:
    if module.to_role is None:
        return
    for prefix in ("", "target."):
        filler, role = read_site(f"{prefix}filler"), read_site(f"{prefix}role")
        yield f"{prefix}role", "r = W e + b + 1", module.to_role(filler) + 1
        yield f"{prefix}binding", "e ⊙ r", filler * role


@equations.register
def _(module: TPAttention, read_site: SiteReader) -> Iterator[Equation]:
    if module.roles == "none":
        return
    filler, role = read_site("filler"), read_site("role")
    if module.roles == "continuous":
        yield (
            "role",
            "r = W_r x + b_r",
            split_heads(module.to_role(read_site("input")), module.n_heads),
        )
    outer = torch.einsum("bshf,bshr->bshfr", filler, role).flatten(-2) if module.outer else None
    bound, sign = (filler * role, "⊙") if outer is None else (outer, "⊗")
    yield "binding", f"v̄ {sign} r", bound
    weights = module.output.weight.unflatten(-1, (module.n_heads, -1))  # [d_model, head, d_bound]
    summed = torch.einsum("bshd,mhd->bsm", bound, weights) + module.output.bias
    yield "tpr", f"Σ_h W_o (v̄ {sign} r) + b", summed


@equations.register
def _(module: SubLayer, read_site: SiteReader) -> Iterator[Equation]:
    if not module.bound:
        return
    filler, role, filler_name = (
        read_site("filler"),
        read_site("role"),
        "v̄" if module.inside else "F",
    )
    normed = read_site("input") if module.inside else filler
    source, source_name = {
        "input": (normed, "x" if module.inside else "F"),
        "v_bar": (filler.flatten(-2), "v̄"),
        "v_bar_2": (filler, "v̄_h"),
        "query": (read_site("query"), "q_h"),
    }[module.role_input]
    if module.roles is None:
        yield (
            "role",
            f"R = {source_name} W_r + b_r",
            split_heads(module.to_role(source), module.role_heads),
        )
    else:
        over = module.roles.crossed_weights if module.reads_heads else module.roles.weights
        yield "role_weights", f"softmax({source_name} W_r + b_r)", over(source)
        yield "role", f"R = softmax({source_name} W_r + b_r) r̂", module.roles.mix(over(source))
    if module.reduce is None:
        bound, product = role.reshape(filler.shape) * filler, f"R ⊙ {filler_name}"
    else:
        scale = torch.einsum("bshd,hd->bsh", filler, module.reduce.weight)
        bound, product = role * scale[..., None], f"R ({filler_name} · w)"
    yield "binding", product, bound
    yield (
        "tpr",
        JOINED[module.join.kind].format(product, filler_name),
        module.join(filler, bound, normed),
    )
