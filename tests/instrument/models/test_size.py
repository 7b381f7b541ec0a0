"""Models of any size: on disk, in their own dtype, read up to the last site; the permuted baseline without a copy."""

from pathlib import Path
from typing import Any

import pytest
import torch
from planted.foreign import save_foreign
from planted.stores import read_files

import tprprobe as tp
from tprprobe.cli.overview import inspect
from tprprobe.console import size_text
from tprprobe.errors import InputError
from tprprobe.extraction.forecasts import forecast
from tprprobe.models import permutation
from tprprobe.models.architectures import fingerprint
from tprprobe.models.permutation import permuted

TEXTS = ["the dog sees cats .", "a cat sees the dogs .", "dogs see a cat"]
SITES = ["*.hidden", "*.attention"]


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("models")
    return {
        name: save_foreign(name, root / name, head=head)
        for name, head in (("llama", "causal"), ("bert", None), ("t5", None))
    }


def states_of(model: Any, sites: Any = SITES) -> dict[str, torch.Tensor]:
    source = torch.arange(4, 16, device=model.device).reshape(2, 6)
    with tp.capture(model, sites) as states, torch.no_grad():
        model.run(source, source[:, :4])
    return dict(states)


@pytest.mark.parametrize("kind", ["llama", "bert", "t5"])
def test_a_model_on_disk_makes_the_store_of_one_in_memory_with_its_control(
    folders, kind, tmp_path, capfd
):
    stores = {}
    for place in (None, "disk"):
        model = tp.load_model(f"hf:{folders[kind]}", device_map=place)
        stores[place] = tp.extract(model, TEXTS, SITES, tmp_path / str(place), twins=["permuted"])
    assert any(weights.is_meta for weights in model.parameters())
    assert read_files(tmp_path / "disk") == read_files(tmp_path / "None")
    assert (tmp_path / "disk" / "permuted" / "manifest.json").is_file()


@pytest.mark.parametrize("small", [permutation.SMALL, 0])
def test_weights_are_permuted_in_place_and_put_back(folders, small, monkeypatch):
    monkeypatch.setattr(permutation, "SMALL", small)
    monkeypatch.setattr(permutation, "GROUP", 4)
    model, twin = (tp.load_model(f"{kind}hf:{folders['llama']}") for kind in ("", "permuted:"))
    on_disk = tp.load_model(f"permuted:hf:{folders['llama']}", device_map="disk")
    before = {name: weights.clone() for name, weights in model.state_dict().items()}
    with permuted(model):
        assert model.name == twin.name
        assert fingerprint(model) == fingerprint(twin) == fingerprint(on_disk)
        for name, weights in model.named_parameters():
            assert torch.equal(weights.flatten().sort()[0], before[name].flatten().sort()[0])
            assert weights.ndim < 2 or not torch.equal(weights, before[name])
        states, twin_states, disk_states = map(states_of, (model, twin, on_disk))
    assert all(torch.equal(states[name], twin_states[name]) for name in twin_states)
    assert all(torch.equal(disk_states[name], twin_states[name]) for name in twin_states)
    assert all(torch.equal(weights, before[name]) for name, weights in model.state_dict().items())


def test_a_pass_ends_behind_the_last_layer_that_is_read(folders):
    model = tp.load_model(f"hf:{folders['llama']}")
    all_states, layers, ran = states_of(model, "*.hidden"), model.module.base_model.layers, []
    for number, layer in enumerate(layers):
        layer.register_forward_pre_hook(lambda *_, number=number: ran.append(number))
    source = torch.arange(4, 16).reshape(2, 6)
    for site, expected in (("layers.0.mlp", [0]), ("layers.1.mlp", [0, 1])):
        ran.clear()
        with tp.capture(model, [site, "layers.0.hidden"]) as states, torch.no_grad():
            model.run(source, source[:, :1])
        assert ran == expected
        assert torch.equal(states["layers.0.hidden"], all_states["layers.0.hidden"])


def test_states_of_what_a_causal_model_writes_are_stored(folders, tmp_path):
    model = tp.load_model(f"hf:{folders['llama']}")
    store = tp.extract(
        model, TEXTS, ["*.hidden"], tmp_path / "store", target="generated", max_new_tokens=5
    )
    ids_read = [model.read(text)[0].tolist() for text in TEXTS]
    start, ends = 0, {*model.config.ends}
    for sample, ids in enumerate(ids_read):
        answer = model.generate(torch.tensor([ids]), 5)[0].tolist()
        answer = answer[: next((i + 1 for i, symbol in enumerate(answer) if symbol in ends), 5)]
        is_sample = (store.tokens["side"] == "source") & (store.tokens["sample"] == sample)
        tokens = store.tokens[is_sample]
        assert tokens["id"].tolist() == ids + answer
        assert tokens["written"].tolist() == [False] * len(ids) + [True] * len(answer)
        assert (tokens.loc[tokens["written"], "word"] < 0).all()
        with tp.capture(model, "layers.1.hidden") as states, torch.no_grad():
            model.run(torch.tensor([ids + answer]), torch.zeros(1, 1).long())
        stored = torch.tensor(store.read("layers.1.hidden")[start : start + len(tokens)])
        torch.testing.assert_close(stored, states["layers.1.hidden"][0], atol=1e-5, rtol=1e-4)
        start += len(tokens)
    assert (tmp_path / "store" / "permuted" / "manifest.json").is_file()
    masked = tp.load_model(f"hf:{save_foreign('bert', tmp_path / 'bert', head='masked')}")
    with pytest.raises(InputError, match="fills masks and writes nothing"):
        tp.extract(masked, TEXTS, out=tmp_path / "none", target="generated")


