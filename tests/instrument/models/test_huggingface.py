"""Tiny random models of transformers, saved here, are read at sites, stored, clustered and probed."""

import json
import shutil
import sys

import numpy as np
import pytest
import torch
import transformers
from planted.cli import run_command
from planted.foreign import KINDS, build_foreign, save_foreign, save_tokenizer

import tprprobe as tp
from tprprobe.analyses.probing import Schedule
from tprprobe.errors import InputError
from tprprobe.gold.labels import place_words, words_of_tokens
from tprprobe.models import load_model
from tprprobe.models.huggingface import pretrained
from tprprobe.models.huggingface.pretrained import attach_layers
from tprprobe.site.hooks import find_sites

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SENTENCES = [("the", "DT"), ("dog", "NN"), ("sees", "VBZ"), ("cats", "NNS"), (".", ".")]
PROBED = ["modernbert", "t5", "qwen3"]  # of every family one; the others in `make soak`
RIGHT = torch.tensor([[2, 4, 5, 7, 9, 6], [2, 5, 8, 6, 0, 0]])


@pytest.fixture(scope="session")
def foreign(tmp_path_factory):
    """The folder of a tiny random model of a kind, saved once."""
    folders = {}

    def find(kind):
        if kind not in folders:
            folders[kind] = save_foreign(kind, tmp_path_factory.mktemp("hf") / kind)
        return folders[kind]

    return find


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


def padded(ids, pad):
    """The ids with the model's own padding, and where there is none."""
    return ids.where(ids != 0, pad), ids != 0


@torch.no_grad()
def outputs_of(module, ids, mask, target, **options):
    """What the library itself returns, from an attention that has maps."""
    if module._can_set_attn_implementation():
        module.set_attn_implementation("eager")
    arguments = {"input_ids": ids.clamp(min=0), "attention_mask": mask.long(), **options}
    if module.config.is_encoder_decoder:
        arguments["decoder_input_ids"] = target
    return module(**arguments, output_hidden_states=True)


