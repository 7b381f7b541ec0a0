"""Sub-words with the ids of T5: 0 pads and starts the decoder, 1 ends a text, 2 is unknown."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
from pydantic import Field

from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.encoded import Flat
from tprprobe.data.vocabularies.spiece import read_spiece
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error, held_back
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse

if TYPE_CHECKING:
    import tokenizers

FILE, SETTINGS = "tokenizer.json", "tokenizer_config.json"
SPECIALS = ("<pad>", "</s>", "<unk>")
BYTES = tuple(f"<0x{byte:02X}>" for byte in range(256))
MAX_SOURCE, MAX_TARGET = 512, 64  # of jiang's training; the end symbol counts
SPACE = "▁"


@dataclass(frozen=True)
class Subwords(Codec):
    """A tokenizer with T5's ids; longer sources and targets are cut, their end symbol too, as in jiang's code."""

    tokenizer: "tokenizers.Tokenizer"
    max_source: int = MAX_SOURCE
    max_target: int = MAX_TARGET
    pad = sos = 0
    eos = 1
    unk = 2
    has_spare_rows = True

    def __post_init__(self):
        specials = [self.tokenizer.id_to_token(i) for i in range(len(SPECIALS))]
        if specials != list(SPECIALS):
            raise InputError(f"a tokenizer with ids 0, 1, 2 = {specials}; T5's are {SPECIALS}")
        self.tokenizer.encode_special_tokens = True  # "</s>" in a text is four characters

    def __len__(self) -> int:
        return self.tokenizer.get_vocab_size()

    @property
    def most(self) -> tuple[int, int]:
        return self.max_source, self.max_target

    def limited(self, max_tokens: int) -> "Subwords":
        return replace(self, max_source=min(max_tokens, self.max_source))

    @cached_property
    def symbols(self) -> tuple[str, ...]:  # pyright: ignore[reportIncompatibleVariableOverride]
        return tuple(self.tokenizer.id_to_token(i) or "" for i in range(len(self)))

    @property
    def dtype(self) -> np.dtype:
        return np.dtype("i2" if len(self) <= np.iinfo("i2").max + 1 else "i4")

    def encode(self, text: str) -> list[int]:
        return self.tokenizer.encode(text, add_special_tokens=False).ids

    def encode_all(self, texts: Sequence[str]) -> Flat:
        encoded = self.tokenizer.encode_batch_fast(list(texts), add_special_tokens=False)
        return Flat.of([encoding.ids for encoding in encoded], self.dtype)

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Without the space; a character that takes several sub-words (bytes) is where each of them stands."""
        spans = self.tokenizer.encode(text, add_special_tokens=False).offsets
        return [(end - len(text[a:end].lstrip() or text[a:end]), end) for a, end in spans]

    def spell(self, ids: list[int]) -> str:
        return self.tokenizer.decode(ids, skip_special_tokens=False)

    def files(self) -> dict[str, str]:
        settings = {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "pad_token": SPECIALS[self.pad],
            "eos_token": SPECIALS[self.eos],
            "unk_token": SPECIALS[self.unk],
            "model_max_length": self.max_source,
            "max_target_length": self.max_target,
        }
        from tokenizers import Tokenizer
        from tokenizers.processors import TemplateProcessing

        tokenizer, end = Tokenizer.from_str(self.tokenizer.to_str()), SPECIALS[self.eos]
        if tokenizer.post_processor is None:  # by which other programs end a text, as we do
            template = TemplateProcessing(f"$A {end}", f"$A {end} $B {end}", [(end, self.eos)])
            tokenizer.post_processor = template  # type: ignore[assignment]
        return {FILE: tokenizer.to_str() + "\n", SETTINGS: json.dumps(settings, indent=1) + "\n"}


def train_subwords(
    texts: Iterable[str], size: int, max_source: int = MAX_SOURCE, max_target: int = MAX_TARGET
) -> Subwords:
    """At most ``size`` sub-words (byte-pair merges), none with letters and punctuation, or with a space inside."""
    min_size = len(SPECIALS) + len(BYTES) + 1
    if size < min_size:
        raise InputError(f"a vocabulary of {size} sub-words; {min_size - 1} are special or bytes")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

    tokenizer = Tokenizer(models.BPE(unk_token=SPECIALS[2], byte_fallback=True))
    marks: list[Any] = [pre_tokenizers.Metaspace(SPACE), pre_tokenizers.Punctuation("isolated")]
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(marks)
    # spaces for marks and characters for bytes, without a space before the first word
    steps: list[Any] = [decoders.Replace(SPACE, " "), decoders.ByteFallback(), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence([*steps, decoders.Strip(" ", 1, 0)])
    trainer = trainers.BpeTrainer(
        vocab_size=size,
        special_tokens=[*SPECIALS, *BYTES],
        limit_alphabet=size - min_size + 1,
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    # the tokenizer reads "<0x41>" in a text as these six characters, not as a byte
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = [t for t in content["added_tokens"] if t["content"] in SPECIALS]
    return Subwords(Tokenizer.from_str(json.dumps(content)), max_source, max_target)


class _Lengths(Document):
    model_max_length: Annotated[int, Field(gt=0)] = MAX_SOURCE
    max_target_length: Annotated[int, Field(gt=0)] = MAX_TARGET


def load_subwords(path: str | Path) -> Subwords:
    """The tokenizer of a checkpoint folder, a tokenizer.json or a SentencePiece model of T5's."""
    path = Path(path)
    file = path / FILE if path.is_dir() else path
    settings = file.with_name(SETTINGS)
    limits = parse(_Lengths, read_json(settings) if settings.is_file() else {}, settings)
    if not file.exists():
        raise InputError(f"no {file.name} in {file.parent}; give a tokenizer's file")
    lengths = limits.model_max_length, limits.max_target_length
    return read_subwords(file.read_bytes(), str(file), *lengths)


def read_subwords(
    content: bytes, name: str, max_source: int = MAX_SOURCE, max_target: int = MAX_TARGET
) -> Subwords:
    try:
        with as_input_error("it is no tokenizer", "restore the file"), held_back():
            return Subwords(_read(content, name), max_source, max_target)
    except InputError as error:
        raise InputError(f"{name}: {error}") from None


def _read(content: bytes, name: str) -> "tokenizers.Tokenizer":
    if name.endswith(".json"):
        from tokenizers import Tokenizer

        tokenizer = Tokenizer.from_str(content.decode("utf-8"))
        tokenizer.no_padding()  # of sizes that end the process
        tokenizer.no_truncation()
        return tokenizer
    return read_spiece(content)
