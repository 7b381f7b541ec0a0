"""The checkpoints of schlag's code: key names, and the sizes that their shapes tell.

Source: the weights of github.com/ischlag/TP-Transformer.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Tensor

from tprpapers.architectures.transformer import sinusoids
from tprpapers.published.containers import PublishedFile
from tprpapers.published.weights import Options, Rebuilt, count_layers, fill, settle, shape_of
from tprprobe.errors import InputError

SCHLAG_KEYS = re.compile(r"(encoder|decoder)\.layers\.\d|embedding\.")
POSITIONS = "embedding.pe"
ROUNDING = 1e-2  # far above what processors and precisions differ in, far below another table
TP = {"to_query": "W_q", "to_key": "W_k", "to_value": "W_v", "to_role": "W_r", "output": "W_o"}
PLAIN = {"to_query": "w_q", "to_key": "w_k", "to_value": "w_v", "output": "linear"}
FEED_FORWARD = {"expand": "linear1", "contract": "linear2"}
EMBEDDING = {"token": "tok_embedding", "to_role": "linear", "positions": "pe"}
ATTENTION = {
    ("encoder", "self"): "MHA",
    ("decoder", "self"): "selfAttn",
    ("decoder", "cross"): "encAttn",
}


def rebuild(file: PublishedFile, options_given: Mapping[str, Any]) -> Rebuilt | None:
    """The model of a file of schlag's code; None for any other file."""
    if not any(SCHLAG_KEYS.match(key) for key in file.state):
        return None
    state = prepare(file.state)
    admitted = options(state)
    architecture = "transformer" if admitted["roles"] == ("none",) else "tp-transformer"
    rebuilt = fill(settle(architecture, admitted, options_given), state, published_key)
    if "n_heads" in options_given:
        return rebuilt
    heads = f"{rebuilt.model.config.n_heads} heads are a guess, because no shape determines them"
    return rebuilt._replace(remark=f"{heads}: --config '{{\"n_heads\": N}}'")


def prepare(state: Mapping[str, Tensor]) -> dict[str, Tensor]:
    """The state with its position table as [seq, d_model]."""
    _, length, d_model = shape_of(state, POSITIONS, axes=3)
    table = state[POSITIONS][0]
    if not table.float().allclose(sinusoids(length, d_model), rtol=0, atol=ROUNDING):
        raise InputError(f"{POSITIONS} is no sinusoidal table: such a model cannot be represented")
    return dict(state) | {POSITIONS: table}


def options(state: Mapping[str, Tensor]) -> Options:
    """The options of a :class:`TransformerConfig` that the shapes determine: all but the number of heads."""
    vocab, d_model = shape_of(state, "embedding.tok_embedding.weight")
    bound = any(".W_r." in key for key in state)
    return {
        "vocab_size": (vocab,),
        "d_model": (d_model,),
        "n_layers": (tuple(count_layers(state, rf"{s}\.layers") for s in ("encoder", "decoder")),),
        "d_ff": (shape_of(state, "encoder.layers.0.densefilter.linear1.weight")[0],),
        "max_length": (len(state[POSITIONS]),),
        "saved_positions": (True,),
        "roles": ("continuous" if bound else "none",),
        "binding": ("hadamard",),
        "embedding_binding": (any(key.startswith("embedding.linear.") for key in state),),
    }


def published_key(name: str, options: Mapping[str, Any]) -> str:
    words = name.split(".")
    if words[0] == "embedding":
        return ".".join(["embedding", EMBEDDING[words[1]], *words[2:]])
    stack, layer, sublayer, *suffixes = words
    if sublayer.startswith("norm"):
        return ".".join([stack, "layers", layer, f"layer{sublayer}", *suffixes])
    if sublayer == "feed_forward":
        inner = ["densefilter", FEED_FORWARD[suffixes[0]]]
    else:
        names = PLAIN if options["roles"] == "none" else TP
        inner = [ATTENTION[stack, sublayer], names[suffixes[0]]]
    return ".".join([stack, "layers", layer, *inner, *suffixes[1:]])
