"""Models of transformers with their heads: called as the library calls them, and asked what they write or
expect next, while sites are read and edited.
"""

import inspect
import itertools

import pytest
import torch
import transformers
from planted.foreign import KINDS, save_foreign

import tprprobe as tp
from tprprobe.data.vocabularies.strangers import read_codec
from tprprobe.errors import InputError
from tprprobe.interventions import Recipe, edits, surgery, sweep
from tprprobe.interventions.decomposed_states import substitute
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.models.huggingface.memory import CACHES, find_cache

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

WRITERS = {
    "gpt2": "causal", "opt": "causal", "gpt_neox": "causal", "llama": "causal", "qwen3": "causal",
    "gemma": "causal", "mamba": "causal", "t5": "seq2seq", "bart": "seq2seq",
}  # fmt: skip
FILLERS = {"bert": "masked", "albert": "masked"}
HEADS = WRITERS | FILLERS
TEXT = "the dog sees cats ."


@pytest.fixture(scope="module")
def headed(tmp_path_factory):
    """A tiny random model saved with its head: ours, and the library's own."""
    loaded = {}

    def find(kind):
        if kind not in loaded:
            folder = save_foreign(kind, tmp_path_factory.mktemp("heads") / kind, HEADS[kind])
            model = load_model(f"hf:{folder}")
            auto = {"causal": "CausalLM", "masked": "MaskedLM", "seq2seq": "Seq2SeqLM"}[HEADS[kind]]
            library_model = (
                getattr(transformers, f"AutoModelFor{auto}").from_pretrained(folder).eval()
            )
            loaded[kind] = model, library_model
        return loaded[kind]

    return find


def texts(model):
    """Encoded by the model's own tokenizer; of a model that fills masks with a mask."""
    tokenizer = model.vocabulary.tokenizer
    batch = dict(tokenizer(TEXT, return_tensors="pt"))
    if model.head == "masked":
        batch["input_ids"][0, 2] = tokenizer.mask_token_id
    return batch


def begun(model):
    return {"decoder_input_ids": torch.tensor([[model.config.sos]])} if model.two_stacks else {}


@pytest.mark.parametrize("kind", HEADS)
@torch.no_grad()
def test_it_is_called_as_the_library_calls_it(headed, kind):
    model, library_model = headed(kind)
    assert model.head == HEADS[kind]
    batch = texts(model)
    expected = library_model(**batch, **begun(model))
    assert torch.equal(model(**batch), expected.logits)
    assert torch.equal(model(batch["input_ids"], batch["attention_mask"]), expected.logits)
    if not model.two_stacks:
        assert torch.equal(
            model(batch["input_ids"]), library_model(input_ids=batch["input_ids"]).logits
        )


@pytest.mark.parametrize("kind", WRITERS)
def test_it_writes_what_the_library_writes(headed, kind):
    model, library_model = headed(kind)
    source = texts(model)["input_ids"][:, :4]
    options = {
        "do_sample": False,
        "forced_eos_token_id": None,
        "attention_mask": torch.ones_like(source),
    }
    for n, beam in ((9, 1), (6, 2)):
        expected = library_model.generate(
            input_ids=source, max_new_tokens=n, num_beams=beam, **options
        )
        expected = expected[:, 1 if model.two_stacks else 4 :]
        assert torch.equal(model.generate(source, n, beam=beam), expected)
    samples = [model.generate(source, 20, seed=seed).tolist() for seed in (0, 0, 1, 2)]
    assert samples[0] == samples[1]
    assert len({str(sample) for sample in samples}) > 1


