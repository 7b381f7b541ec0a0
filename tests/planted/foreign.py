"""Tiny random models of transformers, one of every family, and tokenizers of every kind."""

from typing import Any, NamedTuple

import torch

SPECIAL = ["<pad>", "<unk>", "<s>", "</s>"]
TEXT = ["the dog sees cats .", "a cat sees the dogs .", "dogs see a cat and the cats see"] * 3


class Kind(NamedTuple):
    """A family: its sizes, its tokenizer, its stacks, and where the library's own outputs differ."""

    sizes: dict[str, Any]
    tokenizer: str
    stacks: tuple[str, ...]
    norm: str = ""  # between the last layer and the last of the library's hidden states
    layers: int = 2
    first: int = 1  # of the library's hidden states, the first layer's
    has_maps: bool = True


BASE = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 64,
}  # fmt: skip
GROUPED = {**BASE, "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 4}
BART = {
    "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "max_position_embeddings": 64,
}  # fmt: skip
T5 = {"d_model": 16, "d_kv": 8, "num_heads": 2, "num_layers": 2, "d_ff": 24}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "max_relative_positions": 8}
ENCODER, DECODER, ENCODER_DECODER = ("encoder",), ("layers",), ("encoder", "decoder")
KINDS = {
    "bert": Kind(BASE, "wordpiece", ENCODER),
    "albert": Kind({**BASE, "embedding_size": 8, "num_hidden_layers": 3}, "unigram", ENCODER, layers=3),
    "modernbert": Kind({**BASE, "cls_token_id": 2, "sep_token_id": 3}, "bytes", ENCODER, "final_norm"),
    "deberta": Kind({**BASE, **RELATIVE}, "wordpiece", ENCODER),
    "deberta-v2": Kind({**BASE, **RELATIVE}, "unigram", ENCODER),
    "t5": Kind({**T5, "decoder_start_token_id": 0}, "unigram", ENCODER_DECODER, "{}.final_layer_norm"),
    "bart": Kind({**BART, "decoder_start_token_id": 2}, "bytes", ENCODER_DECODER),
    "gpt2": Kind({"n_embd": 16, "n_layer": 2, "n_head": 2, "n_positions": 64}, "bytes", DECODER, "ln_f"),
    "opt": Kind({**BASE, "ffn_dim": 24, "word_embed_proj_dim": 16}, "bytes", DECODER, "decoder.final_layer_norm"),
    "gpt_neox": Kind(BASE, "bytes", DECODER, "final_layer_norm"),
    "llama": Kind(GROUPED, "metaspace", DECODER, "norm"),
    "qwen3": Kind(GROUPED, "bytes", DECODER, "norm"),
    "gemma2": Kind({**GROUPED, "sliding_window": 3}, "metaspace", DECODER, "norm"),
    "gemma": Kind(GROUPED, "metaspace", DECODER, "norm"),
    "mixtral": Kind({**GROUPED, "num_local_experts": 4}, "metaspace", DECODER, "norm"),
    "mamba": Kind({"hidden_size": 16, "num_hidden_layers": 2, "state_size": 4}, "bytes", DECODER, first=0, has_maps=False),
}  # fmt: skip


AUTO = {
    "causal": "AutoModelForCausalLM",
    "masked": "AutoModelForMaskedLM",
    "seq2seq": "AutoModelForSeq2SeqLM",
}


def build_foreign(kind: str, symbols: int, seed: int = 1, head: str | None = None) -> Any:
    """A random model of a kind, none of seed 0, which twins have; its weights larger than usual, so that what
    it reads matters. An encoder-decoder has its head in any case.
    """
    import transformers

    ids: dict[str, int | None] = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3}
    if kind == "gpt2":
        ids["pad_token_id"] = None  # as published
    config = transformers.AutoConfig.for_model(kind, vocab_size=symbols, **ids, **KINDS[kind].sizes)
    head = "seq2seq" if config.is_encoder_decoder else head
    auto = getattr(transformers, AUTO[head] if head else "AutoModel")
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module = auto.from_config(config).eval()
    for weights in module.parameters():
        if weights.ndim > 1 and kind != "mamba":
            weights.data.mul_(3)
    return module


def save_foreign(kind: str, folder: Any, head: str | None = None) -> Any:
    """The folder of a random model of a kind, with a head or without one, and its tokenizer."""
    symbols = save_tokenizer(KINDS[kind].tokenizer, folder, TEXT, kind)
    build_foreign(kind, symbols, head=head).save_pretrained(folder)
    return folder