def assert_near(values, expected, mask=None):
    mask = torch.ones(values.shape[:2], dtype=torch.bool) if mask is None else mask
    torch.testing.assert_close(values[mask], expected[mask], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_sites_hold_what_the_library_returns(foreign, kind):
    """Hidden states of every layer (the last one before a final norm) and every map of attention."""
    family = KINDS[kind]
    model = load_model(f"hf:{foreign(kind)}")
    ids, mask = padded(RIGHT, model.vocabulary.pad)
    with tp.capture(model, "*") as acts:
        model(ids, RIGHT[:, :4])
    assert set(acts) == set(find_sites(model))
    module = model.get_submodule("_foreign")
    options = {"output_attentions": True} if family.has_maps else {}
    outputs = outputs_of(module, ids, mask, RIGHT[:, :4], **options)
    for stack in family.stacks:
        prefix = f"{stack}_" if len(family.stacks) == 2 else ""
        states, real = outputs[f"{prefix}hidden_states"], None if stack == "decoder" else mask
        layers = [name for name in acts if name.startswith(stack) and name.endswith("hidden")]
        assert len(layers) == family.layers
        for number, name in enumerate(layers):
            value = acts[name]
            if number == family.layers - 1 and family.norm:
                value = module.get_submodule(family.norm.format(stack))(value)
            assert_near(value, states[number + family.first], real)
        maps = {f"{stack}.{{}}.self": outputs.get(f"{prefix}attentions")}
        if stack == "decoder":
            maps["decoder.{}.cross"] = outputs["cross_attentions"]
        for place, expected in maps.items() if family.has_maps else ():
            for layer in range(family.layers):
                assert_near(acts[f"{place.format(layer)}.attention"], expected[layer])


@pytest.mark.parametrize("kind", KINDS)
def test_parts_of_an_attention_fit_together(foreign, kind):
    """The filler is the map's sum of values; the input and what the feed-forward layer adds are there."""
    model = load_model(f"hf:{foreign(kind)}")
    ids, _ = padded(RIGHT, model.vocabulary.pad)
    with tp.capture(model, "*") as acts:
        model(ids, RIGHT[:, :4])
    axes = tp.sites(model).set_index("site")["axes"]
    for name in (name.removesuffix(".attention") for name in acts if name.endswith(".attention")):
        assert acts[f"{name}.input"].shape[-1] == 16
        if f"{name}.value" not in acts:
            assert kind == "deberta"  # whose queries, keys and values one linear map makes
            continue
        value = acts[f"{name}.value"]
        shared = acts[f"{name}.filler"].shape[2] // value.shape[2]
        axis = "head" if shared == 1 else "key_head"
        assert axes[f"{name}.value"] == axes[f"{name}.key"] == f"batch × seq × {axis} × d_head"
        assert axes[f"{name}.query"] == axes[f"{name}.filler"] == "batch × seq × head × d_head"
        summed = torch.einsum(
            "bhqk,bkhd->bqhd", acts[f"{name}.attention"], value.repeat_interleave(shared, 2)
        )
        torch.testing.assert_close(acts[f"{name}.filler"], summed, atol=1e-5, rtol=1e-5)
    family = KINDS[kind]
    assert {f"{stack}.{family.layers - 1}.mlp" in acts for stack in family.stacks} == {
        family.has_maps
    }


def moved(tensor):
    return 1.7 * tensor + torch.linspace(-1, 1, tensor.numel()).reshape(tensor.shape)


@pytest.mark.parametrize("kind", ["qwen3", "gpt2", "bert", "deberta-v2", "opt", "t5"])
def test_what_is_replaced_goes_on(foreign, kind):
    """Edits at each part change what follows as the part's own arithmetic says."""
    model = load_model(f"hf:{foreign(kind)}")
    ids, _ = padded(RIGHT, model.vocabulary.pad)
    stack = KINDS[kind].stacks[0]
    final_state = f"{stack}.{KINDS[kind].layers - 1}.hidden"
    with tp.capture(model, [f"{stack}.*"]) as plain:
        model(ids, RIGHT[:, :4])
    for path in (
        "self.input",
        "self.query",
        "self.key",
        "self.value",
        "self.filler",
        "mlp",
        "hidden",
    ):
        with (
            tp.intervene(model, {f"{stack}.0.{path}": moved}),
            tp.capture(model, final_state) as acts,
        ):
            model(ids, RIGHT[:, :4])
        assert not torch.allclose(acts[final_state], plain[final_state], atol=1e-4), path
        with (
            tp.intervene(model, {f"{stack}.0.{path}": torch.clone}),
            tp.capture(model, final_state) as acts,
        ):
            model(ids, RIGHT[:, :4])
        torch.testing.assert_close(acts[final_state], plain[final_state], atol=1e-5, rtol=1e-5)
    names = [f"{stack}.0.self.{path}" for path in ("attention", "value", "filler")]
    with (
        tp.intervene(model, {names[0]: lambda maps: maps.flip(-1)}),
        tp.capture(model, names) as acts,
    ):
        model(ids, RIGHT[:, :4])
    shared = acts[names[2]].shape[2] // acts[names[1]].shape[2]
    values = acts[names[1]].repeat_interleave(shared, 2)
    summed = torch.einsum("bhqk,bkhd->bqhd", plain[names[0]].flip(-1), values)
    torch.testing.assert_close(acts[names[2]], summed, atol=1e-5, rtol=1e-5)
    with tp.capture(model, [f"{stack}.*"]) as replayed:  # nothing stays
        model(ids, RIGHT[:, :4])
    assert all(torch.equal(replayed[name], plain[name]) for name in plain)


def check_store(foreign, treebank, out, kind):
    """extract, cluster and probe from the command line."""
    family = KINDS[kind]
    folder, site = foreign(kind), f"{family.stacks[-1]}.{family.layers - 1}.hidden"
    arguments = ["--ckpt", f"hf:{folder}", "--data", treebank, "--out", out]
    run_command("extract", *arguments, "--attention-samples", 2)
    store = tp.open_store(out)
    tokens = store.tokens_of(site)
    sees = tokens.loc[tokens["pos"] == "VBZ"]
    spelled = sees.groupby("sample")["token"].agg(lambda symbols: "".join(map(str, symbols)))
    assert {text.strip("Ġ▁").replace("##", "") for text in spelled} == {"sees"}
    assert len(spelled) == 40
    words = tokens.loc[tokens["word"] >= 0].groupby(["sample", "word"])
    assert words.size().max() > 1  # a word of several pieces has several rows
    assert store.manifest["model"]["name"] == f"hf:{kind}"
    assert store.control is not None
    assert not np.allclose(store.control.read(site), store.read(site))
    printed = json.loads(run_command("cluster", out, "--site", site, "--k", 3, "--json").stdout)
    assert sum(row["size"] for row in printed[0]["clusters"]) == len(tokens)
    rows = tp.probe(
        store, "pos", sites=f"{family.stacks[0]}.0.hidden", controls=(), information=False,
        schedule=Schedule(limit=15, learning_rate=1e-2),
    )  # fmt: skip
    assert rows.loc[rows["control"] == "real", "f1"].iloc[0] > 0.8


@pytest.mark.parametrize("kind", PROBED)
def test_a_treebank_is_stored_clustered_and_probed(foreign, treebank, tmp_path, kind):
    check_store(foreign, treebank, tmp_path / kind, kind)


@pytest.mark.soak
@pytest.mark.parametrize("kind", sorted({*KINDS} - {*PROBED}))
def test_a_treebank_is_stored_clustered_and_probed_with_every_other_kind(
    foreign, treebank, tmp_path, kind
):
    check_store(foreign, treebank, tmp_path / kind, kind)


def test_grouped_heads_are_told_in_the_store(foreign, treebank, tmp_path):
    model = load_model(f"hf:{foreign('qwen3')}")
    data = tp.load_data(str(treebank), n=5)
    store = tp.extract(model, data, ["layers.-1.self.*"], tmp_path / "store", control=False)
    key, query = (store.specs[f"layers.1.self.{kind}"] for kind in ("key", "query"))
    assert (key.axes, key.shape) == (("source", "key_head", "d_head"), (2, 4))
    assert (query.axes, query.shape) == (("source", "head", "d_head"), (4, 4))
    assert store.arrays["layers.1.self.key"].dims == ("source", "key_head", "d_head")
    assert store.attention("layers.1.self.attention", 0).shape[0] == 4
    assert len(tp.cluster(store, "layers.-1.self.key", head=1, k=2, n_seeds=2).labels) > 5
    with pytest.raises(InputError, match="has no head 2: it has heads 0 to 1"):
        store.read("layers.1.self.key", head=2)


TEXTS = [
    "the dog sees cats.",
    "Ünïcödé naïve café 犬が好き 👩‍🚀 cats",
    "  two  blanks\tthe dog",
    "don't, 3.5% (dog)",
]


@pytest.mark.parametrize("family", ["wordpiece", "bytes", "metaspace", "unigram"])
@pytest.mark.parametrize("text", TEXTS)
def test_subwords_are_aligned_with_words_by_their_characters(tmp_path, family, text):
    save_tokenizer(family, tmp_path, [*TEXTS, *(word for word, _ in SENTENCES)])
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path)
    kind = {"wordpiece": "bert", "bytes": "gpt2", "metaspace": "qwen3", "unigram": "t5"}[family]
    vocabulary = attach_layers(build_foreign(kind, len(tokenizer)), tokenizer, kind).vocabulary
    words = text.split()
    ids, places = vocabulary.encode(text), vocabulary.offsets(text)
    assert vocabulary.encode_sources([text]).values.tolist() == tokenizer(text)["input_ids"]
    assert len(vocabulary.place_sources([text])[0]) == len(tokenizer(text)["input_ids"])
    assert len(ids) == len(places)
    owners = words_of_tokens(place_words(text, words), places)
    for number, (start, end) in enumerate(place_words(text, words)):
        word_places = [
            place for place, owner in zip(places, owners, strict=True) if owner == number
        ]
        covered = {c for a, b in word_places for c in range(a, b) if not text[c].isspace()}
        assert covered == set(range(start, end)), (text[start:end], word_places)
    for (start, end), owner in zip(places, owners, strict=True):
        assert owner >= 0 or not text[start:end].strip()


