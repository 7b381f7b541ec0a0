"""SentencePiece models as T5 has them (`spiece.model`), converted for the library `tokenizers`."""

from typing import TYPE_CHECKING, Any

from tprprobe.data.vocabularies.charsmap import check_charsmap
from tprprobe.errors import InputError, check_extra

if TYPE_CHECKING:
    import tokenizers

UNIGRAM = 1  # of SentencePiece's model types
SPACE = "▁"


def read_spiece(content: bytes) -> "tokenizers.Tokenizer":
    """The tokenizer of a SentencePiece unigram model, with its pieces, scores and normalization."""
    check_extra("tokenizers", "summarization", "a SentencePiece model")
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers

    proto = _parse(content)
    if proto.trainer_spec.model_type != UNIGRAM:
        raise InputError("a SentencePiece model that is no unigram model; T5's are")
    tokenizer = Tokenizer(
        models.Unigram(
            [(piece.piece, piece.score) for piece in proto.pieces],
            proto.trainer_spec.unk_id,
            proto.trainer_spec.byte_fallback,
        )
    )
    tokenizer.normalizer = _normalizer(proto.normalizer_spec.precompiled_charsmap)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE)
    tokenizer.decoder = decoders.Sequence(
        [decoders.ByteFallback(), decoders.Metaspace(SPACE), decoders.Fuse()]
    )
    return tokenizer


def check_spiece(content: bytes) -> None:
    """Checks the table of characters of a SentencePiece model of any type."""
    if table := _parse(content).normalizer_spec.precompiled_charsmap:
        check_charsmap(table)


def _parse(content: bytes) -> Any:
    check_extra("sentencepiece", "summarization", "a SentencePiece model")
    from sentencepiece import sentencepiece_model_pb2 as schema

    return schema.ModelProto.FromString(content)  # type: ignore[attr-defined]


def _normalizer(charsmap: bytes) -> Any:
    """The model's own table of characters, then single spaces and none at the end."""
    from tokenizers import Regex, normalizers

    spaces = [normalizers.Strip(left=True, right=True), normalizers.Replace(Regex(" {2,}"), " ")]
    if charsmap:
        check_charsmap(charsmap)
    table = [normalizers.Precompiled(charsmap)] if charsmap else []
    return normalizers.Sequence([*table, *spaces])
