"""Sub-words: every text is encoded and comes back, offsets point at it, files are kept."""

import itertools
import json

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tprprobe.data import load_data
from tprprobe.data.pairs import encode_texts
from tprprobe.data.vocabularies.subwords import (
    SETTINGS,
    Subwords,
    load_subwords,
    train_subwords,
)
from tprprobe.errors import InputError
from tprprobe.models import build, load_model
from tprprobe.models.checkpoint import save_pretrained

SENTENCES = [
    text
    for report in load_data("english", split="train", n=60)
    for text in (report.source, report.target)
]
SUBWORDS = train_subwords(SENTENCES, 900, max_source=60, max_target=16)
ANY_TEXT = st.text(st.characters(codec="utf-8", exclude_characters="▁"), max_size=40)


@given(ANY_TEXT)
def test_any_text_is_encoded_and_comes_back(text):
    ids = SUBWORDS.encode(text)
    assert all(SUBWORDS.eos < i < len(SUBWORDS) for i in ids)
    assert SUBWORDS.unk not in ids
    assert SUBWORDS.decode(ids) == text.removeprefix(" ")


@pytest.mark.parametrize("text", ["</s>", "a <pad> b", "<0x41>", "<unk>"])
def test_names_of_symbols_in_a_text_are_text(text):
    assert SUBWORDS.decode([*SUBWORDS.encode(text), SUBWORDS.eos, 7]) == text


@given(st.sampled_from(SENTENCES), ANY_TEXT)
def test_offsets_are_where_the_sub_words_stand(sentence, extra):
    text = f"{sentence} {extra}"
    ids, spans = SUBWORDS.encode(text), SUBWORDS.offsets(text)
    assert len(ids) == len(spans)
    assert all(0 <= start <= end <= len(text) for start, end in spans)
    assert all(a <= b for (a, _), (b, _) in itertools.pairwise(spans))
    covered = {i for start, end in spans for i in range(start, end)}
    assert {i for i, char in enumerate(text) if not char.isspace()} <= covered
    for i, (start, end) in zip(ids, spans, strict=True):
        symbol = SUBWORDS.symbols[i].removeprefix("▁")
        assert symbol.startswith("<0x") or symbol in ("", text[start:end])


def test_a_size_without_room_is_refused():
    with pytest.raises(InputError, match="259 are special or bytes"):
        train_subwords(SENTENCES, 259)
    assert SUBWORDS.decode(train_subwords(["aaa bbb"], 260).encode("é"))


def test_sources_end_and_targets_begin_and_end_and_both_are_cut_as_jiang_cuts():
    long = " ".join(SENTENCES[:3])
    pairs = encode_texts([SENTENCES[1], long], [SENTENCES[3], long], SUBWORDS)
    pair_index = torch.tensor([0])
    source, target = (ids[0].tolist() for ids in pairs.batch(pair_index, SUBWORDS.pad))
    ids = SUBWORDS.encode(SENTENCES[1])
    assert source == [*ids, SUBWORDS.eos][:60]
    assert target == [SUBWORDS.sos, *SUBWORDS.encode(SENTENCES[3]), SUBWORDS.eos][:17]
    assert pairs.source.lengths[1] == 60
    assert pairs.target.lengths[1] == 17
    ends = pairs.source.offsets[1:] - 1
    assert pairs.source.values[ends].tolist() == [SUBWORDS.eos, SUBWORDS.encode(long)[59]]
    assert pairs.cut == (1, 2)


@pytest.fixture
def folder(tmp_path):
    """A checkpoint folder with these sub-words."""
    sizes = {"d_model": 16, "n_heads": 2, "d_head": 8, "d_ff": 16, "n_layers": 1, "n_roles": 4}
    model = build({"architecture": "tpt", "vocab_size": len(SUBWORDS), **sizes}, seed=0)
    model.vocabulary = SUBWORDS
    return save_pretrained(model, tmp_path / "tiny")


def test_a_checkpoint_keeps_them(folder):
    loaded = load_model(folder).vocabulary
    assert isinstance(loaded, Subwords)
    documents = [json.loads(vocabulary.tokenizer.to_str()) for vocabulary in (loaded, SUBWORDS)]
    ends = documents[0].pop("post_processor")["single"][
        -1
    ]  # for other programs; ours end texts themselves
    assert ends == {"SpecialToken": {"id": "</s>", "type_id": 0}}
    assert documents[1].pop("post_processor") is None
    assert documents[0] == documents[1]
    assert loaded.most == SUBWORDS.most == (60, 16)


def test_a_model_with_fewer_rows_than_sub_words_is_refused(folder):
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**config, "vocab_size": 100}))
    (folder / SETTINGS).unlink()  # the limits of a folder without settings are jiang's
    assert load_subwords(folder).most == (512, 64)
    with pytest.raises(InputError):
        load_model(folder)


def test_a_sentencepiece_model_gives_its_own_ids(tmp_path):
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "text").write_text("\n".join(SENTENCES))
    sentencepiece.SentencePieceTrainer.train(
        input=str(tmp_path / "text"), model_prefix=str(tmp_path / "spiece"), vocab_size=300,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>", minloglevel=2,
    )  # fmt: skip
    vocabulary = load_subwords(tmp_path / "spiece.model")
    processor = sentencepiece.SentencePieceProcessor(str(tmp_path / "spiece.model"))
    for text in [*SENTENCES, "  two  spaces ", "ﬁne Ⅳ ½ naïve 汉字", "tab\there", ""]:
        assert vocabulary.encode(text) == processor.encode(text)
    assert vocabulary.decode(vocabulary.encode(SENTENCES[0])) == SENTENCES[0]
    (tmp_path / "bad.model").write_bytes(b"no model")
    with pytest.raises(InputError, match="is no tokenizer"):
        load_subwords(tmp_path / "bad.model")
