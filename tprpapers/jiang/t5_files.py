"""The checkpoints of jiang's code and plain T5: key names, the settings that shapes tell, and their JSON.

Source: the weights and models/configuration_tpt.py of github.com/jiangycTarheel/TPT-Summ; transformers 2.9.0.
"""

import re
from collections.abc import Mapping
from typing import Any

from torch import Size, Tensor

from tprpapers.published.containers import PublishedFile
from tprpapers.published.weights import (
    Options,
    Rebuilt,
    checked,
    count_layers,
    fill,
    settle,
    shape_of,
)
from tprprobe.errors import InputError, unknown

T5_KEYS = re.compile(r"(encoder|decoder)\.block\.\d|shared\.")
SHARED = "shared.weight"
TIED = ("encoder.embed_tokens.weight", "decoder.embed_tokens.weight", "lm_head.weight")
LEFTOVERS = re.compile(r"(^|\.)(label_smoothing|rq|rk)\.")  # what the authors' loader drops
BOUND = re.compile(  # a tensor of a sub-layer's roles
    r"(encoder|decoder)\.block\.\d+\.layer\.[01]\.((?:SelfAttention|EncDecAttention)\.)?"
    r"(R|r\.\w+|tpr_\w+(?:\.\w+)?)$"
)
JOINS = re.compile(r"\.tpr_(gate_proj|out_proj|out_proj1|out_proj2)\.")
SUBLAYERS = {"self": ("0", "SelfAttention"), "cross": ("1", "EncDecAttention")}
PROJECTIONS = {"to_query": "q", "to_key": "k", "to_value": "v", "output": "o"}
NAMES = {
    "embedding": "shared",
    "encoder_norm": "encoder.final_layer_norm",
    "decoder_norm": "decoder.final_layer_norm",
    "encoder_bias": "encoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "decoder_bias": "decoder.block.0.layer.0.SelfAttention.relative_attention_bias",
    "cross_bias": "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias",
}
ROLES = {
    "roles.to_weights": "r",
    "roles.role_embedding": "R",
    "to_role": "r",
    "reduce.weight": "tpr_reduce_vec",
    "join.to_gate": "tpr_gate_proj",
    "join.of_filler": "tpr_out_proj1",
}
FEED_FORWARD = {
    "norm": "layer_norm",
    "expand": "DenseReluDense.wi",
    "contract": "DenseReluDense.wo",
}


def rebuild(file: PublishedFile, options_given: Mapping[str, Any]) -> Rebuilt | None:
    """The model of a file of jiang's code or of T5; None for any other file."""
    if not any(T5_KEYS.match(key) for key in file.state):
        return None
    state, passed_over = prepare(file.state)
    admitted = options(state)
    options_given = read_options(file.config, strict=False) | read_options(options_given)
    architecture = "t5" if admitted["roles"] == ("none",) else "tpt"
    settings = settle(architecture, admitted, options_given, SPELLED)
    return fill(settings, state, published_key, passed_over, unused(state))


def prepare(state: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], list[str]]:
    """The state with the embedding under one name, and the names passed over."""
    copies = [key for key in (SHARED, *TIED) if key in state]
    if not copies:
        raise InputError(f"the file lacks the tensor {SHARED!r}")
    shared = state[copies[0]]
    for key in copies[1:]:
        if not shared.equal(state[key]):
            raise InputError(f"{key} differs from {copies[0]}: this architecture ties them")
    over = [key for key in state if LEFTOVERS.search(key)]
    tensors = {key: state[key] for key in state if key not in {*copies, *over}}
    return {SHARED: shared, **tensors}, copies[1:] + over


