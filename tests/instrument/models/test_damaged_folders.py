"""Damaged folders of transformers: one line that says what is wrong, and never a silent wrong result."""

import json
import os
import shutil

import pytest
import safetensors.torch
import torch
from planted import contradictions, soaked
from planted.contradictions import (
    CONFIG,
    TOKENIZER,
    WEIGHTS,
    change_json,
    change_weights,
    in_shards,
)
from planted.foreign import save_foreign
from planted.targets import read_transformers

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.models import load_model

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")


@pytest.fixture(scope="module")
def sound(tmp_path_factory):
    return save_foreign("bert", tmp_path_factory.mktemp("sound") / "bert")


@pytest.fixture
def folder(sound, tmp_path):
    return shutil.copytree(sound, tmp_path / "bert")


def setting(name=CONFIG, **values):
    return change_json(name, lambda content: content.update(values))


def tokens(change):
    return change_json(TOKENIZER, change)


def filled(name, content):
    return lambda folder: (folder / name).write_bytes(content)


def pickled(folder):
    state = safetensors.torch.load_file(folder / WEIGHTS)
    (folder / WEIGHTS).unlink()
    (folder / "pytorch_model.bin").write_bytes(b"\x80\x04cos\nsystem\n" + b"x" * len(state))


def spoil(value):
    def change(state):
        state["encoder.layer.0.output.dense.weight"][0, 0] = value

    return change


def rename(state):
    state["encoder.layer.0.output.dense.wait"] = state.pop("encoder.layer.0.output.dense.weight")


def reshape(state):
    name = "encoder.layer.1.output.dense.weight"
    state[name] = state[name][:, :-1].contiguous()


def without_symbols(content):
    content["model"]["vocab"] = {"<unk>": 0}
    content["added_tokens"] = []


def as_pickle(change):
    def write(folder):
        state = safetensors.torch.load_file(folder / WEIGHTS)
        (folder / WEIGHTS).unlink()
        change(state)
        torch.save(state, folder / "pytorch_model.bin")

    return write


def twice(files, places):
    tensors, copy = files.values()
    name = next(iter(tensors))
    copy[name] = tensors[name] + 1


def moved(files, places):
    (_, second), name = files, next(iter(places))
    places[name] = second


def outside(files, places):
    places[next(iter(places))] = "../outside.safetensors"


def absent(files, places):
    places[next(iter(places))] = "model-00003-of-00002.safetensors"


def empty(state):
    """The end of a file that a download never wrote."""
    total, n_before = sum(tensor.numel() for tensor in state.values()), 0
    for tensor in state.values():
        n_before += tensor.numel()
        if n_before > 0.6 * total:
            tensor.zero_()


def of_type(dtype):
    def change(state):
        name = "encoder.layer.1.output.dense.weight"
        state[name] = (100 * state[name]).to(dtype)

    return change


def lines_of_words(folder):
    """A tokenizer that is read from lines, of which one is missing."""
    rows = json.loads((folder / CONFIG).read_text())["vocab_size"]
    (folder / TOKENIZER).unlink()
    marks = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    words = [*marks, *(f"w{number}" for number in range(rows - len(marks) - 1))]
    (folder / "vocab.txt").write_text("\n".join(words) + "\n")
    settings = {"tokenizer_class": "BertTokenizer"}
    (folder / "tokenizer_config.json").write_text(json.dumps(settings))


