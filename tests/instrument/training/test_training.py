"""Training: what one step is, exact resumption, several processes, logs, refusals."""

import math
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from planted.recipes import arithmetic, figures, killed_at, same, state, weights
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.data.vocabularies.characters import characters
from tprprobe.errors import InputError
from tprprobe.models import build, load_model
from tprprobe.training import loop
from tprprobe.training.logs import COLUMNS, read_log
from tprprobe.training.loop import learning_rate, make_optimizers, train
from tprprobe.training.pools import Pool, load_pairs
from tprprobe.training.recipes import Mix, Recipe, Stage


@pytest.fixture(autouse=True)
def _often(monkeypatch):
    monkeypatch.setattr(loop, "REPORT_EVERY", 4)


@pytest.fixture(scope="module")
def recipe(questions) -> Callable[..., Recipe]:
    """Twelve steps of one mix and eight of another, evaluated and saved every fourth."""
    return partial(arithmetic, questions)


@pytest.fixture(scope="module")
def uninterrupted(recipe, tmp_path_factory) -> Callable[[str], Path]:
    """The folder of an uninterrupted run by the settings of a name; each is trained once."""

    @cache
    def run(name: str) -> Path:
        out = tmp_path_factory.mktemp("whole") / name
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(loop, "REPORT_EVERY", 4)
            train(recipe(**SETTINGS[name]), out)
        return out

    return run


SETTINGS: dict[str, dict[str, Any]] = {
    "adam": {},
    "muon": {"optimizer": {"name": "muon", "weight_decay": 0.1}},
    "dropout": {"model": {"dropout": 0.3}, "optimizer": {"name": "adamw"}},
    "bf16": {"precision": "bf16", "optimizer": {"name": "muon"}},
    "lstm": {"model": {"architecture": "lstm", "d_model": 8}},
    "tpt": {
        "model": {
            "architecture": "tpt",
            "d_model": 16,
            "n_heads": 2,
            "d_head": 8,
            "n_layers": 1,
            "d_ff": 16,
            "n_roles": 4,
        },
        "subwords": {"size": 290, "texts": 40, "max_source": 14, "max_target": 4},
        "label_smoothing": 0.1,
        "optimizer": {"name": "adafactor", "clip": 1.0},
    },
}


@pytest.mark.parametrize(
    ("case", "step"),
    [
        ("adam", 12),
        ("adam", 18),
        ("muon", 13),
        ("dropout", 7),
        ("bf16", 9),
        ("tpt", 13),
    ],
)
def test_a_killed_run_goes_on_to_the_run_that_was_not_killed(
    case, step, recipe, uninterrupted, tmp_path, monkeypatch
):
    """Bit for bit: the checkpoint, the log and the state, across the stages' boundary."""
    settings, resumed = recipe(**SETTINGS[case]), tmp_path / "killed"
    killed_at(step, monkeypatch, settings, resumed)
    assert not (resumed / "model").exists()
    train(settings, resumed, resume=True)
    assert same(weights(resumed / "model"), weights(uninterrupted(case) / "model"))
    assert figures(resumed) == figures(uninterrupted(case))
    resumed_state, expected = state(resumed), state(uninterrupted(case))
    assert same(resumed_state.pop("seconds") > 0, expected.pop("seconds") > 0)
    assert same(resumed_state, expected)


@pytest.mark.parametrize("step", [6, 10])
def test_a_run_stops_where_its_score_no_longer_gets_better_also_after_it_was_killed(
    step, recipe, tmp_path, monkeypatch, capsys
):
    still = recipe().stages[0].model_copy(update={"learning_rate": 1e-9, "steps": 30})
    settings = recipe(stages=[still], patience=2)
    train(settings, tmp_path / "whole")
    assert state(tmp_path / "whole")["step"] == 12  # the first score, and two that are no better
    printed = capsys.readouterr().err
    assert "step 4 of 30: loss" in printed
    assert "stopped after 12 of 30 steps" in printed
    killed_at(step, monkeypatch, settings, tmp_path / "killed")
    train(settings, tmp_path / "killed", resume=True)
    assert same(weights(tmp_path / "killed" / "model"), weights(tmp_path / "whole" / "model"))
    assert figures(tmp_path / "killed") == figures(tmp_path / "whole")