@pytest.mark.parametrize("kind", WRITERS)
def test_padding_changes_nothing_that_is_expected(headed, kind):
    """Beside a longer text, and with padding on either side where positions are counted by it."""
    model, _ = headed(kind)
    pad = model.config.pad
    short, longer = torch.tensor([[6, 7, 9]]), torch.tensor([[5, 6, 7, 9, 4, 6]])
    right = torch.cat([longer, torch.tensor([[6, 7, 9, pad, pad, pad]])])
    sides = [right]
    if kind not in ("t5", "bart", "mamba"):
        sides.append(torch.cat([longer, torch.tensor([[pad, pad, pad, 6, 7, 9]])]))
    target = torch.tensor([[5, 6], [7, pad]])
    for batch in sides:
        if kind == "mamba":  # its recurrence reads what padding stands between
            batch = batch[:, :3]
        assert torch.allclose(model.predict(batch)[1:], model.predict(batch[1:]), atol=1e-6)
        if kind != "mamba":
            assert torch.allclose(model.predict(batch)[1:], model.predict(short), atol=1e-5)
            assert torch.allclose(
                model.score(batch, target)[1:], model.score(short, target[1:, :1]), atol=1e-4
            )
            padded_answer = model.generate(batch, 6)[1:]
            answer = model.generate(short, 6)
            assert torch.equal(padded_answer[:, : answer.shape[1]], answer)
    assert torch.allclose(model.predict(right).sum(1), torch.ones(2))


@pytest.mark.parametrize("kind", WRITERS)
@torch.no_grad()
def test_a_score_is_the_log_probability_of_a_continuation(headed, kind):
    model, library_model = headed(kind)
    source, target = torch.tensor([[6, 7, 9]]), torch.tensor([[5, 8, 4]])
    if model.two_stacks:
        start = torch.tensor([[model.config.sos]])
        logits = library_model(
            input_ids=source, decoder_input_ids=torch.cat([start, target[:, :-1]], 1)
        ).logits
    else:
        logits = library_model(input_ids=torch.cat([source, target], 1)).logits[:, 2:-1]
    log_probability = logits.log_softmax(-1).gather(-1, target[..., None]).sum((1, 2))
    torch.testing.assert_close(model.score(source, target), log_probability, atol=1e-5, rtol=1e-5)
    expected = logits[:, 1].softmax(-1)
    torch.testing.assert_close(model.predict(source, target[:, :1]), expected, atol=1e-6, rtol=1e-5)


@pytest.mark.parametrize("kind", ["gpt2", "llama", "mamba", "t5"])
@torch.no_grad()
def test_sites_are_read_and_edited_while_it_writes(headed, kind):
    """What is captured is what one pass over all of it has; an edit acts at every step, a placed one where
    it is told to.
    """
    model, library_model = headed(kind)
    stack, source = KINDS[kind].stacks[-1], torch.tensor([[6, 7, 9, 4]])
    names = [f"{stack}.embedding", f"{stack}.1.hidden"]
    with tp.capture(model, names) as acts:
        answer = model.generate(source, 5, min_length=4)
    start = torch.tensor([[model.config.sos]])
    ids = torch.cat([start if model.two_stacks else source, answer[:, :-1]], 1)
    with tp.capture(model, names) as once:
        model(source, ids) if model.two_stacks else model(ids)
    for name in names:
        torch.testing.assert_close(acts[name], once[name], atol=1e-5, rtol=1e-5)
    moved = edits.shift(torch.full((16,), 3.0), torch.ones(1, 40))
    layer = library_model.get_decoder().block[0] if kind == "t5" else library_model.base_model.get_submodule(
        {"gpt2": "h.0", "llama": "layers.0", "mamba": "layers.0"}[kind]
    )  # fmt: skip
    hook = layer.register_forward_hook(
        lambda _m, _i, out: (out[0] + 3, *out[1:]) if isinstance(out, tuple) else out + 3
    )
    options = {"max_new_tokens": 5, "do_sample": False, "attention_mask": torch.ones_like(source)}
    expected = library_model.generate(input_ids=source, **options)[
        :, 1 if model.two_stacks else 4 :
    ]
    hook.remove()
    with tp.intervene(model, {f"{stack}.0.hidden": moved}):
        assert torch.equal(model.generate(source, 5), expected)
    is_edited = torch.tensor([[True, False, False, False]])
    with tp.intervene(model, {f"{stack}.0.hidden": edits.zero(positions=is_edited)}):
        probabilities = model.predict(source)
        with tp.capture(model, f"{stack}.0.hidden") as acts:
            model.generate(source, 3, min_length=2)
    zeros = (acts[f"{stack}.0.hidden"] == 0).all(-1)[0].tolist()
    assert zeros == [True, *[False] * (len(zeros) - 1)]
    assert not torch.allclose(probabilities, model.predict(source))