BAD_CHARACTERS = {"type": "Precompiled", "precompiled_charsmap": "////////AAAA" * 20}
DAMAGE = {
    "no tokenizer": (lambda f: (f / TOKENIZER).unlink(), "backend tokenizer"),
    "no weights": (lambda f: (f / WEIGHTS).unlink(), "no transformers model"),
    "pickles": (pickled, "is damaged or no bin file"),
    "pickles of whole numbers": (as_pickle(of_type(torch.int8)), r"has whole numbers \(INT8\) for weights"),
    "weights of 8 bits": (change_weights(of_type(torch.float8_e4m3fn)), "8-bit weights without their scales"),
    "weights not written": (change_weights(empty), r"4\d% of its weights are rows of zeros, as an interrupted download"),
    "a tensor in two shards": (in_shards(twice), "twice, in model-00001-of-00002.safetensors and model-00002"),
    "an index of other places": (in_shards(moved), "says that .* is in model-00002.*, it is in model-00001"),
    "an index out of the folder": (in_shards(outside), "names '../outside.safetensors', no file of this folder"),
    "an index of no file": (in_shards(absent), "names 'model-00003-of-00002.safetensors', no file of this"),
    "a file beside an index": (in_shards(keeps_whole=True), "names other files: remove what is left over"),
    "an index of nothing": (filled(f"{WEIGHTS}.index.json", b'{"weight_map": []}'), "has no weight_map"),
    "a pipe for weights": (lambda f: ((f / WEIGHTS).unlink(), os.mkfifo(f / WEIGHTS)), "is no file, but a pipe"),
    "a vocabulary that lacks a line": (lines_of_words, "a line is missing, get it again"),
    "hidden_size 0": (setting(hidden_size=0), "hidden_size 0, a whole number above 0"),
    "hidden_size other": (setting(hidden_size=32), "asks for at least|has weights of other shapes"),
    "heads 0": (setting(num_attention_heads=0), "num_attention_heads 0, a whole number above 0"),
    "heads 3": (setting(num_attention_heads=3), "hidden size .* is not a multiple"),
    "layers 10^18": (setting(num_hidden_layers=10**18), "asks for at least .* weights, its files hold"),
    "vocab_size 10^12": (setting(vocab_size=10**12), "asks for at least .* weights, its files hold"),
    "layers 4 of 2": (setting(num_hidden_layers=4), "lacks encoder.layer.2.attention.* and 29 more"),
    "model_type": (setting(model_type="nothing"), "no transformers model"),
    "pad beyond": (setting(pad_token_id=10**6), "pad_token_id|padding|pad"),
    "tokenizer without symbols": (tokens(without_symbols), "has no symbols"),
    "longest text 1.5": (setting("tokenizer_config.json", model_max_length=1.5), "not 1.5"),
    "longest text -1": (setting("tokenizer_config.json", model_max_length=-1), "not -1"),
    "normalizer": (tokens(lambda c: c.update(normalizer=BAD_CHARACTERS)), "tokenizer|transformers model"),
    "weights renamed": (change_weights(rename), "lacks encoder.layer.0.output.dense.weight, which config.json asks"),
    "weights of another shape": (change_weights(reshape), r"weight \(16, 23\) for \(16, 24\)"),
    "weights of whole numbers": (change_weights(of_type(torch.int8)), r"has whole numbers \(I8\) for weights: encoder.layer.1"),
    "weights NaN": (change_weights(spoil(torch.nan)), "no finite numbers: encoder.layer.0.output.dense.weight"),
}  # fmt: skip


@pytest.mark.parametrize("kind", DAMAGE)
def test_damage_is_one_line(folder, capfd, kind):
    damage, message = DAMAGE[kind]
    damage(folder)
    with pytest.raises(InputError, match=message) as error:
        load_model(f"hf:{folder}")
    assert "\n" not in str(error.value)
    assert capfd.readouterr() == ("", "")


@pytest.mark.soak
@pytest.mark.parametrize("family", contradictions.FAMILIES)
def test_a_folder_that_contradicts_itself_is_refused_or_told(family, tmp_path):
    sound = contradictions.make(family, tmp_path / family)
    assert load_model(f"hf:{sound}").notes == {}
    refused, silent = 0, []
    for kind, copy in (kinds := [*contradictions.damaged(sound, tmp_path / "damaged")]):
        try:
            read_transformers(copy)
            notes = load_model(f"hf:{copy}").notes
        except InputError:
            refused += 1
        else:
            silent += [] if notes else [kind]
    soaked.add("contradictions", family, soaked.Tried(len(kinds), refused, len(silent)))
    assert not silent


def test_weights_in_shards_are_read(sound, folder):
    in_shards()(folder)
    states = [load_model(f"hf:{path}").state_dict() for path in (sound, folder)]
    assert all(torch.equal(tensor, states[1][name]) for name, tensor in states[0].items())


def test_ties_that_the_weights_contradict_are_refused(tmp_path):
    model_folder = save_foreign("llama", tmp_path / "llama", "causal")
    setting(tie_word_embeddings=True)(model_folder)
    with pytest.raises(
        InputError, match=r"different tensors, lm_head.weight and .*, which config.json ties"
    ):
        load_model(f"hf:{model_folder}")
    change_weights(
        lambda state: state.update({"lm_head.weight": state["model.embed_tokens.weight"].clone()})
    )(model_folder)
    assert load_model(f"hf:{model_folder}").head == "causal"


