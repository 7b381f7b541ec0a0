"""What the README promises of models, with the packages that its install line brings: `make installed` runs this file in an
environment without `dev`.
"""

import io
import json

from planted.foreign import TEXT, save_gguf

import tprprobe as tp


def test_a_gguf_file_opens(tmp_path):
    save_gguf(tmp_path / "tiny")
    model = tp.load_model(f"hf:{tmp_path / 'tiny' / 'tiny.gguf'}")
    assert "layers.1.hidden" in tp.sites(model)["site"].tolist()


def test_a_tokenizer_of_sentencepiece_opens(tmp_path):
    import sentencepiece
    import transformers

    stream = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 10), model_writer=stream, vocab_size=40, hard_vocab_limit=False,
        pad_id=0, eos_id=1, unk_id=2, bos_id=-1, minloglevel=2,
    )  # fmt: skip
    (tmp_path / "spiece.model").write_bytes(stream.getvalue())
    names = {"tokenizer_class": "T5Tokenizer", "extra_ids": 0}
    (tmp_path / "tokenizer_config.json").write_text(json.dumps(names))
    sizes = {"d_model": 16, "d_kv": 8, "num_heads": 2, "num_layers": 2, "d_ff": 24}
    settings = transformers.T5Config(vocab_size=40, decoder_start_token_id=0, **sizes)
    transformers.T5ForConditionalGeneration(settings).save_pretrained(tmp_path)
    model = tp.load_model(f"hf:{tmp_path}")
    ids = model.vocabulary.encode("the dog sees")
    assert model.vocabulary.decode(ids) == "the dog sees"


def test_tables_and_the_dashboard_are_there():
    import datasets
    import plotly
    import streamlit
    import tensorboard

    assert all(package.__name__ for package in (datasets, plotly, streamlit, tensorboard))