def save_tokenizer(family: str, folder: Any, texts: list[str], kind: str = "") -> int:
    """Trains a tokenizer of a family on texts and saves it; the number of its symbols."""
    import transformers
    from tokenizers import (
        Tokenizer,
        decoders,
        models,
        normalizers,
        pre_tokenizers,
        processors,
        trainers,
    )

    marks = ["<mask>"] if kind in ("bert", "albert") else []
    options: dict[str, Any] = {
        "vocab_size": 320,
        "special_tokens": [*SPECIAL, *marks],
        "show_progress": False,
    }
    if family == "wordpiece":
        tokenizer = Tokenizer(models.WordPiece({}, unk_token="<unk>"))
        tokenizer.normalizer = normalizers.BertNormalizer()
        tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
        trainer: Any = trainers.WordPieceTrainer(
            **{**options, "vocab_size": 6 + len({*"".join(texts)}) * 2}
        )
    elif family == "bytes":
        tokenizer = Tokenizer(models.BPE())
        tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
        tokenizer.decoder = decoders.ByteLevel()
        alphabet = pre_tokenizers.ByteLevel.alphabet()
        trainer = trainers.BpeTrainer(**{**options, "vocab_size": 264}, initial_alphabet=alphabet)
    elif family == "metaspace":
        tokenizer = Tokenizer(models.BPE(unk_token="<unk>", byte_fallback=True))
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.BpeTrainer(**{**options, "vocab_size": 8 + len({*"".join(texts)})})
    else:
        tokenizer = Tokenizer(models.Unigram())
        tokenizer.normalizer = normalizers.NFKC()
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
        tokenizer.decoder = decoders.Metaspace()
        trainer = trainers.UnigramTrainer(
            **{**options, "vocab_size": 16 + len({*"".join(texts)})}, unk_token="<unk>"
        )
    tokenizer.train_from_iterator([*texts, "see s seess cat dog"], trainer)
    if kind in ("llama", "gemma", "gemma2", "mixtral"):
        tokenizer.post_processor = processors.TemplateProcessing(
            single="<s> $A", special_tokens=[("<s>", 2)]
        )
    names = ("pad_token", "unk_token", "bos_token", "eos_token")
    special = dict(zip(names, SPECIAL, strict=True))
    if kind == "gpt2":
        special["pad_token"] = special["eos_token"]
    else:
        special |= {"cls_token": "<s>", "sep_token": "</s>"}
    if kind in ("bert", "albert"):
        special["mask_token"] = "<mask>"
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.save_pretrained(folder)
    return len(fast)


SYMBOLS = ["<unk>", "<s>", "</s>", *(chr(97 + i) for i in range(26)), "Ġ", "ab"]


def save_gguf(folder: Any) -> Any:
    """A tiny random Llama, which lies in the folder as a GGUF file of its weights (F32)."""
    import gguf
    import transformers

    config = transformers.LlamaConfig(
        vocab_size=len(SYMBOLS), hidden_size=32, num_hidden_layers=2, num_attention_heads=2,
        num_key_value_heads=2, intermediate_size=64, max_position_embeddings=64, tie_word_embeddings=False,
    )  # fmt: skip
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = transformers.LlamaForCausalLM(config).eval()
    folder.mkdir()
    _write_gguf(gguf, model, folder / "tiny.gguf")
    return model


def _write_gguf(gguf: Any, model: Any, file: Any) -> None:
    config, state = model.config, model.state_dict()
    writer = gguf.GGUFWriter(file, "llama")
    writer.add_context_length(64)
    writer.add_embedding_length(config.hidden_size)
    writer.add_block_count(config.num_hidden_layers)
    writer.add_feed_forward_length(config.intermediate_size)
    writer.add_head_count(2)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(config.rms_norm_eps)
    writer.add_rope_freq_base(10000.0)
    writer.add_vocab_size(config.vocab_size)
    writer.add_name("tiny")
    writer.add_tokenizer_model("gpt2")
    writer.add_tokenizer_pre("smollm")
    writer.add_token_list(SYMBOLS)
    writer.add_token_types([3, 3, 3, *[1] * (len(SYMBOLS) - 3)])
    writer.add_token_merges(["a b"])
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    names = gguf.get_tensor_name_map(gguf.MODEL_ARCH.LLAMA, config.num_hidden_layers)
    for name, tensor in state.items():
        stem, _, kind = name.rpartition(".")
        if stem.endswith(("q_proj", "k_proj")):  # rotated as llama.cpp does
            tensor = tensor.view(2, 2, -1, tensor.shape[-1]).transpose(1, 2).reshape(tensor.shape)
        writer.add_tensor(f"{names.get_name(stem)}.{kind}", tensor.numpy())
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
