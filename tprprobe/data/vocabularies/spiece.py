"""SentencePiece models as T5 has them (`spiece.model`), converted for the library `tokenizers`."""

from typing import TYPE_CHECKING, Any

from tprprobe.errors import InputError, check_extra

if TYPE_CHECKING:
    import tokenizers

UNIGRAM = 1  # of SentencePiece's model types
SPACE = "▁"


def read_spiece(content: bytes) -> "tokenizers.Tokenizer":
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers

    proto = _parse(content)
    if proto.trainer_spec.model_type != UNIGRAM:
        raise InputError("a SentencePiece model that is no unigram model; T5's are")
    spec, token_scores = proto.trainer_spec, [(token.piece, token.score) for token in proto.pieces]
    tokenizer = Tokenizer(models.Unigram(token_scores, spec.unk_id, spec.byte_fallback))
    # the model's own table of characters, then single spaces and none at the end
    steps: list[Any] = [normalizers.Strip(left=True, right=True)]
    steps.append(normalizers.Replace(Regex(" {2,}"), " "))
    if charsmap := proto.normalizer_spec.precompiled_charsmap:
        steps.insert(0, normalizers.Precompiled(charsmap))
    tokenizer.normalizer = normalizers.Sequence(steps)
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(SPACE)
    marks = [decoders.ByteFallback(), decoders.Metaspace(SPACE), decoders.Fuse()]
    tokenizer.decoder = decoders.Sequence(marks)
    return tokenizer


def _parse(content: bytes) -> Any:
    check_extra("sentencepiece", "summarization", "a SentencePiece model")
    from sentencepiece import sentencepiece_model_pb2 as schema

    return schema.ModelProto.FromString(content)  # type: ignore[attr-defined]