def half_of_the_merges(content):
    merges = content["model"]["merges"]
    content["model"]["merges"] = merges[: len(merges) // 2]


def frame_beyond(content):
    content["post_processor"]["special_tokens"]["<s>"].update(ids=[10**6])


OF_FAMILIES = [
    ("gpt2", tokens(half_of_the_merges), r"tokenizer.json: its \d+ merges do not make"),
    ("llama", tokens(half_of_the_merges), r"tokenizer.json: its \d+ merges do not make"),
    ("gpt2", tokens(lambda c: c["model"].update(dropout=0.1)), r"leaves out merges at random \(dropout 0.1\)"),
    ("t5", setting(relative_attention_max_distance=8), "max_distance 8 for 32 buckets: it must be more than 16"),
    ("llama", tokens(frame_beyond), "framing symbol has the id 1000000"),
]  # fmt: skip


@pytest.mark.parametrize(("family", "damage", "message"), OF_FAMILIES)
def test_damage_of_a_family_is_one_line(tmp_path, family, damage, message):
    folder = contradictions.make(family, tmp_path / family)
    damage(folder)
    with pytest.raises(InputError, match=message):
        load_model(f"hf:{folder}")


def test_a_token_that_the_embedding_lacks_is_refused_where_it_is_read(folder, make_data, tmp_path):
    vocabulary = load_model(f"hf:{folder}").vocabulary
    symbol = vocabulary.symbols[vocabulary.encode("dog")[0]]
    tokens(lambda content: content["model"]["vocab"].update({symbol: 10**6}))(folder)
    model = load_model(f"hf:{folder}")
    with pytest.raises(InputError, match=r"has the id 1000000, the model's embedding has \d+ rows"):
        tp.extract(model, make_data([("the dog", "")]), None, tmp_path / "store")


def test_a_text_that_the_tokenizer_cannot_read_is_one_line(folder):
    tokens(lambda content: content["model"].update(unk_token="<none>"))(folder)
    vocabulary = load_model(f"hf:{folder}").vocabulary
    for encode in (
        vocabulary.encode,
        vocabulary.offsets,
        lambda text: vocabulary.encode_all([text]),
    ):
        with pytest.raises(InputError, match="the tokenizer cannot read this text"):
            encode("犬")


def test_what_is_left_over_or_new_is_noted(sound, folder, tmp_path, make_data, capfd):
    def change(state):
        state["more.weight"] = torch.ones(2)
        state.pop("pooler.dense.weight")

    change_weights(change)(folder)
    model = load_model(f"hf:{folder}")
    assert model.notes["unused weights"] == "more.weight"
    assert model.notes["new weights"].startswith("pooler.dense.weight: the file lacks them")
    assert "hf:bert: unused weights: more.weight" in capfd.readouterr().err
    store = tp.extract(model, make_data([("the dog", "")]), None, tmp_path / "store", control=False)
    assert store.manifest["model"]["unused weights"] == "more.weight"
    assert load_model(f"hf:{sound}").notes == {}


def test_a_tokenizer_that_knows_few_of_the_models_symbols_is_noted(folder):
    rows = load_model(f"hf:{folder}").config.vocab_size
    tokens(
        lambda c: [c["model"]["vocab"].pop(symbol) for symbol in list(c["model"]["vocab"])[12:]]
    )(folder)
    notes = load_model(f"hf:{folder}").notes
    assert notes["symbols"] == f"the tokenizer knows 12 of the model's {rows}: is it this model's?"


def test_states_that_are_no_numbers_are_refused_with_site_and_sample(sound, tmp_path, make_data):
    model = load_model(f"hf:{sound}")
    (symbol_id, *_) = model.vocabulary.encode("dog")
    with torch.no_grad():
        model.module.get_input_embeddings().weight[symbol_id] = torch.nan
    data = make_data([("the cats see", ""), ("the dog sees", "")])
    with pytest.raises(InputError, match=r"encoder\.embedding has no finite numbers in sample 1"):
        tp.extract(model, data, "*.embedding", tmp_path / "store", control=False)
    maps = "*.self.attention"
    with pytest.raises(InputError, match=r"self\.attention has no finite numbers in sample 1"):
        tp.extract(model, data, maps, tmp_path / "maps", control=False)


def test_a_text_of_unknown_tokens_is_said_and_kept(sound, tmp_path, make_data, capfd):
    model = load_model(f"hf:{sound}")
    data = make_data([("犬 が 好き the dog", ""), ("the cats see", "")])
    store = tp.extract(model, data, "*.hidden", tmp_path / "store", control=False)
    unknown_tokens = store.manifest["unknown_tokens"]
    assert 0.1 < unknown_tokens["share"] < 0.5
    assert (
        f"{unknown_tokens['share']:.1%} of the tokens are unknown to hf:bert"
        in capfd.readouterr().err
    )
    known_words = make_data([("the cats see", "")])
    store = tp.extract(model, known_words, "*.hidden", tmp_path / "known", control=False)
    assert "unknown_tokens" not in store.manifest
