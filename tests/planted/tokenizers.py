"""Tiny tokenizers of every kind that transformers has, built in memory."""

from collections.abc import Callable
from typing import Any

WORDS = ["the", "cat", "sees", "a", "dog", "and", "runs", "fast"]
LETTERS = [*"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789.,'%"]
SUBWORDS = [(f"▁{word}", -2.0) for word in WORDS] + [("▁", -3.0)]
SUBWORDS += [(letter, -5.0) for letter in LETTERS]


def _unigram(*special: str) -> list[tuple[str, float]]:
    return [*((symbol, 0.0) for symbol in special), *SUBWORDS]


def train_bytes(*texts: str, special: list[str] | None = None) -> tuple[dict[str, int], list[Any]]:
    """The symbols and merges of a byte-level BPE."""
    import json

    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    bpe = Tokenizer(models.BPE())
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    trainer = trainers.BpeTrainer(
        vocab_size=300, special_tokens=special or ["<s>", "<pad>", "</s>", "<unk>", "<mask>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(), show_progress=False,
    )  # fmt: skip
    bpe.train_from_iterator([*texts, " ".join(WORDS)] * 3, trainer)
    model = json.loads(bpe.to_str())["model"]
    return model["vocab"], [tuple(merge) for merge in model["merges"]]


def _template(**special: str) -> Any:
    """Words in a template of symbols that the settings do not name, as some tokenizer.json have it."""
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    symbols = {symbol: i for i, symbol in enumerate(["[unk]", "[A]", "[B]", *WORDS])}
    words = Tokenizer(models.WordLevel(symbols, unk_token="[unk]"))
    words.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    words.post_processor = processors.TemplateProcessing(
        single="[A] [B] $A [B]", pair="[A] $A [B] $B [B]", special_tokens=[("[A]", 1), ("[B]", 2)]
    )
    return PreTrainedTokenizerFast(tokenizer_object=words, unk_token="[unk]", **special)


def _bytes(name: str, **options: Any) -> Any:
    import transformers

    symbols, merges = train_bytes()
    return getattr(transformers, name)(vocab=symbols, merges=merges, **options)


def _pieces(name: str, *special: str, **options: Any) -> Any:
    import transformers

    return getattr(transformers, name)(vocab=_unigram(*special), **options)


def _bert() -> Any:
    from transformers import BertTokenizer

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    symbols = [*special, *WORDS, *(f"##{x}" for x in LETTERS), *LETTERS]
    return BertTokenizer(vocab={symbol: i for i, symbol in enumerate(symbols)})


def _llama(**options: Any) -> Any:
    from tokenizers import processors

    tokenizer = _bytes(
        "GPT2Tokenizer", bos_token="<s>", eos_token="</s>", unk_token="<unk>", **options
    )
    tokenizer.backend_tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A", special_tokens=[("<s>", 0)]
    )
    return tokenizer


def _roberta() -> Any:
    from transformers import AddedToken

    return _bytes("RobertaTokenizer", mask_token=AddedToken("<mask>", lstrip=True, special=True))


def _pythonic(name: str) -> Any:
    import transformers

    return getattr(transformers, name)()


LANGUAGES = {"src_lang": "en_XX", "tgt_lang": "ro_RO"}
MBART = ("<s>", "<pad>", "</s>", "<unk>")
KINDS: dict[str, Callable[[], Any]] = {
    "bert": _bert,
    "roberta": _roberta,
    "gpt2": lambda: _bytes("GPT2Tokenizer", bos_token="</s>", eos_token="</s>", unk_token="</s>"),
    "llama": _llama,
    "t5": lambda: _pieces("T5Tokenizer", "<pad>", "</s>", "<unk>"),
    "xlnet": lambda: _pieces(
        "XLNetTokenizer", "<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>"
    ),
    "deberta": lambda: _pieces("DebertaV2Tokenizer", "[PAD]", "[CLS]", "[SEP]", "[UNK]"),
    "mbart": lambda: _pieces("MBartTokenizer", *MBART, **LANGUAGES),
    "mbart50": lambda: _pieces("MBart50Tokenizer", *MBART, **LANGUAGES),
    "nllb": lambda: _bytes("NllbTokenizer", src_lang="eng_Latn", tgt_lang="fra_Latn"),
    "template": _template,
    "byt5": lambda: _pythonic("ByT5Tokenizer"),
    "canine": lambda: _pythonic("CanineTokenizer"),
}
