"""A tiny random model of every architecture of transformers that reads text alone, made of its default configuration."""

from collections.abc import Iterator
from typing import Any

import torch

WIDTH, HEADS, LAYERS, LENGTH = 32, 4, 2, 64
NAMES = {  # sizes by the names that configurations give them
    WIDTH: "hidden_size d_model n_embd dim emb_dim embedding_size d_embed decoder_hidden_size word_embed_proj_dim "
    "attention_hidden_size linear_key_head_dim linear_value_head_dim",
    LAYERS: "num_hidden_layers n_layer n_layers num_layers encoder_layers decoder_layers num_decoder_layers "
    "num_encoder_layers num_key_value_heads num_kv_heads num_experts_per_tok top_k moe_topk first_k_dense_replace",
    HEADS: "num_attention_heads n_head n_heads num_heads encoder_attention_heads decoder_attention_heads "
    "attention_heads num_decoder_attention_heads num_encoder_attention_heads num_experts n_routed_experts "
    "num_local_experts moe_num_experts linear_num_key_heads linear_num_value_heads rotary_dim",
    8: "head_dim d_kv kv_channels d_head attention_head_dim qk_nope_head_dim qk_rope_head_dim v_head_dim mamba_n_heads "
    "mamba_d_head attention_window",
    16: "kv_lora_rank q_lora_rank index_head_dim",
    48: "intermediate_size ffn_dim encoder_ffn_dim decoder_ffn_dim d_ff n_inner d_inner ffn_hidden_size "
    "moe_intermediate_size shared_expert_intermediate_size ff_dim",
    LENGTH: "max_position_embeddings n_positions n_ctx max_seq_len max_encoder_position_embeddings "
    "max_decoder_position_embeddings",
}  # fmt: skip
SIZES = {name: size for size, names in NAMES.items() for name in names.split()}
SYMBOLS = {"vocab_size": 40, "pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}  # fmt: skip
NESTED_CONFIGS = {"attn_config", "ffn_config"}  # configurations of parts of a layer, not of a model
LEAVE = object()  # as it is by default
UNGROUPED = ("esmc", "glm5_next_text")  # keys have as many heads as queries
EXTRA_OPTIONS: dict[str, dict[str, Any]] = {  # what the sizes above do not say of an architecture
    "xlnet": {"num_hidden_layers": LEAVE, "max_position_embeddings": LEAVE, "hidden_size": LEAVE},
    "xmod": {"default_language": "en_XX"},
    "prophetnet": {"num_hidden_layers": LEAVE},
    "funnel": {"num_hidden_layers": LEAVE, "block_sizes": [2, 2], "num_decoder_layers": 1},
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "zaya": {"num_experts_per_tok": 1},
    "mamba2": {"num_heads": 8},
    "led": {"max_encoder_position_embeddings": 1024},
    "nemotron_h": {"num_hidden_layers": LEAVE},
    "reformer": {
        "axial_pos_embds": False, "attention_head_size": 8, "attn_layers": ["local", "lsh"],
        "local_attn_chunk_length": 4, "lsh_attn_chunk_length": 4, "num_buckets": 2,
    },
}  # fmt: skip


def list_types() -> Iterator[str]:
    """The types of models that have a class which reads ids, and one configuration."""
    import transformers

    for name in sorted(transformers.CONFIG_MAPPING.keys()):
        try:
            config = transformers.AutoConfig.for_model(name)
            is_one = {*config.sub_configs} <= NESTED_CONFIGS and config.get_text_config() is config
            kind = _class_of(config) if is_one else None
        except Exception:
            continue
        if kind is not None and kind.main_input_name == "input_ids":
            yield name


def build(name: str, seed: int = 1) -> Any:
    """A tiny random model of a type; its weights are larger than usual, so that what it reads matters."""
    import transformers

    config = transformers.AutoConfig.for_model(name, **_settings(name))
    kind = _class_of(config)
    options = {} if kind._can_set_attn_implementation() else {"attn_implementation": "eager"}
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = kind._from_config(config, **options).eval()
        for weights in module.parameters():
            if not weights.isfinite().all() or not weights.any():  # left as they lay in memory
                weights.data.normal_(0, 0.05)
            elif weights.ndim > 1:
                weights.data.mul_(2)
    return module


def _class_of(config: Any) -> Any:
    import transformers

    kind: Any = transformers.MODEL_MAPPING.get(type(config), None)
    return kind[0] if isinstance(kind, tuple) else kind


def _settings(name: str) -> dict[str, Any]:
    """The options of a small configuration: one layer at least of each kind that the default one has."""
    import transformers

    default = transformers.AutoConfig.for_model(name)
    extra = EXTRA_OPTIONS.get(name, {})
    settings: dict[str, Any] = {
        key: value
        for key, value in {**SIZES, **SYMBOLS}.items()
        if hasattr(default, key)
        and not isinstance(getattr(default, key), list | tuple | dict)
        and getattr(getattr(type(default), key, None), "fset", True)  # a property that is set
    }
    kinds = list(dict.fromkeys(getattr(default, "layer_types", None) or ()))
    is_set = getattr(getattr(type(default), "layer_types", None), "fset", True)
    if kinds and is_set and "num_hidden_layers" in settings:
        count = max(LAYERS, len(kinds))
        settings |= {"layer_types": (kinds * LAYERS)[:count], "num_hidden_layers": count}
    if default.is_encoder_decoder:
        settings["decoder_start_token_id"] = SYMBOLS["decoder_start_token_id"]
    if name in UNGROUPED or hasattr(default, "kv_lora_rank"):
        settings["num_key_value_heads"] = HEADS
    rope = getattr(default, "rope_parameters", None)
    if isinstance(rope, dict) and "mrope_section" in rope:
        settings["rope_parameters"] = {**rope, "mrope_section": [2, 1, 1]}
    return {key: value for key, value in {**settings, **extra}.items() if value is not LEAVE}


def make_tokenizer() -> Any:
    """A tokenizer of letters between blanks, which fits every one of these models."""
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    symbols = ["<pad>", "<unk>", "<s>", "</s>", *map(chr, range(97, 123))]
    letters = Tokenizer(models.WordLevel({s: i for i, s in enumerate(symbols)}, unk_token="<unk>"))
    letters.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = ("pad_token", "unk_token", "bos_token", "eos_token")
    special = dict(zip(names, symbols[:4], strict=True))
    return PreTrainedTokenizerFast(tokenizer_object=letters, **special, cls_token="<s>", sep_token="</s>")  # fmt: skip
