"""A table of characters that was accepted never leads the library out of it, whatever the text."""

import random

import pytest
from tokenizers import Tokenizer, models, normalizers

from tprprobe.data.vocabularies.spiece import check_normalizer
from tprprobe.errors import InputError
from tprprobe.files.file_errors import as_input_error, held_back

pytest.importorskip("sentencepiece", reason="sentencepiece is not installed")
TRIES = 60


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """The table that SentencePiece gives every model (nmt_nfkc)."""
    import sentencepiece
    from sentencepiece import sentencepiece_model_pb2 as schema

    folder = tmp_path_factory.mktemp("spiece")
    (folder / "texts").write_text("".join(f"the coin of {i} cats\n" for i in range(30)))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts"), model_prefix=str(folder / "m"), vocab_size=28, minloglevel=2
    )
    model = schema.ModelProto.FromString((folder / "m.model").read_bytes())  # type: ignore[attr-defined]
    return model.normalizer_spec.precompiled_charsmap


def _damaged(table: bytes, rng: random.Random) -> bytes:
    size = int.from_bytes(table[:4], "little")
    content = bytearray(table)
    way = rng.randrange(6)
    if way == 0:
        return bytes(content[: rng.randrange(len(content))])
    if way == 1:
        content[:4] = rng.choice([0, 4, size - 4, size + 4, size + 400, 2**31, 2**32 - 4]).to_bytes(
            4, "little"
        )
    elif way == 2:
        del content[4 + size + rng.randrange(len(content) - size - 4) :]
    else:
        start, stop = ((4, 4 + size), (4 + size, len(content)))[way == 3]
        for _ in range(rng.choice([1, 1, 3, 50])):
            offset = rng.randrange(start, stop)
            content[offset : offset + rng.choice([1, 4])] = rng.randbytes(1)
    return bytes(content)


def _texts() -> str:
    rng = random.Random(0)
    every = [chr(i) for i in range(1, 0x30000) if not 0xD800 <= i < 0xE000]
    pairs = (rng.choice(every) + chr(rng.randrange(0x300, 0x370)) for _ in every[::9])
    return "".join([*every, *pairs])


def test_no_text_leads_out_of_an_accepted_table(table, capfd):
    """What was refused is one line, and the library's own words are held back."""
    accepted = []
    for seed in range(TRIES):
        tokenizer = Tokenizer(models.WordLevel({}, "<unk>"))
        damaged = _damaged(table, random.Random(seed)) if seed else table
        try:
            with as_input_error("no table"), held_back():
                tokenizer.normalizer = normalizers.Precompiled(damaged)
            check_normalizer(tokenizer)
        except InputError:
            assert seed
        else:
            accepted.append(tokenizer)
    assert 1 < len(accepted) < TRIES
    text = _texts()
    for tokenizer in accepted:
        tokenizer.normalizer.normalize_str(text)
    assert not capfd.readouterr().err
