"""Published files, whatever their wrapping, become our folders, the same ones every time."""

import hashlib
import json
from pathlib import Path

import pytest
import torch
from planted.cli import run_command
from planted.publishedfiles import (
    CONFIG,
    HEADS,
    LENGTH,
    SHIPPED,
    SOURCE,
    TARGET,
    archive,
    jiang_file,
    jiang_state,
    schlag_file,
    schlag_state,
    vocabulary_file,
)
from safetensors.torch import save_file

from tprprobe.data.vocabularies.characters import CHARACTERS, SPECIALS
from tprprobe.data.vocabularies.subwords import train_subwords
from tprprobe.errors import InputError
from tprprobe.models import load_model
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.models.convert import convert
from tprprobe.store import open_store


def logits(folder: Path) -> torch.Tensor:
    with torch.no_grad():
        return load_model(folder)(SOURCE, TARGET)


@pytest.fixture
def plain(tmp_path) -> Path:
    """The conversion that all others of schlag must equal."""
    return convert(schlag_file(tmp_path / "plain.pt"), tmp_path / "plain", config=HEADS)


@pytest.mark.parametrize("legacy", [True, False])
@pytest.mark.parametrize("prefix", ["module.", ""])
def test_containers_and_prefixes_of_schlag(tmp_path, plain, prefix, legacy):
    options = {"_use_new_zipfile_serialization": not legacy}
    file = schlag_file(tmp_path / "c.pt", schlag_state(prefix), **options)
    assert logits(convert(file, tmp_path / "out", config=HEADS)).equal(logits(plain))


def test_archive_with_two_checkpoints_asks_which(tmp_path, plain):
    plain_state = schlag_state(number=2)
    files = [schlag_file(tmp_path / "tp.pt"), schlag_file(tmp_path / "t.pt", plain_state)]
    tar = archive(tmp_path / "a.tar.gz", *files)
    with pytest.raises(InputError, match=r"a\.tar\.gz:MEMBER .*pretrained/tp\.pt"):
        convert(tar, tmp_path / "out", config=HEADS)
    with pytest.raises(InputError, match=r"no member 'tp\.pt'"):
        convert(f"{tar}:tp.pt", tmp_path / "out", config=HEADS)
    converted = convert(f"{tar}:pretrained/tp.pt", tmp_path / "out", config=HEADS)
    assert logits(converted).equal(logits(plain))


def test_card_and_config_say_what_was_done(tmp_path):
    file = schlag_file(tmp_path / "tp.pt", schlag_state("module."))
    folder = convert(file, tmp_path / "out", config=HEADS)
    card = (folder / "README.md").read_text()
    assert '\nvocabulary: "unknown"\n' in card
    assert '\nsource: "tp.pt"\n' in card
    assert hashlib.sha256(file.read_bytes()).hexdigest() in card
    assert "| `encoder.layers.{l}.MHA.W_r.weight` | `encoder.{l}.self.to_role.weight` |" in card
    assert "| `embedding.pe` | `embedding.positions` |" in card
    assert "- global_step: 1700000" in card
    config = json.loads((folder / "config.json").read_text())
    assert (config["architecture"], config["n_heads"]) == ("tp-transformer", HEADS["n_heads"])
    assert config["max_length"] == LENGTH


def test_the_position_table_is_the_files(tmp_path):
    state = schlag_state()
    state["embedding.pe"] += 1.5e-5 * torch.randn(state["embedding.pe"].shape).sign()
    folder = convert(schlag_file(tmp_path / "c.pt", state), tmp_path / "out", config=HEADS)
    assert load_model(folder).embedding.positions.equal(state["embedding.pe"][0])
    saved = save_pretrained(load_model(folder), tmp_path / "again")
    assert logits(saved).equal(logits(folder))


def test_published_models_have_eight_heads_unless_told(tmp_path):
    file = schlag_file(tmp_path / "c.pt")
    assert load_model(convert(file, tmp_path / "eight")).config.n_heads == 8
    with_four_heads = convert(file, tmp_path / "four", config='{"n_heads": 4}')
    assert load_model(with_four_heads).config.n_heads == 4


@pytest.fixture
def lightning(tmp_path) -> Path:
    """The conversion that all others of jiang must equal."""
    return convert(jiang_file(tmp_path / "l.ckpt"), tmp_path / "lightning", config=CONFIG)


@pytest.mark.parametrize("config", [None, SHIPPED], ids=["shapes alone", "the shipped JSON"])
def test_sizes_and_settings_come_from_the_shapes(tmp_path, lightning, config):
    folder = convert(jiang_file(tmp_path / "c.ckpt"), tmp_path / "out", config=config)
    assert logits(folder).equal(logits(lightning))
    assert load_model(folder).config.n_roles == CONFIG["num_roles"]


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.safetensors"])
@pytest.mark.parametrize("copies", [True, False], ids=["tied copies", "shared only"])
def test_hugging_face_folder(tmp_path, lightning, name, copies):
    folder = tmp_path / "hf"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(SHIPPED | {"transformers_version": "9"}))
    state = jiang_state(tied=copies)
    if name.endswith("bin"):
        torch.save(state, folder / name)
    else:
        save_file({key: tensor.clone() for key, tensor in state.items()}, folder / name)
    assert logits(convert(folder, tmp_path / "out")).equal(logits(lightning))


