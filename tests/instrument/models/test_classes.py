"""Folders say more than sizes: the class, the texts' length and pooling, the layers that are there."""

import json
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from planted.foreign import TEXT, save_tokenizer

import tprprobe as tp
from tprprobe.errors import InputError
from tprprobe.models import load_model
from tprprobe.models.huggingface.pretrained import attach_layers

pytestmark = pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")

SHORT, LONG = "dogs see cats", "dogs see a cat and the cats see the dog and a cat sees dogs ."
SIZES = {
    "hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24,
    "max_position_embeddings": 64, "d_model": 16, "d_kv": 8, "num_heads": 2, "num_layers": 2, "d_ff": 24,
    "encoder_layers": 2, "decoder_layers": 2, "encoder_ffn_dim": 24, "decoder_ffn_dim": 24,
    "encoder_attention_heads": 2, "decoder_attention_heads": 2, "embedding_size": 16,
}  # fmt: skip
IDS = {"pad_token_id": 0, "bos_token_id": 2, "eos_token_id": 3, "decoder_start_token_id": 2}
SITES = {f"self.{kind}" for kind in ("input", "query", "key", "value", "attention", "filler")}


def _save_tokenizer(folder) -> int:
    """A tokenizer that writes start and end symbols itself; the number of its symbols."""
    from tokenizers import Tokenizer, processors

    symbols = save_tokenizer("wordpiece", folder, [*TEXT, SHORT, LONG])
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.post_processor = processors.TemplateProcessing(
        single="<s> $A </s>", special_tokens=[("<s>", 2), ("</s>", 3)]
    )
    tokenizer.save(str(folder / "tokenizer.json"))
    return symbols


def save(folder, name: str, louder: float = 2, **options: Any) -> Any:
    """The folder of a tiny random model of a class of transformers, with a tokenizer; the model."""
    symbols = _save_tokenizer(folder)
    kind = getattr(transformers, name)
    default = kind.config_class()
    sizes = {k: v for k, v in SIZES.items() if hasattr(default, k)}
    config = kind.config_class(**{**sizes, **IDS, **options, "vocab_size": symbols})
    with torch.random.fork_rng():
        torch.manual_seed(1)
        module = kind._from_config(config).eval()
    for weights in module.parameters():
        if weights.ndim > 1:
            weights.data.mul_(louder)
    module.save_pretrained(folder)
    return module


@pytest.mark.parametrize(
    "name",
    ["FNetModel", "ConvBertModel", "NystromformerModel", "YosoModel", "BertModel", "MPNetModel"],
)  # fmt: skip
def test_states_are_those_of_a_text_alone(tmp_path, name, capsys):
    """Whatever else is in its batch; a line says where batches have texts of one length."""
    save(tmp_path / "m", name)
    model = load_model(f"hf:{tmp_path / 'm'}")
    message = capsys.readouterr().err
    assert model.needs_equal_lengths == ("texts of one length" in message.replace("\n", " "))
    assert model.needs_equal_lengths == (name not in ("BertModel", "MPNetModel"))
    site = next(n for n in tp.sites(model)["site"] if n.endswith(".0.hidden"))
    together = tp.extract(
        model, tp.load_data([SHORT, LONG]), site, tmp_path / "both", control=False
    )
    single = tp.extract(model, tp.load_data([SHORT]), site, tmp_path / "one", control=False)
    np.testing.assert_allclose(together.read(site)[: len(single.read(site))], single.read(site), atol=1e-5)  # fmt: skip


