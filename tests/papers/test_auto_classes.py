"""Our checkpoints in transformers' Auto classes, and back."""

import json

import pytest
import torch
import transformers

import tprprobe as tp
from tprpapers.architectures import auto_classes
from tprprobe.data.pairs import encode_sources
from tprprobe.errors import InputError
from tprprobe.models import load_model
from tprprobe.models.checkpoint import save_pretrained
from tprprobe.models.decoding.generation import generate

pytestmark = pytest.mark.filterwarnings("ignore")
TEXT = {
    "tpt-d-english": "english:version=1,depth=1,sentences=4-6",
    "tpt-c-arithmetic": "mathematics:arithmetic__mixed",
}
OPTIONS = [
    ({}, {}),
    ({"num_beams": 3, "length_penalty": 2.0}, {"beam": 3, "length_penalty": 2.0}),
    ({"no_repeat_ngram_size": 2, "min_new_tokens": 4}, {"no_repeat": 2, "min_length": 4}),
]  # fmt: skip


@pytest.fixture(scope="module", params=["tpt-d-english", "tpt-c-arithmetic"])
def pair(request, root):
    folder = root / "models" / request.param
    return load_model(folder), transformers.AutoModelForSeq2SeqLM.from_pretrained(folder)


def questions(model, root, n):
    if model.name == "tpt-d-english":
        return [e.source for e in tp.load_data(TEXT[model.name], split="test", n=n)]
    return [f"Calculate {a}/({a + 1}/{2 * a + 1})." for a in range(1, n + 1)]


def batch(texts, folder):
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
    return tokenizer(
        texts, return_tensors="pt", padding=True, truncation=True, return_token_type_ids=False
    )


def check_generation(pair, texts, options):
    """Token for token what ours writes, from ids that are ours."""
    model, wrapped = pair
    inputs = batch(texts, model.folder)
    ids = encode_sources(texts, model.vocabulary).ragged()
    source = ids.padded(torch.arange(len(texts)), model.config.pad)
    assert torch.equal(inputs["input_ids"], source)
    ids = wrapped.generate(**inputs, max_new_tokens=20, **options[0])
    assert (ids[:, 0] == model.config.sos).all()
    assert torch.equal(ids[:, 1:], generate(model, source, 20, **options[1]))
    assert len({tuple(row.tolist()) for row in ids}) > 1


@pytest.mark.parametrize("options", OPTIONS)
def test_what_they_generate_is_what_ours_writes(pair, root, options):
    check_generation(pair, questions(pair[0], root, 6), options)


def test_logits_loss_and_states_are_the_models(pair, root):
    model, wrapped = pair
    inputs = batch(questions(model, root, 3), model.folder)
    target = torch.tensor([[5, 6, 7, 8]] * 3)
    start = torch.full_like(target[:, :1], model.config.sos)
    expected = model(inputs["input_ids"], torch.cat([start, target[:, :-1]], 1))
    labels = target.clone()
    labels[0, 3] = -100
    output = wrapped(**inputs, labels=labels)
    assert torch.equal(output.logits, expected)
    loss = torch.nn.functional.cross_entropy(expected.flatten(0, 1), labels.flatten())
    torch.testing.assert_close(output.loss, loss)  # -100 is counted by neither
    encoder = transformers.AutoModel.from_pretrained(model.folder)
    with tp.capture(model, "encoder.-1.hidden") as acts:
        model.encode(inputs["input_ids"])
    assert torch.equal(encoder(**inputs).last_hidden_state, next(iter(acts.values())))


def test_folders_make_the_round_trip(pair, tmp_path):
    model, wrapped = pair
    assert isinstance(wrapped, auto_classes.TPRForSeq2SeqLM)
    config = transformers.AutoConfig.from_pretrained(model.folder)
    assert (config.model_type, config.architectures) == ("tprprobe", ["TPRForSeq2SeqLM"])
    wrapped.save_pretrained(tmp_path / "theirs")
    for reloaded in (
        load_model(tmp_path / "theirs"),
        load_model(save_pretrained(model, tmp_path / "ours")),
    ):
        assert reloaded.config == model.config
        assert reloaded.architecture == model.architecture
        assert reloaded.vocabulary.symbols == model.vocabulary.symbols
        state = reloaded.state_dict()
        assert all(torch.equal(state[key], tensor) for key, tensor in model.state_dict().items())
    config.save_pretrained(tmp_path / "config")
    assert transformers.AutoConfig.from_pretrained(tmp_path / "config").settings == config.settings
    settings = json.loads((tmp_path / "config" / "config.json").read_text())
    assert settings == json.loads((tmp_path / "ours" / "config.json").read_text())
    theirs = transformers.AutoModelForSeq2SeqLM
    reloaded = theirs.from_pretrained(tmp_path / "ours", dtype="bfloat16")
    assert {weights.dtype for weights in reloaded.parameters()} == {torch.bfloat16}
    wrapped.save_pretrained(tmp_path / "theirs")  # as theirs do, over what is there
    fresh = transformers.AutoModelForSeq2SeqLM.from_config(config)
    assert sum(p.numel() for p in fresh.parameters()) == sum(p.numel() for p in model.parameters())


def test_pipelines_write_and_read(pair, root):
    model, _ = pair
    (text, second_text) = questions(model, root, 2)
    writer = transformers.pipeline("seq2seq", model=str(model.folder))
    answers = writer([text, second_text], max_new_tokens=30)
    source = encode_sources([text], model.vocabulary).ragged().padded(torch.arange(1), 0)
    expected = model.vocabulary.decode(generate(model, source, 30)[0].tolist())
    assert answers[0][0]["generated_text"] == expected.strip()
    assert len(answers) == 2
    reader = transformers.pipeline("feature-extraction", model=str(model.folder))
    assert len(reader(text)[0][0]) == model.config.d_model


def test_what_they_cannot_do_is_one_line(pair, root):
    _, wrapped = pair
    ids = torch.tensor([[5, 6]])
    with pytest.raises(InputError, match="generate does not have do_sample; it has max_new_tokens"):
        wrapped.generate(ids, do_sample=True)
    with pytest.raises(InputError, match="give input_ids"):
        wrapped.generate()
    with pytest.raises(InputError, match="give decoder_input_ids or labels"):
        wrapped(ids)
    with pytest.raises(InputError, match="reads features of images"):
        transformers.AutoModelForSeq2SeqLM.from_pretrained(root / "models" / "tpgn-scenes")