def test_an_architecture_that_nobody_knows_is_read_by_its_structure(foreign):
    """Own names throughout; no attention of the library's, but a module for its map."""
    nn, d = torch.nn, 16

    class Mix(nn.Module):
        def __init__(self):
            super().__init__()
            self.q, self.k, self.v, self.out = (nn.Linear(d, d) for _ in range(4))
            self.share = nn.Softmax(-1)

        def forward(self, x):
            q, k, v = (f(x).unflatten(-1, (2, 8)).transpose(1, 2) for f in (self.q, self.k, self.v))
            before = torch.ones(x.shape[1], x.shape[1]).tril().bool()
            scores = (q @ k.mT).masked_fill(~before, -1e9)
            return self.out((self.share(scores) @ v).transpose(1, 2).flatten(2))

    class Stage(nn.Module):
        def __init__(self):
            super().__init__()
            self.mix, self.wide, self.narrow = Mix(), nn.Linear(d, 24), nn.Linear(24, d)

        def forward(self, x):
            x = x + self.mix(x)
            return x + self.narrow(self.wide(x).relu())

    class Novel(transformers.PreTrainedModel):
        config_class = transformers.GPT2Config

        def __init__(self, config):
            super().__init__(config)
            self.table = nn.Embedding(config.vocab_size, d)
            self.stages = nn.ModuleList([Stage(), Stage()])
            self.post_init()

        def get_input_embeddings(self):
            return self.table

        def forward(self, input_ids, attention_mask=None):
            x = self.table(input_ids)
            for stage in self.stages:
                x = stage(x)
            return x

    module = Novel(transformers.GPT2Config(vocab_size=40, is_encoder_decoder=False)).eval()
    tokenizer = transformers.AutoTokenizer.from_pretrained(foreign("gpt2"))
    model = attach_layers(module, tokenizer, "novel")
    kinds = [
        *(f"self.{p}" for p in ("input", "query", "key", "value", "attention", "filler")),
        "mlp",
        "hidden",
    ]
    layers = [f"layers.{layer}.{kind}" for layer in (0, 1) for kind in kinds]
    assert list(find_sites(model)) == ["layers.embedding", *layers]
    with tp.capture(model, "*") as acts:
        out = model(RIGHT, RIGHT)
    assert torch.equal(acts["layers.1.hidden"], out)
    with (
        tp.intervene(model, {"layers.1.mlp": torch.zeros_like}),
        tp.capture(model, "*.0.hidden") as acts,
    ):
        edited = model(RIGHT, RIGHT)
    torch.testing.assert_close(
        edited, acts["layers.0.hidden"] + module.stages[1].mix(acts["layers.0.hidden"])
    )