@pytest.mark.parametrize("kind", FILLERS)
@torch.no_grad()
def test_a_model_that_fills_masks_is_asked_at_them(headed, kind):
    model, library_model = headed(kind)
    batch = texts(model)
    logits = library_model(**batch).logits[:, 2]
    torch.testing.assert_close(model.predict(batch["input_ids"]), logits.softmax(-1))
    scored = model.score(batch["input_ids"], torch.tensor([[7]]))
    torch.testing.assert_close(scored, logits.log_softmax(-1)[:, 7])
    assert model.generate(batch["input_ids"], 1).tolist() == [[int(logits.argmax())]]
    with pytest.raises(InputError, match="fills masks, and a text has none: write <mask>"):
        model.predict(torch.tensor([[6, 7, 9]]))
    with pytest.raises(InputError, match="2 symbols for a text with 1 masks"):
        model.score(batch["input_ids"], torch.tensor([[7, 8]]))


def test_a_model_without_a_head_returns_states(tmp_path):
    model = load_model(f"hf:{save_foreign('bert', tmp_path / 'bert')}")
    ids = torch.tensor([[2, 6, 7, 3]])
    with tp.capture(model, "encoder.1.hidden") as acts:
        assert torch.equal(model(ids), acts["encoder.1.hidden"])
    with pytest.raises(
        InputError, match="hf:bert has no head that predicts symbols, and a prediction needs"
    ):
        model.predict(ids)


class Tagger(torch.nn.Module):
    """A GRU over words, as a user may have it."""

    def __init__(self, symbols):
        super().__init__()
        self.table, self.cells = (
            torch.nn.Embedding(symbols, 6),
            torch.nn.GRU(6, 6, batch_first=True),
        )

    def forward(self, ids):
        return self.cells(self.table(ids))[0]


def test_an_attached_module_takes_any_vocabulary(tmp_path, make_data, headed):
    """A tokenizer of either library, a function, or the ids: the same vectors; words are known by places."""
    tokenizer = headed("bert")[0].vocabulary.tokenizer
    data = make_data([("the dog sees", ""), ("cats see the dog", "")])
    model = tp.attach(Tagger(len(tokenizer)).eval(), {"layers.0.hidden": "cells"},
                      forward=lambda module, batch: module(batch[0]))  # fmt: skip
    ids = [tokenizer(example.source)["input_ids"] for example in data]
    ways = {
        "transformers": tokenizer,
        "tokenizers": tokenizer.backend_tokenizer,
        "function": lambda text: torch.tensor(tokenizer(text)["input_ids"]),
        "ids": ids,
    }
    stores = {
        name: tp.extract(model, data, None, tmp_path / name, control=False, vocabulary=way)
        for name, way in ways.items()
    }
    site = "layers.0.hidden"
    for name, store in stores.items():
        assert (store.read(site) == stores["ids"].read(site)).all(), name
        assert store.tokens_of(site)["id"].tolist() == [i for sequence in ids for i in sequence]
    words = {"the": 1, "dog": 2, "sees": 3, "cats": 4, "see": 5}
    by_word = tp.extract(
        model, data, None, tmp_path / "words", control=False,
        vocabulary=lambda text: [words[word] for word in text.split()],
    )  # fmt: skip
    assert by_word.tokens_of(site)["word"].tolist() == [0, 1, 2, 0, 1, 2, 3]
    assert by_word.tokens_of(site)["token"].tolist() == [
        "the",
        "dog",
        "sees",
        "cats",
        "see",
        "the",
        "dog",
    ]
    parity = tp.extract(
        model, data, None, tmp_path / "parity", control=False,
        vocabulary=lambda text: [words[word] % 2 for word in text.split()],
    )  # fmt: skip
    assert {*parity.tokens_of(site)["token"]} == {"0", "1"}  # which stand for several words
    for wrong, message in (
        (
            None,
            "has no vocabulary: give vocabulary= \\(examine: tokenizer=\\), a Codec, a tokenizer of transformers",
        ),
        (7, "vocabulary int: give a Codec, a tokenizer of transformers, a tokenizers.Tokenizer"),
        (ids[:1], "ids of 1 examples for the 2 of listed"),
        (lambda _: [10**6], "has the id 1000000, the embedding "),
    ):
        with pytest.raises(InputError, match=message):
            tp.extract(model, data, None, tmp_path / "wrong", control=False, vocabulary=wrong)


