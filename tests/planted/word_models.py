"""A tiny model of whole words, and the minimal pairs that it is asked about."""

from pathlib import Path

import torch
from planted.foreign import SPECIAL

FRAME = """
says = "seeing"
slots = { a = "beast", b = "beast", v = "verb" }
[labels.role]
a = "seer"
b = "seen"
[words.beast]
forms = "word"
words = "dog, cat, cow, hen, fox"
[words.verb]
forms = "word"
words = "sees, hears"
[[patterns]]
text = "the {a} {v} the {b} . who ? the"
answer = "{a}"
other = "{b}"
"""
WORDS = [
    "the",
    "dog",
    "cat",
    "cow",
    "hen",
    "fox",
    "sees",
    "hears",
    ".",
    "who",
    "?",
    "long",
    "word",
    "here",
]


def save_words(path: Path) -> Path:
    """The folder of a tiny random model of whole words, saved with its head."""
    import transformers
    from tokenizers import Tokenizer, models, pre_tokenizers

    tokenizer = Tokenizer(
        models.WordLevel({w: i for i, w in enumerate([*SPECIAL, *WORDS])}, "<unk>")
    )
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    names = dict(zip(("pad_token", "unk_token", "bos_token", "eos_token"), SPECIAL, strict=True))
    transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **names).save_pretrained(path)
    sizes = {
        "hidden_size": 16,
        "num_hidden_layers": 2,
        "num_attention_heads": 2,
        "intermediate_size": 24,
    }
    ids = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "vocab_size": 4 + len(WORDS)}
    config = transformers.AutoConfig.for_model("llama", max_position_embeddings=64, **sizes, **ids)
    with torch.random.fork_rng():
        torch.manual_seed(1)
        module = transformers.AutoModelForCausalLM.from_config(config).eval()
    for weights in module.parameters():
        if weights.ndim > 1:
            weights.data.mul_(8)
    module.save_pretrained(path)
    return path