@pytest.mark.parametrize(
    ("kind", "reads"),
    [("vit", "pixel_values"), ("whisper", "input_features"), ("wav2vec2", "input_values")],
)
def test_models_of_images_and_sounds_are_refused(tmp_path, kind, reads):
    transformers.AutoConfig.for_model(kind).save_pretrained(tmp_path)
    with pytest.raises(InputError, match=rf"is of type '{kind}', which reads {reads}: hf: reads"):
        load_model(f"hf:{tmp_path}")


def test_nothing_of_the_folder_is_run(tmp_path, foreign):
    shutil.copytree(foreign("bert"), tmp_path / "evil")
    marker = tmp_path / "ran"
    (tmp_path / "evil" / "evil.py").write_text(f"open({str(marker)!r}, 'w').close()\n")
    settings = json.loads((tmp_path / "evil" / "config.json").read_text())
    custom = {
        "model_type": "evil",
        "auto_map": {"AutoConfig": "evil.Evil", "AutoModel": "evil.Evil"},
    }
    (tmp_path / "evil" / "config.json").write_text(json.dumps(settings | custom))
    with pytest.raises(InputError, match="no transformers model") as error:
        load_model(f"hf:{tmp_path / 'evil'}")
    assert "\n" not in str(error.value)
    assert not marker.exists()
    assert not any("evil" in name for name in sys.modules)


def test_each_command_takes_it_or_says_why_not(foreign, treebank, tmp_path):
    recipe = tmp_path / "sweep.toml"
    recipe.write_text('sites = ["encoder.*"]\nedits = ["zero"]\n')
    name = f"hf:{foreign('bert')}"
    for command in (
        ["binding", "--ckpt", name],
        ["intervene", recipe, "--ckpt", name],
        ["eval", "--ckpt", name, "--data", treebank],
        ["extract", "--ckpt", name, "--data", treebank, "--target", "generated"],
    ):
        with pytest.raises(InputError, match=r"hf:bert (is an attached module|has no head)"):
            run_command(*command, "--out", tmp_path / "out")
    assert load_model(name).name == "hf:bert"  # Ask: the nearest samples of a model without a head


def test_a_start_symbol_that_is_not_named_is_one_line(tmp_path, foreign):
    shutil.copytree(foreign("t5"), tmp_path / "t5")
    for name in ("config.json", "generation_config.json"):
        settings = json.loads((tmp_path / "t5" / name).read_text())
        settings.pop("decoder_start_token_id", None)
        (tmp_path / "t5" / name).write_text(json.dumps(settings))
    with pytest.raises(InputError, match=r"names no decoder_start_token_id: add it .*config\.json"):
        load_model(f"hf:{tmp_path / 't5'}")


def test_a_revision_of_a_hub_is_asked_for(foreign, monkeypatch):
    requests, read_folder, folder = [], pretrained._read, str(foreign("t5"))

    def look(path, options, *arguments):
        requests.append((path, options.pop("revision", None)))
        return read_folder(folder, options | {"local_files_only": True}, *arguments)

    monkeypatch.setattr(pretrained, "_read", look)
    monkeypatch.setattr(pretrained.hub, "is_offline", lambda: False)
    assert load_model("hf:owner/name@step512").name == "hf:name@step512"
    assert requests == [("owner/name", "step512")]
    with pytest.raises(InputError, match="no folder"):
        load_model(f"hf:{folder}@step512")