@pytest.mark.parametrize("step", [6, 10])
def test_the_model_of_the_best_score_is_kept_also_after_the_run_was_killed(
    step, recipe, tmp_path, monkeypatch
):
    losses = iter([3.0, 2.0, 2.5, 2.6])  # at steps 4, 8, 12 and 16
    monkeypatch.setattr(loop, "held_out_loss", lambda *_: next(losses))
    monkeypatch.setattr(loop, "exact_matches", lambda *_: [torch.zeros(2)])
    settings = recipe(patience=2, keep_every=4)
    killed_at(step, monkeypatch, settings, tmp_path)
    train(settings, tmp_path, resume=True)
    assert state(tmp_path)["step"] == 16
    assert same(weights(tmp_path / "model"), weights(tmp_path / "steps" / "8"))
    assert not (tmp_path / "best.pt").exists()


def test_the_recipe_alone_decides_the_model(recipe, tmp_path):
    """The same again whatever the global generator; another one for another seed."""
    for name, seed, elsewhere in (("a", 0, 1), ("b", 0, 2), ("c", 1, 2)):
        torch.manual_seed(elsewhere)
        train(recipe(model={"dropout": 0.2}, seed=seed, evaluate=[]), tmp_path / name)
    a, b, c = (weights(tmp_path / name / "model") for name in "abc")
    assert same(a, b)
    assert not same(a, c)


def test_a_step_is_the_papers(recipe, questions, tmp_path):
    """Mean cross-entropy a symbol, gradient norm clipped to 0.1, Adam, all written out for a step."""
    settings = recipe(stages=[{**recipe().stages[0].model_dump(), "steps": 1, "warmup": 0}])
    train(settings, tmp_path / "run")
    vocabulary, model = characters(), build(settings.model, seed=0)
    data = load_data(f"{questions}:arithmetic__add_or_sub", split="train-easy")
    pairs = encode_pairs(data, vocabulary)
    pool = Pool.load(settings.stages[0].mix, vocabulary, torch.device("cpu"))
    source, target = pairs.batch(next(pool.batches(6, 0, 0)), vocabulary.pad)
    logs = model(source, target[:, :-1]).log_softmax(-1)
    real = target[:, 1:] != vocabulary.pad
    loss = -logs.gather(-1, target[:, 1:, None])[..., 0][real].mean()
    loss.backward()
    norm = torch.stack([p.grad.norm() for p in model.parameters() if p.grad is not None]).norm()
    assert norm > 0.1
    trained = weights(tmp_path / "run" / "model")
    for name, parameter in model.named_parameters():
        gradient = parameter.grad * (0.1 / norm)
        step = 0.01 * gradient / (gradient.abs() + 1e-8)  # Adam's first: m / √v is the sign
        large = gradient.abs() > 1e-6
        moved = parameter.detach() - trained[name]
        torch.testing.assert_close(moved[large], step[large], rtol=1e-3, atol=1e-6)
    logged = {row["metric"]: float(row["value"]) for row in read_log(tmp_path / "run")}
    assert logged["loss"] == pytest.approx(loss.item(), abs=1e-4)


def test_the_log_is_a_table_and_a_board(recipe, uninterrupted, questions):
    out = uninterrupted("adam")
    assert (out / "log.csv").read_text().splitlines()[0] == ",".join(COLUMNS)
    rows = read_log(out)
    steps = [int(row["step"]) for row in rows if row["metric"] == "loss"]
    assert steps == [4, 8, 12, 16, 20]
    rates = [float(row["value"]) for row in rows if row["metric"] == "learning_rate"]
    assert rates[:3] == pytest.approx([0.01] * 3)
    assert rates[-1] == pytest.approx(learning_rate(recipe().stages[1], 7))
    watched = [row for row in rows if row["metric"] == "exact_match"]
    assert {(row["data"], row["split"]) for row in watched} == {
        (f"{questions}:arithmetic__mixed", "interpolate")
    }
    assert [row["examples"] for row in watched] == [str(6 * step) for step in steps]
    assert all(float(row["seconds"]) >= 0 for row in rows)
    board = EventAccumulator(str(out / "tensorboard")).Reload()
    assert [event.step for event in board.Scalars("loss")] == steps
    assert len(board.Tags()["scalars"]) == 4


