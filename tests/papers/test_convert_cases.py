"""Every setting of the published models gives what their equations, written out, gave of the same random weights.

`tests/golden/published.json` has the tensors' names and shapes, and of the logits and of every vector its product with a random
direction, from transcriptions of the authors' code.
"""

import pytest
import torch
from planted.networks import digest
from planted.publishedfiles import CASES, CONFIG, random_state
from torch import Tensor

from tprpapers.equations import binding_contract
from tprprobe.models import load_model
from tprprobe.models.convert import convert
from tprprobe.site.hooks import capture

JIANG = [case for case in CASES if case["family"] == "jiang"]
SCHLAG = [case for case in CASES if case["family"] == "schlag"]


def draw_batch(seed: int, vocab: int, pad: int, start: int) -> tuple[Tensor, Tensor]:
    """Ids of both sides, padded in the first row."""
    generator = torch.Generator().manual_seed(seed)
    source = torch.randint(2, vocab, (3, 20), generator=generator)
    target = torch.randint(2, vocab, (3, 12), generator=generator)
    source[0, 13:], target[0, 9:] = pad, pad
    target[:, 0] = start
    return source, target


def check(tensor: Tensor, golden: float, name: str) -> None:
    assert digest(tensor) == pytest.approx(golden, abs=1e-5), name


def load(path, checkpoint, config):
    """The model in double precision: norms of what cancels would enlarge the rounding of single."""
    torch.save(checkpoint, path / "checkpoint.pt")
    return load_model(convert(path / "checkpoint.pt", path / "out", config=config)).double()


@torch.no_grad()
def check_case(model, batch, case):
    """Logits with and without reading, every vector of the equations, and the binding contract."""
    check(model(*batch), case["logits"], "logits")
    with capture(model, "*") as captured:
        check(model(*batch), case["logits"], "logits, all sites read")
    for site, golden in case["vectors"].items():
        check(captured[site], golden, site)
    suffixes = (".role_weights", ".role", ".binding", ".tpr")
    bound = {site for site in captured if site.endswith(suffixes)}
    assert bound <= set(case["vectors"])
    report = binding_contract(model, batch)
    assert set(report["site"]) == bound
    assert (report["deviation"] <= 2e-5 * report["scale"].clip(lower=1.0)).all()


@torch.no_grad()
def step_through(model, source: Tensor, target: Tensor) -> Tensor:
    """The logits, one position after another through the cache."""
    memory, cache, logits = model.encode(source), None, []
    for t in range(target.shape[1]):
        step, cache = model.decode(target[:, t : t + 1], memory, cache)
        logits.append(step)
    return torch.cat(logits, 1)


@pytest.mark.parametrize("number", range(len(JIANG)))
def test_any_setting_of_jiang(tmp_path, number):
    case = JIANG[number]
    config = CONFIG | case["config"]
    state = {f"model.{name}": tensor for name, tensor in random_state(case, number).items()}
    model = load(tmp_path, {"state_dict": state}, config)
    batch = draw_batch(number, config["vocab_size"], 0, 0)
    check_case(model, batch, case)
    inside = config["use_tp_dec"] and not config["roles_after_residual"]
    if not (inside and config["role_weights_input"] in ("query", "v_bar_2")):  # those look ahead
        check(step_through(model, *batch), case["logits"], "through the cache")


@pytest.mark.parametrize("number", range(len(SCHLAG)))
def test_any_size_of_schlag(tmp_path, number):
    case = SCHLAG[number]
    state = {f"module.{name}": tensor for name, tensor in random_state(case, number).items()}
    model = load(tmp_path, {"model": state, "global_step": 7}, case["config"])
    vocab = case["shapes"]["embedding.tok_embedding.weight"][0]
    check_case(model, draw_batch(number, vocab, 1, 2), case)