@pytest.mark.parametrize(
    ("name", "class_name", "stacks"),
    [
        ("BartModel", "BartModel", {"encoder", "decoder"}),
        ("T5Model", "T5Model", {"encoder", "decoder"}),
        ("T5EncoderModel", "T5EncoderModel", {"encoder"}),
        ("MT5EncoderModel", "MT5EncoderModel", {"encoder"}),
        ("BertForPreTraining", "BertForMaskedLM", {"encoder"}),
        ("ElectraForPreTraining", "ElectraModel", {"encoder"}),
        ("BertForTokenClassification", "BertModel", {"encoder"}),
        ("BertForMultipleChoice", "BertModel", {"encoder"}),
        ("DPRContextEncoder", "DPRContextEncoder", {"encoder"}),
        ("DPRQuestionEncoder", "DPRQuestionEncoder", {"encoder"}),
        ("BartForSequenceClassification", "BartModel", {"encoder", "decoder"}),
        ("BertGenerationDecoder", "BertGenerationDecoder", {"encoder"}),
    ],
)
def test_config_names_the_class(tmp_path, name, class_name, stacks):
    """A folder loads in the class that it names, or without a head of another task, with its own states."""
    saved = save(tmp_path / "m", name)
    model = load_model(f"hf:{tmp_path / 'm'}")
    module: Any = model.get_submodule("_foreign")
    assert type(module).__name__ == class_name
    sites = tp.sites(model)["site"]
    assert {site.split(".")[0] for site in sites} == stacks
    ids = torch.tensor([[2, 5, 6, 3]])
    with tp.capture(model, "encoder.1.hidden") as acts, torch.no_grad():
        model.run(ids, ids)
    reader = (
        saved.base_model.get_encoder() if model.two_stacks or "T5" in name else saved.base_model
    )
    if name.startswith("DPR"):
        reader = saved.base_model.bert_model
    with torch.no_grad():
        states = reader(input_ids=ids, output_hidden_states=True).hidden_states[2]
        state = acts["encoder.1.hidden"]
        if "T5" in name:
            state = module.get_encoder().final_layer_norm(state)
    torch.testing.assert_close(state, states, atol=1e-5, rtol=1e-5)


def pooled(folder, pooling: dict[str, Any], *module_names: str, length: int = 8) -> None:
    """A folder of sentence-transformers: its pooling, and Dense and Normalize behind it."""
    save(folder, "BertModel")
    kinds = ["Transformer", "Pooling", *module_names]
    modules = [
        {"idx": i, "name": str(i), "path": f"{i}_{kind}" if i else "", "type": f"sentence_transformers.models.{kind}"}
        for i, kind in enumerate(kinds)
    ]  # fmt: skip
    (folder / "modules.json").write_text(json.dumps(modules))
    settings = {"max_seq_length": length, "do_lower_case": False}
    (folder / "sentence_bert_config.json").write_text(json.dumps(settings))
    for module in modules[1:]:
        (folder / module["path"]).mkdir()
    (folder / "1_Pooling" / "config.json").write_text(
        json.dumps({"word_embedding_dimension": 16, **pooling})
    )
    if "Dense" in module_names:
        from safetensors.torch import save_file

        place = folder / f"{kinds.index('Dense')}_Dense"
        torch.manual_seed(0)
        save_file(
            {"linear.weight": torch.randn(6, 16), "linear.bias": torch.randn(6)},
            place / "model.safetensors",
        )
        dense_config = {
            "in_features": 16, "out_features": 6, "bias": True,
            "activation_function": "torch.nn.modules.activation.Tanh",
        }  # fmt: skip
        (place / "config.json").write_text(json.dumps(dense_config))


MODES = {
    "mean": {"pooling_mode_mean_tokens": True},
    "cls": {"pooling_mode_cls_token": True, "pooling_mode_mean_tokens": False},
    "max": {"pooling_mode_max_tokens": True, "pooling_mode_mean_tokens": False},
    "last": {"pooling_mode_lasttoken": True, "pooling_mode_mean_tokens": False},
    "weighted": {"pooling_mode_weightedmean_tokens": True, "pooling_mode_mean_tokens": False},
    "sqrt": {"pooling_mode_mean_sqrt_len_tokens": True, "pooling_mode_mean_tokens": False},
}


@pytest.mark.parametrize(
    ("mode", "module_names"),
    [*((mode, ("Normalize",)) for mode in MODES), ("mean", ("Dense", "Normalize")), ("cls", ())],
)
def test_the_vector_of_a_text_is_that_of_sentence_transformers(tmp_path, mode, module_names):
    library = pytest.importorskip("sentence_transformers")
    pooled(tmp_path / "m", MODES[mode], *module_names, length=32)
    model = load_model(f"hf:{tmp_path / 'm'}")
    store = tp.extract(model, tp.load_data([SHORT, LONG]), "encoding", tmp_path / "out", control=False)  # fmt: skip
    expected = library.SentenceTransformer(str(tmp_path / "m"), device="cpu").encode([SHORT, LONG])
    np.testing.assert_allclose(store.read("encoding"), expected, atol=1e-6)


