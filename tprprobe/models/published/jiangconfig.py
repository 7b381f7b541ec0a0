"""The configuration JSON of jiang's code and of Hugging Face T5, read into our options.

Source: models/configuration_tpt.py of github.com/jiangycTarheel/TPT-Summ, transformers 2.9.0.
"""

from collections.abc import Mapping
from typing import Any

from tprprobe.errors import InputError, unknown

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
SPELLED = {own: key for key, own in OPTIONS.items()} | {  # our options in the JSON's words
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
    given = {own: config[key] for key, own in OPTIONS.items() if key in config}
    if given.get("n_roles") == SHIPPED_ROLES:
        del given["n_roles"]
    if LAYERS[0] in config:
        given["n_layers"] = (config[LAYERS[0]], config.get(LAYERS[1], config[LAYERS[0]]))
    if any(key in config for key in STACKS):
        given["role_stacks"] = tuple(bool(config.get(key)) for key in STACKS)
    if "use_discrete_roles" in config:
        given["roles"] = "discrete" if config["use_discrete_roles"] else "continuous"
    if not any(given.get("role_stacks", (True,))):
        given["roles"] = "none"
    return given
