"""Tiny random models of transformers, saved here, are read at sites, stored and probed."""

import json
import shutil

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from tprprobe.analyses.probing import probe
from tprprobe.analyses.probing.settings import Schedule
from tprprobe.cli import app, main
from tprprobe.errors import InputError
from tprprobe.models import huggingface, load_model
from tprprobe.site.hooks import capture
from tprprobe.store import open_store
from tprprobe.views.dialogue import load_asked

transformers = pytest.importorskip("transformers")
pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

WORDS = ["the", "dog", "cats", "sleep", "##s", "see", "a", "."]
SPECIAL = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
SENTENCES = [("the", "DT"), ("dog", "NN"), ("sees", "VBZ"), ("cats", "NNS"), (".", ".")]


def save_tokenizer(folder):
    """Words, of which a few consist of two pieces."""
    from tokenizers import Tokenizer, models, pre_tokenizers

    vocabulary = {word: i for i, word in enumerate([*SPECIAL, *WORDS])}
    tokenizer = Tokenizer(models.WordPiece(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    names = ("pad_token", "unk_token", "cls_token", "sep_token")
    special = dict(zip(names, SPECIAL, strict=True))
    fast = transformers.PreTrainedTokenizerFast(tokenizer_object=tokenizer, **special)
    fast.save_pretrained(folder)
    return len(vocabulary)


@pytest.fixture(scope="module")
def bert(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hf") / "bert"
    config = transformers.BertConfig(
        vocab_size=save_tokenizer(folder), hidden_size=16, num_hidden_layers=2,
        num_attention_heads=2, intermediate_size=24, max_position_embeddings=32, pad_token_id=0,
    )  # fmt: skip
    transformers.BertModel(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def t5(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hf") / "t5"
    config = transformers.T5Config(
        vocab_size=save_tokenizer(folder), d_model=16, d_kv=8, num_heads=2, num_layers=2, d_ff=24,
        pad_token_id=0, decoder_start_token_id=0, eos_token_id=3,
    )  # fmt: skip
    transformers.T5ForConditionalGeneration(config).save_pretrained(folder)
    return folder


@pytest.fixture(scope="module")
def treebank(tmp_path_factory):
    """Sentences in which every noun is the subject or the object by chance."""
    rng = np.random.default_rng(0)
    blocks = []
    for number in range(40):
        words = [SENTENCES[i] for i in rng.permutation(len(SENTENCES))]
        lines = [f"# newdoc id = d{number}"] + [
            f"{i}\t{form}\t_\t_\t{tag}\t_\t{0 if i == 1 else 1}\t{'root' if i == 1 else 'dep'}\t_\t_"
            for i, (form, tag) in enumerate(words, 1)
        ]
        blocks.append("\n".join(lines))
    path = tmp_path_factory.mktemp("data") / "words.conllu"
    path.write_text("\n\n".join(blocks) + "\n")
    return path


def test_sites_hold_what_the_library_returns(bert, t5):
    ids = torch.tensor([[2, 4, 5, 3], [2, 5, 3, 0]])
    model = load_model(f"hf:{bert}")
    with capture(model, "encoder.*") as acts:
        model(ids, ids)
    mask = (ids != 0).long()
    direct = transformers.BertModel.from_pretrained(bert).eval()
    states = direct(input_ids=ids, attention_mask=mask, output_hidden_states=True).hidden_states
    for layer in (0, 1):
        torch.testing.assert_close(acts[f"encoder.{layer}.hidden"], states[layer + 1])
    assert acts["encoder.1.self.filler"].shape == (2, 4, 16)

    model = load_model(f"hf:{t5}")
    with capture(model, ["encoder.*", "decoder.*"]) as acts:
        logits = model(ids, ids[:, :3])
    direct = transformers.T5ForConditionalGeneration.from_pretrained(t5).eval()
    given = {"input_ids": ids, "attention_mask": mask, "decoder_input_ids": ids[:, :3]}
    found = direct(**given, output_hidden_states=True)
    torch.testing.assert_close(logits, found.logits)
    torch.testing.assert_close(acts["decoder.0.hidden"], found.decoder_hidden_states[1])
    torch.testing.assert_close(acts["encoder.0.hidden"], found.encoder_hidden_states[1])
    assert {"decoder.1.self.filler", "decoder.1.cross.filler"} <= acts.keys()


def test_words_are_aligned_and_probed(bert, t5, treebank, tmp_path):
    """From the command line: a word of two pieces has two rows, a twin lies beside the store."""
    for folder, site in ((bert, "encoder.1.hidden"), (t5, "decoder.1.hidden")):
        out = tmp_path / folder.name
        given = ["--ckpt", f"hf:{folder}", "--data", str(treebank), "--out", str(out)]
        result = CliRunner().invoke(app, ["extract", *given])
        assert result.exit_code == 0, result.output
        store = open_store(out)
        tokens = store.tokens_of(site)
        pieces = tokens.loc[tokens["pos"] == "VBZ", "token"].astype(str).tolist()
        assert pieces == ["see", "##s"] * 40
        assert store.manifest["model"]["name"] == f"hf:{folder.name}"
        assert store.control is not None
        assert not np.allclose(store.control.read(site), store.read(site))
    rows = probe(
        open_store(tmp_path / "bert"), "pos", sites="encoder.0.hidden", controls=(),
        information=False, schedule=Schedule(limit=15, learning_rate=1e-2),
    )  # fmt: skip
    assert rows.loc[rows["control"] == "real", "f1"].iloc[0] > 0.95


def test_what_cannot_be_read_is_one_line(tmp_path, bert):
    with pytest.raises(InputError, match=r"no transformers model .*nothing"):
        load_model(f"hf:{tmp_path / 'nothing'}", local_files_only=True)
    config = json.loads((bert / "config.json").read_text())
    assert config["model_type"] == "bert"
    twin, again = (load_model(f"untrained:hf:{bert}") for _ in range(2))
    ids = torch.tensor([[2, 4, 3]])
    with capture(twin, "*.hidden") as first, capture(again, "*.hidden") as second:
        twin(ids, ids)
        again(ids, ids)
    assert torch.equal(first["encoder.0.hidden"], second["encoder.0.hidden"])
    assert twin.name == "untrained:hf:bert"


def test_each_command_takes_it_or_says_why_not(bert, treebank, tmp_path, monkeypatch, capsys):
    recipe = tmp_path / "sweep.toml"
    recipe.write_text('sites = ["encoder.*"]\nedits = ["zero"]\n')
    name = f"hf:{bert}"
    monkeypatch.setattr("sys.argv", ["tprprobe", "inspect", name, "--json"])
    with pytest.raises(SystemExit) as ended:
        main()
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 0
    assert told["architecture"] == "BertModel"
    assert told["vocabulary"] == len(SPECIAL) + len(WORDS)
    assert {row["site"] for row in told["sites"]} >= {"encoder.0.hidden", "encoder.1.self.filler"}
    for command in (
        ["binding", "--ckpt", name],
        ["intervene", str(recipe), "--ckpt", name],
        ["eval", "--ckpt", name, "--data", str(treebank)],
        ["extract", "--ckpt", name, "--data", str(treebank), "--target", "generated"],
    ):
        monkeypatch.setattr("sys.argv", ["tprprobe", *command, "--out", str(tmp_path / "out")])
        with pytest.raises(SystemExit) as ended:
            main()
        line = capsys.readouterr().err.strip().splitlines()[-1]
        assert ended.value.code == 2
        assert line.startswith("tprprobe: hf:bert is an attached module, ")
    with pytest.raises(InputError, match="hf:bert is an attached module, which writes no answers"):
        load_asked(name)


SMALL = {
    "vocab_size": 12, "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2,
    "intermediate_size": 24, "max_position_embeddings": 32, "embedding_size": 16, "pad_token_id": 0,
    "eos_token_id": 3, "bos_token_id": 2, "decoder_start_token_id": 2,
}  # fmt: skip
BART = {
    "vocab_size": 12, "d_model": 16, "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24,
    "decoder_ffn_dim": 24, "encoder_attention_heads": 2, "decoder_attention_heads": 2,
}  # fmt: skip
T5 = {"d_model": 16, "d_kv": 8, "num_heads": 2, "num_layers": 2, "d_ff": 24}
OWN = {"distilbert": {"dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24}}
OWN |= dict.fromkeys(("bart", "mbart", "pegasus"), BART) | dict.fromkeys(("t5", "mt5"), T5)


@pytest.mark.parametrize("kind", [*huggingface.ENCODERS, *huggingface.ENCODER_DECODERS])
def test_every_supported_type_is_read(tmp_path, kind):
    """Layer by layer what the library itself returns, where the last layer has no norm behind it."""
    config = transformers.AutoConfig.for_model(kind, **SMALL | OWN.get(kind, {}))
    both = kind in huggingface.ENCODER_DECODERS
    auto = transformers.AutoModelForSeq2SeqLM if both else transformers.AutoModel
    theirs = auto.from_config(config).eval()
    theirs.save_pretrained(tmp_path)
    save_tokenizer(tmp_path)
    ours = load_model(f"hf:{tmp_path}")
    ids = torch.tensor([[2, 4, 5, 3], [2, 5, 3, 0]])
    with capture(ours, "*.hidden") as acts:
        ours(ids, ids[:, :3])
    given = {"input_ids": ids, "attention_mask": (ids != 0).long(), "output_hidden_states": True}
    found = theirs(**given, **({"decoder_input_ids": ids[:, :3]} if both else {}))
    states = found.encoder_hidden_states if both else found.hidden_states
    torch.testing.assert_close(acts["encoder.0.hidden"], states[1])
    if both:
        torch.testing.assert_close(acts["decoder.0.hidden"], found.decoder_hidden_states[1])
    assert len(acts) == (4 if both else 2)


@pytest.mark.parametrize("kind", ["opt", "albert", "modernbert", "gpt2"])
def test_other_types_are_refused_with_the_list(tmp_path, kind):
    transformers.AutoConfig.for_model(kind).save_pretrained(tmp_path)
    with pytest.raises(
        InputError, match=rf"'{kind}'; hf: reads bert, .*, t5: .*tp\.attach"
    ) as error:
        load_model(f"hf:{tmp_path}")
    assert "\n" not in str(error.value)


def test_a_start_symbol_that_is_not_named_is_one_line(tmp_path, t5):
    shutil.copytree(t5, tmp_path / "t5")
    for name in ("config.json", "generation_config.json"):
        settings = json.loads((tmp_path / "t5" / name).read_text())
        settings.pop("decoder_start_token_id", None)
        (tmp_path / "t5" / name).write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"names no decoder_start_token_id: add it .*config\.json"):
        load_model(f"hf:{tmp_path / 't5'}")