def test_a_folder_of_sentence_transformers_cuts_texts_as_it_says(tmp_path, capsys):
    pooled(tmp_path / "m", MODES["mean"], "Normalize")
    model = load_model(f"hf:{tmp_path / 'm'}")
    assert model.vocabulary.limit == 8
    assert "texts of 8 tokens (max_seq_length" in capsys.readouterr().err.replace("\n", " ")
    (tmp_path / "m" / "1_Pooling" / "config.json").write_text('{"pooling_mode": "median"}')
    with pytest.raises(InputError, match="unknown pooling 'median': it is one of cls, max, mean"):
        load_model(f"hf:{tmp_path / 'm'}")


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("OpenAIGPTLMHeadModel", {}),
        ("BloomModel", {"n_head": 2, "n_layer": 2}),
        ("FalconModel", {"alibi": False}),
        ("MptModel", {"n_heads": 2, "n_layers": 2, "max_seq_len": 64}),
        ("GPTNeoXJapaneseModel", {}),
        ("XLMModel", {"n_heads": 2, "n_layers": 2, "emb_dim": 16}),
        ("XLNetModel", {"n_layer": 2, "n_head": 2, "d_inner": 24}),
        ("DebertaModel", {}),
    ],
)
def test_attentions_of_every_making_have_their_parts(tmp_path, name, options):
    """Fused projections, lists, sequences first: the parts are there, and an edit of each goes on."""
    drop = {"XLNetModel": ("num_hidden_layers", "max_position_embeddings")}.get(name, ())
    saved = {key: SIZES.pop(key) for key in drop}
    try:
        save(tmp_path / "m", name, louder=3, **options)
    finally:
        SIZES.update(saved)
    model = load_model(f"hf:{tmp_path / 'm'}")
    ids = torch.tensor([[2, 5, 6, 7, 3], [2, 8, 3, 0, 0]])
    stack = tp.sites(model)["site"].iloc[0].split(".")[0]
    with tp.capture(model, "*") as acts, torch.no_grad():
        model.run(ids, ids)
    layers = {site.split(".", 2)[1] for site in acts if site.endswith("hidden")}
    for layer in layers:
        assert {site.split(".", 2)[2] for site in acts if f".{layer}." in site} >= SITES
        maps, values, filler = (acts[f"{stack}.{layer}.self.{kind}"] for kind in ("attention", "value", "filler"))  # fmt: skip
        shared = filler.shape[2] // values.shape[2]
        summed = torch.einsum("bhqk,bkhd->bqhd", maps, values.repeat_interleave(shared, 2))
        torch.testing.assert_close(filler, summed, atol=1e-5, rtol=1e-5)
    for kind in ("query", "key", "value", "attention", "filler"):
        site, after = f"{stack}.0.self.{kind}", f"{stack}.0.hidden"
        with tp.intervene(model, {site: lambda x: x.flip(0)}), tp.capture(model, after) as edited:
            model.run(ids, ids)
        assert not torch.allclose(edited[after], acts[after], atol=1e-5), kind


def test_feed_forward_layers_in_chunks_pass_whole(tmp_path):
    unchunked = load_model(f"hf:{_saved(tmp_path / 'whole', 0)}")
    chunked = load_model(f"hf:{_saved(tmp_path / 'parts', 1)}")
    ids = torch.tensor([[2, 5, 6, 7, 3]])
    with tp.capture(unchunked, "*.mlp") as expected, tp.capture(chunked, "*.mlp") as outputs:
        unchunked.run(ids, ids)
        chunked.run(ids, ids)
    assert expected["encoder.0.mlp"].shape == (1, 5, 16)
    for site, values in expected.items():
        torch.testing.assert_close(outputs[site], values, atol=1e-6, rtol=1e-6)


def _saved(folder, chunk: int) -> Any:
    save(folder, "BertModel", chunk_size_feed_forward=chunk)
    return folder


def test_sites_that_no_pass_reaches_are_gone(tmp_path):
    """A layer that a model never calls has no sites."""
    save(tmp_path / "m", "BertModel")
    module = transformers.AutoModel.from_pretrained(tmp_path / "m")
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "m")
    layers = module.encoder.layer
    module.encoder.spare = torch.nn.ModuleList([type(layers[0])(module.config), *layers])
    model = attach_layers(module.eval(), tokenizer, "spare")
    with tp.capture(model, "*") as acts:
        model.run(torch.tensor([[2, 5, 3]]), torch.tensor([[2]]))
    assert set(acts) == set(tp.sites(model)["site"])