def test_weights_keep_the_type_of_the_checkpoint(folders, tmp_path, capsys):
    import transformers

    folder = save_foreign("llama", tmp_path / "llama")
    transformers.AutoModel.from_pretrained(folder, dtype=torch.bfloat16).save_pretrained(folder)
    capsys.readouterr()
    model = tp.load_model(f"hf:{folder}")
    assert {weights.dtype for weights in model.parameters()} == {torch.bfloat16}
    assert "weights in bfloat16, the checkpoint's" in capsys.readouterr().err
    assert not model.needs_equal_lengths
    wide = tp.load_model(f"hf:{folder}", dtype="float32")
    assert {weights.dtype for weights in wide.parameters()} == {torch.float32}
    assert "weights in" not in capsys.readouterr().err


def test_places_that_cannot_be_are_one_line(folders, tmp_path):
    name = f"hf:{folders['llama']}"
    for options, error in (
        ({"device_map": "shelf"}, "unknown device map 'shelf'.*disk"),
        ({"max_memory": ["cpu=1GiB"]}, "give device_map"),
        ({"max_memory": ["1GiB"], "device_map": "auto"}, "DEVICE=SIZE"),
        ({"quantization": "3bit"}, "unknown quantization '3bit'.*4bit"),
    ):
        with pytest.raises(InputError, match=error):
            tp.load_model(name, **options)
    with pytest.raises(InputError, match="are of trained models of transformers"):
        tp.load_model("tpt-c-arithmetic", device_map="disk")
    with pytest.raises(InputError, match="are of trained models of transformers"):
        tp.load_model(f"untrained:{name}", device_map="disk")
    device_map = tmp_path / "map.json"
    device_map.write_text('{"model": "disk", "lm_head": "cpu"}')
    assert states_of(tp.load_model(name, device_map=str(device_map)))


def test_an_extraction_takes_what_the_forecast_says(folders, tmp_path, capsys):
    model = tp.load_model(f"hf:{folders['bert']}")
    expected = forecast(model, TEXTS * 50, ["*.hidden", "*.attention"])
    capsys.readouterr()
    store = tp.extract(model, TEXTS * 50, ["*.hidden", "*.attention"], tmp_path / "store")
    message = f"(float32): 4 sites of 150 samples, about {size_text(expected.bytes)}; attention maps: of the first 128 samples"
    assert message in " ".join(capsys.readouterr().err.split())
    assert inspect(str(tmp_path / "store")).facts["attention maps"] == "of the first 128 samples"
    summary = store.summary.set_index("site")
    for _, row in expected.sites.iterrows():
        assert row["bytes"] == pytest.approx(summary.loc[row["site"], "bytes"], rel=0.01)
    assert (expected.passes, expected.controls) == (300, {"permuted": 150})
    assert min(expected.seconds, expected.memory) > 0
    sites = [row["site"] for row in expected.as_dict()["sites"]]
    assert sites == store.sites
    assert all(site in expected.as_text() for site in sites)
    pooled = forecast(model, TEXTS, control=False, pool="mean", store_dtype="bfloat16")
    assert [*pooled.sites["site"]] == ["encoder.embedding", "encoder.0.hidden", "encoder.1.hidden"]
    assert pooled.bytes == 3 * 3 * 16 * 2


def test_batches_by_tokens_hold_no_more_than_asked_for(folders, tmp_path):
    model, texts = tp.load_model(f"hf:{folders['bert']}"), [*TEXTS, "the dog"] * 4
    sizes: list[int] = []
    model.module.register_forward_pre_hook(
        lambda _m, _a, arguments: sizes.append(arguments["input_ids"].numel()), with_kwargs=True
    )
    options: dict[str, Any] = {"sites": "*.hidden", "control": False}
    usual = tp.extract(model, texts, out=tmp_path / "usual", **options)
    sizes.clear()
    small_batches = tp.extract(model, texts, out=tmp_path / "few", batch_tokens=30, **options)
    assert len(sizes) > 2
    assert max(sizes) <= 30
    for site in usual.sites:
        torch.testing.assert_close(
            *(torch.tensor(store.read(site)) for store in (small_batches, usual))
        )
    with pytest.raises(InputError, match="a batch has 1 or more"):
        tp.extract(model, texts, out=tmp_path / "none", batch_tokens=0)