def options(state: Mapping[str, Tensor]) -> Options:
    """The options of a :class:`TPTConfig` that the shapes determine."""
    attention = "encoder.block.0.layer.0.SelfAttention"
    vocab, d_model = shape_of(state, SHARED)
    n_buckets, n_heads = shape_of(state, f"{attention}.relative_attention_bias.weight")
    d_inner, _ = shape_of(state, f"{attention}.q.weight")
    if d_inner % n_heads:
        raise InputError(f"{attention}: {d_inner} numbers cannot be divided among {n_heads} heads")
    sizes: Options = {
        "vocab_size": (vocab,),
        "d_model": (d_model,),
        "n_heads": (n_heads,),
        "d_head": (d_inner // n_heads,),
        "n_layers": (tuple(count_layers(state, rf"{s}\.block") for s in ("encoder", "decoder")),),
        "d_ff": (shape_of(state, "encoder.block.0.layer.1.DenseReluDense.wi.weight")[0],),
        "n_buckets": (n_buckets,),
        "cross_position_bias": (f"{NAMES['cross_bias']}.weight" in state,),
    }
    return sizes | _role_options(state, d_model, n_heads, d_inner // n_heads)


def _role_options(state: Mapping[str, Tensor], d_model: int, n_heads: int, d_head: int) -> Options:
    matches = [match for match in map(BOUND.match, state) if match]
    if not matches:
        return {"roles": ("none",)}
    inside = any(match[2] for match in matches)
    shapes = {match[3]: state[match[0]].shape for match in reversed(matches)}
    for name in {"R", "r.weight"} & set(shapes):
        checked(name, shapes[name], axes=2)
    settings: Options = {
        "roles": ("discrete" if "R" in shapes else "continuous",),
        "role_stacks": (tuple(any(m[1] == s for m in matches) for s in ("encoder", "decoder")),),
        "after_residual": (not inside,),
        "gate": ("tpr_gate_proj.weight" in shapes,),
    }
    if inside:
        settings["binding"] = ("full_tensor_product" if "tpr_reduce_vec" in shapes else "hadamard",)
        return settings | (_inside(shapes, d_model, n_heads, d_head) if "R" in shapes else {})
    outputs = {"tpr_out_proj1.weight": "concat", "tpr_out_proj.weight": "proj&add"}
    settings["output"] = (next((outputs[key] for key in outputs if key in shapes), "add"),)
    settings["binding"] = ("hadamard",)
    if "R" not in shapes:
        return settings | {"multi_head": (True, False)}
    return settings | _after_residual(shapes, d_model, n_heads, d_head)


def _after_residual(shapes: Mapping[str, Size], d_model: int, n_heads: int, d_head: int) -> Options:
    n_roles, width = shapes["R"]
    rows = shapes["r.weight"][0] if "r.weight" in shapes else 0
    fits = {
        True: (rows, width) == (n_heads * n_roles, d_head),
        False: (rows, width) == (n_roles, d_model),
    }
    heads = tuple(flag for flag, does in fits.items() if does)
    if not heads:
        raise InputError(f"R {tuple(shapes['R'])} and r ({rows} rows) fit no role dictionary")
    return {"n_roles": (n_roles,), "multi_head": heads}


def _inside(shapes: Mapping[str, Size], d_model: int, n_heads: int, d_head: int) -> Options:
    entries = shapes["R"][0]
    rows, width = shapes.get("r.weight", (0, 0))
    fits = {True: entries * n_heads == rows, False: entries == rows}
    shared = tuple(flag for flag, does in fits.items() if does)
    reads = [("input", d_model)]
    reads += [("v_bar", d_model)] if n_heads * d_head == d_model else []
    reads += [("query", d_head), ("v_bar_2", d_head)]
    inputs = tuple(name for name, wide in reads if wide == width)
    if not shared or not inputs or rows % n_heads:
        raise InputError(f"R {tuple(shapes['R'])} and r {(rows, width)} fit no role dictionary")
    return {"n_roles": (rows // n_heads,), "shared_roles": shared, "role_input": inputs}


def published_key(name_here: str, options: Mapping[str, Any]) -> str:
    head, _, suffix = name_here.partition(".")
    if head in NAMES:
        return f"{NAMES[head]}.weight"
    layer, sublayer, suffix = suffix.split(".", 2)
    block = f"{head}.block.{layer}.layer"
    name, _, kind = suffix.rpartition(".")
    if sublayer == "feed_forward":
        return f"{block}.{1 if head == 'encoder' else 2}.{FEED_FORWARD[name]}.{kind}"
    number, attention = SUBLAYERS[sublayer]
    if name == "norm":
        return f"{block}.{number}.layer_norm.{kind}"
    if name in PROJECTIONS:
        return f"{block}.{number}.{attention}.{PROJECTIONS[name]}.{kind}"
    inner = f"{block}.{number}." if options["after_residual"] else f"{block}.{number}.{attention}."
    if name == "join.of_binding":
        return f"{inner}tpr_out_proj{2 if options['output'] == 'concat' else ''}.{kind}"
    return inner + (ROLES[suffix] if suffix in ROLES else f"{ROLES[name]}.{kind}")


def unused(state: Mapping[str, Tensor]) -> list[str]:
    """Projections that a file may hold although the published code never uses them."""
    return [key for key in state if BOUND.match(key) and JOINS.search(key)]


OPTIONS = {
    "vocab_size": "vocab_size",
    "d_model": "d_model",
    "d_kv": "d_head",
    "d_ff": "d_ff",
    "num_heads": "n_heads",
    "relative_attention_num_buckets": "n_buckets",
    "dropout_rate": "dropout",
    "layer_norm_epsilon": "norm_epsilon",
    "pad_token_id": "pad",
    "eos_token_id": "eos",
    "decoder_start_token_id": "sos",
    "num_roles": "n_roles",
    "roles_after_residual": "after_residual",
    "multi_head_rar": "multi_head",
    "tpr_binding_type": "binding",
    "role_weights_input": "role_input",
    "share_roles_among_heads": "shared_roles",
    "use_tpr_gate": "gate",
    "tpr_output_type": "output",
}
STACKS = ("use_tp_enc", "use_tp_dec")
LAYERS = ("num_layers", "num_decoder_layers")
SPELLED = {name: key for key, name in OPTIONS.items()} | {  # our options in the JSON's words
    "n_layers": LAYERS[0],
    "role_stacks": ", ".join(STACKS),
    "roles": "use_discrete_roles",
}
FIXED = {"relative_attention_max_distance": 128, "feed_forward_proj": "relu"}
# The shipped JSON says 20 roles; the training script and the evaluation override it with 50.
SHIPPED_ROLES = 20
GENERIC = frozenset(
    """_name_or_path architectures attn_implementation bad_words_ids begin_suppress_tokens bos_token_id
    chunk_size_feed_forward classifier_dropout cross_attention_hidden_size dense_act_fn diversity_penalty
    do_sample dtype early_stopping encoder_no_repeat_ngram_size exponential_decay_length_penalty
    finetuning_task forced_bos_token_id forced_eos_token_id gradient_checkpointing id2label
    initializer_factor is_decoder is_encoder_decoder is_gated_act label2id length_penalty max_length
    min_length model_type n_positions no_repeat_ngram_size num_beam_groups num_beams
    num_return_sequences output_attentions output_hidden_states output_past output_scores prefix
    problem_type pruned_heads remove_invalid_values repetition_penalty return_dict
    return_dict_in_generate sep_token_id suppress_tokens task_specific_params temperature
    tie_encoder_decoder tie_word_embeddings tokenizer_class top_k top_p torch_dtype torchscript
    transformers_version typical_p use_bfloat16 use_cache xla_device add_cross_attention""".split()  # noqa: SIM905
)


def read_options(config: Mapping[str, Any], strict: bool = True) -> dict[str, Any]:
    """Our options for the JSON's; generic Hugging Face keys and nulls are passed over."""
    config = {key: value for key, value in config.items() if value is not None}
    accepted = [*OPTIONS, *STACKS, *LAYERS, "use_discrete_roles", *FIXED]
    for key, value in config.items():
        if strict and key not in GENERIC and key not in accepted:
            raise unknown("configuration key", key, accepted)
        if key in FIXED and value != FIXED[key]:
            raise InputError(f"{key} = {value!r}: this architecture has {FIXED[key]!r} only")
    options = {name: config[key] for key, name in OPTIONS.items() if key in config}
    if options.get("n_roles") == SHIPPED_ROLES:
        del options["n_roles"]
    if LAYERS[0] in config:
        options["n_layers"] = (config[LAYERS[0]], config.get(LAYERS[1], config[LAYERS[0]]))
    if any(key in config for key in STACKS):
        options["role_stacks"] = tuple(bool(config.get(key)) for key in STACKS)
    if "use_discrete_roles" in config:
        options["roles"] = "discrete" if config["use_discrete_roles"] else "continuous"
    if not any(options.get("role_stacks", (True,))):
        options["roles"] = "none"
    return options
