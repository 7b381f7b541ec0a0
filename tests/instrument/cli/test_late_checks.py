"""Wrong options are refused before the weights of a model are read."""

import pytest
from planted.cli import run_command

import tprprobe as tp


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--pool", ""], "pool is empty"),
        (["--words", "meen"], "did you mean 'mean'"),
        (["--sites", "layers.*.hiden"], "did you mean 'layers.0.hidden'"),
        (["--sites", "encoder.999.hidden"], "unknown site"),
        (["--labels", "pos"], "give TASK=FILE"),
        (["--out", "texts"], "is not a store"),
    ],
)
def test_an_option_is_checked_before_the_model_is_read(options, message, tmp_path, monkeypatch):
    def refuse(*_, **__):
        raise AssertionError("the model was read")

    monkeypatch.setattr("tprprobe.models.load_model", refuse)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "a.txt").write_text("the dog sleeps\n")
    words = ["extract", "--ckpt", "hf:nowhere", "--data", "texts/a.txt", *options]
    with pytest.raises(tp.InputError, match=message):
        run_command(*words)
    assert {path.name for path in tmp_path.iterdir()} == {"texts"}


def test_a_module_that_takes_one_argument_is_one_line(tmp_path):
    import torch

    module = torch.nn.Sequential(torch.nn.Embedding(10, 8), torch.nn.Linear(8, 8))
    attached = tp.attach(module, {"encoder.0.hidden": "1"})
    with pytest.raises(tp.InputError, match="forward=lambda module, batch"):
        tp.extract(attached, ["1 2"], out=tmp_path / "s", vocabulary=[[1, 2]], control=False)
