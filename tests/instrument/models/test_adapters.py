"""Models that are in memory: of transformers, and of libraries around it, read and changed as they are called."""

import copy
import warnings
from typing import Any

import numpy as np
import pytest
import torch
from planted.foreign import save_foreign

import tprprobe as tp

TEXT = "the dog sees cats ."
SITES = ["*.0.hidden", "*.0.self.attention"]


def load(folder):
    import transformers

    module = transformers.AutoModelForCausalLM.from_pretrained(folder).eval()
    return module, transformers.AutoTokenizer.from_pretrained(folder)


def hold_peft(module, _tokenizer, _folder):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wrapped = peft.get_peft_model(module, peft.LoraConfig(target_modules=["c_attn"]))
    return wrapped, wrapped


def hold_nnsight(module, tokenizer, _folder):
    nnsight = pytest.importorskip("nnsight", reason="nnsight is not installed")
    wrapped = nnsight.LanguageModel(module, tokenizer=tokenizer)

    def call(**batch):
        with wrapped.trace(batch):
            pass

    return wrapped, call


def hold_bridge(module, _tokenizer, folder):
    lens = pytest.importorskip("transformer_lens", reason="TransformerLens is not installed")
    from transformers import AutoTokenizer

    boot = lens.TransformerBridge.boot_transformers
    module.config.architectures = ["GPT2LMHeadModel"]
    wrapped = boot(str(folder), hf_model=module, tokenizer=AutoTokenizer.from_pretrained(folder))
    return wrapped, lambda **batch: wrapped(batch["input_ids"])


HOLDS = {
    "transformers": lambda module, *_: (module, module),
    "peft": hold_peft,
    "nnsight": hold_nnsight,
    "transformer_lens": hold_bridge,
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("library", HOLDS)
def test_what_a_library_holds_is_captured_and_changed_as_it_is_called(library, folder):
    module, tokenizer = load(folder)
    wrapped, call = HOLDS[library](module, tokenizer, folder)
    batch = dict(tokenizer(TEXT, return_tensors="pt"))
    expected = module(**batch, output_hidden_states=True)
    with tp.capture(wrapped, SITES) as acts:
        call(**batch)
    state, weights = acts["layers.0.hidden"], acts["layers.0.self.attention"]
    torch.testing.assert_close(state, expected.hidden_states[1], atol=1e-5, rtol=0)
    torch.testing.assert_close(weights.sum(-1), torch.ones(weights.shape[:-1]))
    with (
        tp.intervene(wrapped, {"layers.0.hidden": torch.zeros_like}),
        tp.capture(wrapped, "layers.1.hidden") as changed,
    ):
        call(**batch)
    with tp.capture(wrapped, "layers.1.hidden") as unchanged:
        call(**batch)
    change = changed["layers.1.hidden"] - unchanged["layers.1.hidden"]
    assert change.abs().max() > 1e-3
    torch.testing.assert_close(module(**batch).logits, expected.logits)
    assert "layers.0.hidden" in set(tp.sites(wrapped)["site"])


def test_a_model_in_memory_gives_the_store_that_its_folder_gives(folder, tmp_path):
    module, tokenizer = load(folder)
    texts = [TEXT, "a cat sees the dogs ."]
    stores = [
        tp.extract(tp.load_model(f"hf:{folder}"), texts, "*.hidden", tmp_path / "folder"),
        tp.extract(module, texts, "*.hidden", tmp_path / "module", vocabulary=tokenizer),
        tp.extract(tp.load_model(module, tokenizer), texts, "*.hidden", tmp_path / "loaded"),
    ]
    for reopened in stores[1:]:
        assert reopened.tokens.drop(columns="prediction", errors="ignore").equals(
            stores[0].tokens.drop(columns="prediction", errors="ignore")
        )
        for site in stores[0].sites:
            np.testing.assert_array_equal(reopened.read(site), stores[0].read(site))
            twins = [store.twins["permuted"].read(site) for store in (stores[0], reopened)]
            np.testing.assert_array_equal(twins[0], twins[1])


def test_its_mode_stays_and_copies_have_no_sites(folder):
    module, tokenizer = load(folder)
    module.train()
    assert tp.load_model(module, tokenizer) is tp.load_model(module)
    assert module.training
    module_copy = copy.deepcopy(module)
    assert set(module_copy.state_dict()) == set(module.state_dict())
    assert tp.load_model(module_copy, tokenizer) is not tp.load_model(module)


def test_texts_go_straight_in(folder):
    module, tokenizer = load(folder)
    model: Any = tp.load_model(module, tokenizer)
    short = "a cat"
    single_logits = [
        module(**tokenizer(text, return_tensors="pt")).logits for text in (TEXT, short)
    ]
    torch.testing.assert_close(model(TEXT), single_logits[0])
    batch_logits = model([TEXT, short])
    torch.testing.assert_close(
        batch_logits[1, : single_logits[1].shape[1]], single_logits[1][0], atol=1e-5, rtol=1e-4
    )
    answers = model.generate([TEXT, short], max_length=4)
    assert answers == [model.generate(TEXT, max_length=4), model.generate(short, max_length=4)]
    ids = model.generate(model.read(TEXT), max_length=4)
    assert model.vocabulary.decode(ids[0].tolist()) == answers[0]


@pytest.mark.filterwarnings("ignore")
def test_sentence_transformers_are_read_as_they_encode(tmp_path):
    library = pytest.importorskip("sentence_transformers", reason="not installed")
    folder = save_foreign("bert", tmp_path / "bert")
    models = pytest.importorskip("sentence_transformers.models", reason="not installed")
    inner = models.Transformer(str(folder))
    pooling = models.Pooling(inner.get_word_embedding_dimension())
    encoder = library.SentenceTransformer(modules=[inner, pooling], device="cpu")
    with tp.capture(encoder, "encoder.-1.hidden") as acts:
        vector = encoder.encode([TEXT])
    np.testing.assert_allclose(acts["encoder.1.hidden"].mean(1).detach(), vector, atol=1e-5)
    store = tp.extract(encoder, [TEXT], "encoder.-1.hidden", tmp_path / "store", pool="mean")
    np.testing.assert_allclose(store.read("encoder.1.hidden"), vector, atol=1e-5)


@pytest.mark.parametrize("model", [torch.nn.Linear(2, 2), torch.nn.Sequential()])
def test_a_module_of_no_library_is_one_line(model):
    with pytest.raises(tp.InputError, match=r"is of no library that has an adapter .*tp\.attach"):
        tp.load_model(model)


@pytest.mark.filterwarnings("ignore")
def test_prompt_tuning_is_one_line(folder):
    peft = pytest.importorskip("peft", reason="peft is not installed")
    module, _ = load(folder)
    options = peft.PromptTuningConfig(task_type="CAUSAL_LM", num_virtual_tokens=2)
    with pytest.raises(tp.InputError, match="before every text"):
        tp.sites(peft.get_peft_model(module, options))
