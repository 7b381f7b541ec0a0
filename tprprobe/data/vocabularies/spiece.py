"""SentencePiece models as T5 has them (`spiece.model`), converted for the library `tokenizers`."""

import base64
import binascii
from typing import TYPE_CHECKING, Any

import numpy as np

from tprprobe.errors import InputError, check_extra

LARGEST = 2**23  # bytes; T5's has 237,561
LEAF, VALUE = np.uint32(1 << 8), np.uint32((1 << 31) - 1)  # of a node, and the bits of its value


def check_charsmap(table: bytes) -> None:
    """Checks that no text leads out of a table: a double-array trie (Darts-clone) and the texts that it leads to."""
    size = int.from_bytes(table[:4], "little")
    if not 4 <= size <= len(table) - 4 <= LARGEST or size % 4:
        raise InputError(f"its table of characters has a trie of {size:,} of {len(table):,} bytes")
    texts = table[4 + size :]
    try:
        texts.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"its table of characters holds no texts ({error})") from None
    units = np.frombuffer(table, "<u4", size // 4, 4)
    nodes = np.flatnonzero(units <= VALUE)
    offsets = (units >> np.uint32(10)) << ((units & np.uint32(1 << 9)) >> np.uint32(6))
    bases = nodes ^ offsets[nodes]
    if (bases | 0xFF >= len(units)).any():
        raise InputError("its table of characters leads out of its trie")
    values = units[bases[(units[nodes] & LEAF) != 0]] & VALUE
    starts = np.frombuffer(texts + b"\0", np.uint8) & 0xC0 != 0x80  # of characters
    if (values > len(texts)).any() or not starts[values].all():
        raise InputError("its table of characters leads out of its texts")


def check_charsmaps(settings: Any) -> None:
    waiting = [settings]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            table = node.get("precompiled_charsmap")
            if isinstance(table, str) and table:
                try:
                    check_charsmap(base64.b64decode(table, validate=True))
                except binascii.Error as error:
                    message = f"its table of characters is not base64 ({error})"
                    raise InputError(message) from None
            waiting += node.values()
        elif isinstance(node, list):
            waiting += node


if TYPE_CHECKING:
    import tokenizers

UNIGRAM = 1  # of SentencePiece's model types
SPACE = "▁"


def read_spiece(content: bytes) -> "tokenizers.Tokenizer":
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    proto = _parse(content)
    if proto.trainer_spec.model_type != UNIGRAM:
        raise InputError("a SentencePiece model that is no unigram model; T5's are")
    spec, pieces = proto.trainer_spec, [(token.piece, token.score) for token in proto.pieces]
    tokenizer = Tokenizer(models.Unigram(pieces, spec.unk_id, spec.byte_fallback))
    # the model's own table of characters, then single spaces and none at the end
    steps: list[Any] = [normalizers.Strip(left=True, right=True)]
    steps.append(normalizers.Replace(Regex(" {2,}"), " "))
    if charsmap := proto.normalizer_spec.precompiled_charsmap:
        check_charsmap(charsmap)
        steps.insert(0, normalizers.Precompiled(charsmap))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE)
    marks = [decoders.ByteFallback(), decoders.Metaspace(SPACE), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(marks)
    return tokenizer


def check_spiece(content: bytes) -> None:
    if table := _parse(content).normalizer_spec.precompiled_charsmap:
        check_charsmap(table)


def _parse(content: bytes) -> Any:
    check_extra("sentencepiece", "summarization", "a SentencePiece model")
    from sentencepiece import sentencepiece_model_pb2 as schema

    return schema.ModelProto.FromString(content)  # type: ignore[attr-defined]