def test_plain_t5_with_and_without_a_cross_attention_bias(tmp_path):
    changes = {"use_tp_enc": False, "use_tp_dec": False}
    config, state = CONFIG | changes, jiang_state(**changes)
    folder = convert(jiang_file(tmp_path / "c.ckpt", state), tmp_path / "with", config=config)
    assert json.loads((folder / "config.json").read_text())["architecture"] == "t5"
    table = "decoder.block.0.layer.1.EncDecAttention.relative_attention_bias.weight"
    zeroed = jiang_file(tmp_path / "z.ckpt", state | {table: torch.zeros_like(state[table])})
    lacking = jiang_file(tmp_path / "l.ckpt", {k: v for k, v in state.items() if k != table})
    expected = logits(convert(zeroed, tmp_path / "zeroed", config=config))
    converted = convert(lacking, tmp_path / "lacking", config=config)
    assert logits(converted).allclose(expected, atol=1e-6)
    assert not load_model(converted).config.cross_position_bias
    assert not logits(folder).allclose(expected, atol=1e-3)


def test_tensors_that_the_authors_code_leaves_unused_are_named(tmp_path):
    changes = {"use_tpr_gate": True, "tpr_output_type": "concat"}
    file = jiang_file(tmp_path / "c.ckpt", jiang_state(**changes))
    folder = convert(file, tmp_path / "out", config=CONFIG | changes)
    card = (folder / "README.md").read_text()
    assert "- `encoder.block.{l}.layer.0.tpr_out_proj1.weight`" in card.split("Passed over")[1]
    assert "tpr_gate_proj" not in card.split("Passed over")[1]


@pytest.mark.parametrize("zipped", [True, False])
def test_vocabulary_gives_text_its_published_ids(tmp_path, zipped):
    symbols = [*SPECIALS, *reversed(CHARACTERS)]
    vocab = vocabulary_file(tmp_path / "vocab.pt", symbols, zipped)
    file = schlag_file(tmp_path / "c.pt")
    model = load_model(convert(file, tmp_path / "out", config=HEADS, vocab=vocab))
    ids = [symbols.index(character) for character in "what is 1+1?"]
    assert model.vocabulary.encode("what is 1+1?") == ids
    assert (model.config.pad, model.config.sos, model.config.eos) == (1, 2, 3)


def test_real_torchtext_files(shared, tmp_path):
    expected = json.loads((shared / "fixtures" / "vocab_torchtext031.json").read_text())
    file = schlag_file(tmp_path / "c.pt")
    for name in ("vocab_torchtext031.pt", "vocab_torchtext031_zip.pt"):
        vocab = shared / "fixtures" / name
        model = load_model(convert(file, tmp_path / name, config=HEADS, vocab=vocab))
        assert list(model.vocabulary.symbols) == expected["itos"]


TEXTS = ["The ship sank at dawn.", "A dog has found a gold coin.", "Rain is expected on Monday."]


@pytest.fixture(scope="module")
def tokenizers(tmp_path_factory) -> Path:
    """A folder with a tokenizer.json and a SentencePiece model, both of 300 sub-words at most."""
    sentencepiece = pytest.importorskip("sentencepiece")
    folder = tmp_path_factory.mktemp("tokenizers")
    for name, text in train_subwords(TEXTS, 300, max_source=40).files().items():
        (folder / name).write_text(text)
    (folder / "texts").write_text("\n".join(TEXTS))
    sentencepiece.SentencePieceTrainer.train(
        input=str(folder / "texts"), model_prefix=str(folder / "spiece"), vocab_size=34,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, pad_piece="<pad>", minloglevel=2,
    )  # fmt: skip
    return folder


def summarizer(file: Path) -> Path:
    return jiang_file(file, jiang_state(vocab_size=320))


@pytest.mark.parametrize("name", ["tokenizer.json", "spiece.model", ""])
def test_a_converted_summarizer_reads_text(tmp_path, tokenizers, name):
    for side in ("source", "target"):
        (tmp_path / f"test.{side}").write_text("\n".join(TEXTS) + "\n")
    file, model, store = (tmp_path / each for each in ("c.ckpt", "model", "store"))
    data = f"--ckpt {model} --data {tmp_path} --split test"
    for line in (
        f"convert {summarizer(file)} {model} --vocab {tokenizers / name}",
        f"eval {data} --max-length 5",
        f"extract {data} --sites encoder.0.self.role --no-control --out {store}",
    ):
        assert "unknown" not in run_command(*line.split()).output
    tokens = open_store(store).tokens
    text = "".join(tokens.loc[(tokens["side"] == "source") & (tokens["sample"] == 1), "token"])
    assert "coin" in text.replace("▁", " ")


def test_a_tokenizer_that_is_none_is_one_line(tmp_path, tokenizers):
    file = jiang_file(tmp_path / "c.ckpt")
    for vocab, says in (
        (tokenizers / "tokenizer.json", "sub-words, the model rows for"),
        (tmp_path / "c.ckpt", "tokenizer.json or a SentencePiece spiece.model"),
        (tmp_path / "absent.json", "no file"),
        (tmp_path, "no file"),
    ):
        with pytest.raises(InputError, match=says):
            convert(file, tmp_path / "out", vocab=vocab)