def test_checkpoints_along_a_training_are_its_weights_at_these_steps(
    recipe, uninterrupted, tmp_path, monkeypatch
):
    """Also of a run that was cut off between two saves, and that did not keep any at first."""
    out, keeping = tmp_path / "run", recipe(keep_every=8, save_every=12)
    killed_at(11, monkeypatch, keeping, out)
    assert [path.name for path in (out / "steps").iterdir()] == ["8"]
    train(keeping, out, resume=True)
    assert {path.name for path in (out / "steps").iterdir()} == {"8", "16"}
    assert same(weights(out / "model"), weights(uninterrupted("adam") / "model"))
    killed_at(9, monkeypatch, recipe(), tmp_path / "late")
    assert same(weights(out / "steps" / "8"), state(tmp_path / "late")["model"])
    train(recipe(keep_every=8), tmp_path / "late", resume=True)
    assert [path.name for path in (tmp_path / "late" / "steps").iterdir()] == ["16"]
    assert same(weights(tmp_path / "late" / "steps" / "16"), weights(out / "steps" / "16"))


@pytest.mark.parametrize("case", ["adam", "muon", "lstm", "tpt"])
def test_optimizers_have_every_weight_once(case, recipe):
    settings = recipe(**SETTINGS[case])
    model = build(settings.model)
    optimizers = make_optimizers(model, settings.optimizer)
    parameters = [p for o, _ in optimizers for group in o.param_groups for p in group["params"]]
    assert len(parameters) == len({id(p) for p in parameters})
    assert {id(p) for p in parameters} == {id(p) for p in model.parameters()}
    assert [share for _, share in optimizers] == ([1.0, 0.3] if case == "muon" else [1.0])


def test_learning_rates():
    def rates(**options: Any) -> list[float]:
        stage = Stage(steps=11, learning_rate=1.0, mix=[Mix(data="x")], **options)
        return [learning_rate(stage, step) for step in range(11)]

    assert rates() == [1.0] * 11
    assert rates(warmup=4) == pytest.approx([0.2, 0.4, 0.6, 0.8] + [1.0] * 7)
    cosine = rates(decay="cosine")
    assert cosine == sorted(cosine, reverse=True)
    assert cosine[0] == 1.0
    assert rates(decay="adafactor") == [1e-2] * 11
    long = Stage(steps=50_000, learning_rate=0.5, decay="adafactor", mix=[Mix(data="x")])
    assert learning_rate(long, 44_999) == pytest.approx(0.5 * 25_000**-0.5)
    for step, rate in enumerate(cosine):
        assert rate == pytest.approx(0.1 + 0.45 * (1 + math.cos(math.pi * step / 11)))


def test_a_pool_repeats_its_mix_and_goes_on_anywhere(questions):
    mixes = [
        Mix(data=f"{questions}:arithmetic__add_or_sub", split="train-easy", n=5),
        Mix(data=f"{questions}:arithmetic__mixed", split="train-easy", n=4, repeat=3),
    ]
    pool = Pool.load(mixes, characters(), torch.device("cpu"))
    assert sorted(pool.indices.tolist()) == sorted([*range(5), *[5, 6, 7, 8] * 3])
    texts = [
        characters().decode(pool.pairs.source.padded(torch.tensor([i]), 1)[0].tolist())
        for i in range(9)
    ]
    assert texts[0] == "What is 0 plus 0?"
    assert texts[5] == "Let 0*0."
    batches = pool.batches(4, seed=7, start=0)
    drawn_batches = [next(batches).tolist() for _ in range(12)]
    assert sorted(i for batch in drawn_batches[:5] for i in batch) == sorted(pool.indices.tolist())
    assert drawn_batches[:5] != drawn_batches[5:10]
    for start in (1, 4, 5, 9):
        assert next(pool.batches(4, seed=7, start=start)).tolist() == drawn_batches[start]


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ({"d_modle": 8}, "did you mean 'd_model'"),
        ({"vocab_size": 40}, "has vocab_size 73, the model 40"),
        ({"pad": 0}, "has pad 1, the model 0"),
        ({"max_length": 10}, "this model has max_length 10"),
    ],
)
def test_models_that_cannot_read_the_data_are_refused(model, message, recipe, tmp_path):
    with pytest.raises(InputError, match=message):
        train(recipe(model=model), tmp_path / "run")
    assert not (tmp_path / "run" / "model").exists()