WORDS = ("the", "dog", "sees", "cats", "a")
QUESTIONS = [(" ".join(words), " cat") for words in itertools.permutations(WORDS, 3)][:48]


@pytest.mark.parametrize(
    ("kind", "dtype"),
    [("gpt2", "float32"), ("t5", "float32"), ("llama", "bfloat16")],
)
def test_answers_are_evaluated_swept_and_substituted(headed, make_data, tmp_path, kind, dtype):
    """eval, sweeps, substitutions and surgery of a model with a head are those of ours."""
    model, _ = headed(kind)
    if dtype != "float32":
        model = tp.load_model(f"hf:{model.source}", dtype=dtype)
    stack, data = KINDS[kind].stacks[0], make_data(QUESTIONS)
    rows = evaluate(model, data)
    vocabulary = model.vocabulary
    for row in rows.to_dict("records")[:4]:
        ids = vocabulary.encode(row["question"]) + list(vocabulary.source_frame[1])
        source = torch.tensor([[*vocabulary.source_frame[0], *ids]])
        answer = vocabulary.encode(row["answer"]) + [vocabulary.eos] * (kind == "t5")
        answer_ids = model.generate(source, len(answer))[0].tolist()
        assert row["correct"] == (answer_ids == answer)
    recipe = Recipe(n=24, reference=24, sites=[f"{stack}.*.hidden"], edits=["zero", "mean"])
    table = sweep(model, data, recipe, tmp_path / "sweep").set_index(["site", "edit"])
    assert len(table) == 1 + 2 * 2
    assert (table.drop(index="none", level="edit")["nats"].abs() > 1e-6).any()
    site = f"{stack}.0.hidden"
    store = tp.extract(model, data, [site], tmp_path / "store", control=False)
    fit = tp.decompose(store, site, "left", family="additive")
    substitutions = substitute(model, data, fit).set_index("edit")
    assert substitutions.loc["unedited", "agreement"] == 1
    assert substitutions.loc["mean", "probability"] != substitutions.loc["unedited", "probability"]
    filler, second_filler = (str(name) for name in fit.fit.pairs.fillers[:2])
    edit = surgery(fit, replace=(str(fit.fit.pairs.roles[0]), filler, second_filler))
    source = torch.tensor([vocabulary.encode("the dog sees")])
    with tp.intervene(model, {site: edit}):
        edited = model.predict(source)
    assert not torch.allclose(edited, model.predict(source))


def test_a_vocabulary_that_makes_no_ids_is_one_line():
    for vocabulary in (str.split, lambda _: None):
        with pytest.raises(InputError, match="give a function from a text to ids"):
            read_codec(vocabulary, tp.load_data(["the dog"]), 9)
    with pytest.raises(InputError, match="the vocabulary fails on 'the dog': KeyError"):
        read_codec(lambda text: {}[text], tp.load_data(["the dog"]), 9)


@pytest.mark.parametrize("name", CACHES)
def test_a_cache_goes_by_the_name_that_its_module_takes(tmp_path, monkeypatch, name):
    """Transformers renames the argument, one family after the other."""
    model = load_model(f"hf:{save_foreign('t5', tmp_path / 't5', 'seq2seq')}")
    source = torch.tensor([[6, 7, 9, 4]])
    expected = model.generate(source, 6, min_length=5)
    forward, cache_name = model.module.forward, model.cache

    def renamed(*args, **options):
        if name in options:
            options[cache_name] = options.pop(name)
        return forward(*args, **options)

    signature = inspect.signature(forward)
    parameters = [
        p.replace(name=name) if p.name == cache_name else p for p in signature.parameters.values()
    ]
    renamed.__signature__ = signature.replace(parameters=parameters)
    monkeypatch.setattr(model.module, "forward", renamed)
    monkeypatch.setattr(model, "cache", find_cache(model.module))
    assert model.cache == name
    assert torch.equal(model.generate(source, 6, min_length=5), expected)
    monkeypatch.setattr(model, "cache", "")
    with pytest.raises(InputError, match="cannot write: its decoder takes no keys and values"):
        model.generate(source, 6, min_length=5)