def test_folders_of_other_runs_are_refused_and_kept(recipe, tmp_path, monkeypatch):
    settings, out = recipe(), tmp_path / "run"
    killed_at(9, monkeypatch, settings, out)
    before = (out / "state.pt").read_bytes()
    with pytest.raises(InputError, match="unfinished run: --resume continues it"):
        train(settings, out)
    with pytest.raises(InputError, match="of another recipe"):
        train(recipe(batch_size=7), out, resume=True)
    with pytest.raises(InputError, match=r"training in .* is not finished: .* --resume"):
        load_model(out)
    assert (out / "state.pt").read_bytes() == before
    train(settings, out, resume=True)
    weights = out / "model" / "model.safetensors"
    modified = weights.stat().st_mtime_ns
    train(settings, out, resume=True)  # nothing is left to do
    assert weights.stat().st_mtime_ns == modified
    with pytest.raises(InputError, match="finished run: give another --out"):
        train(settings, out)
    with pytest.raises(InputError, match="of another recipe"):
        train(recipe(batch_size=7), out, resume=True)


@pytest.mark.parametrize("n_bytes", [0, 5000])
def test_a_damaged_state_is_refused(n_bytes, recipe, tmp_path, monkeypatch):
    killed_at(9, monkeypatch, recipe(), tmp_path / "run")
    path = tmp_path / "run" / "state.pt"
    path.write_bytes(path.read_bytes()[:n_bytes])
    with pytest.raises(InputError, match=r"state\.pt is damaged"):
        train(recipe(), tmp_path / "run", resume=True)


def test_data_and_devices_that_are_not_there_are_refused(recipe, tmp_path):
    stage = recipe().stages[0].model_dump()
    nowhere = {**stage, "mix": [{"data": "mathematics:arithmetic__mixd"}]}
    with pytest.raises(InputError, match="did you mean 'arithmetic__mixed'"):
        train(recipe(stages=[nowhere]), tmp_path / "run")
    with pytest.raises(InputError, match="no device 'cuda:9'"):
        train(recipe(), tmp_path / "run", device="cuda:9")
    assert not (tmp_path / "run" / "model").exists()


def test_jiangs_recipe_trains_on_sub_words(recipe, tmp_path):
    """Its loss is KL with smoothed labels, that of held-out data plain; tokens are counted."""
    settings = recipe(**SETTINGS["tpt"], stages=recipe().stages[:1], batch_size=10)
    folder = train(settings, tmp_path / "run")
    model: Any = load_model(folder)
    assert len(model.vocabulary) == model.config.vocab_size == 290
    assert model.vocabulary.most == (14, 4)
    pool = Pool.load(settings.stages[0].mix, model.vocabulary, torch.device("cpu"))
    rows = read_log(tmp_path / "run")
    epoch = pool.pairs.tokens(torch.arange(len(pool.pairs)))
    assert int(rows[-1]["tokens"]) == 3 * epoch  # 12 steps of 10 are 3 epochs of 40
    assert rows[-1]["metric"] == "held_out_loss"
    held_out = load_pairs(settings.evaluate[0], model.vocabulary)
    source, target = held_out.batch(torch.arange(len(held_out)), model.config.pad)
    with torch.no_grad():
        logits = model(source, target[:, :-1])
    expected = F.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=0)
    assert float(rows[-1]["value"]) == pytest.approx(float(expected), abs=1e-4)
