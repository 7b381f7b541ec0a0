"""The unbinding swap on a tiny TPGN: what is exchanged is what is read, and both make words change places."""

import pandas as pd
import pytest
import torch
from planted.cli import run_command
from planted.recipes import captioning

from tprpapers.huang.unbinding.retrievals import NEAR, compare_steps, summarize_unbindings
from tprpapers.scoring.captions.toolkit import score_captions
from tprpapers.swaps.swap_recipes import SwapRecipe
from tprpapers.swaps.unbindings import swap_unbindings
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.figures import catalogue
from tprprobe.files.settings import parse
from tprprobe.models import build
from tprprobe.training.loop import train

SIZES = {"vocab_size": 12, "d_model": 4, "d_embedding": 5, "d_features": 6}


def test_words_change_places_where_both_are_exchanged():
    model = build({"architecture": "tpgn", **SIZES}, seed=3).eval()
    for parameter in model.parameters():
        parameter.data.mul_(6)
    generator = torch.Generator().manual_seed(0)
    source = torch.randn(60, 6, generator=generator)
    start = torch.full((60, 1), 2)
    target = torch.cat([start, torch.randint(4, 12, (60, 6), generator=generator)], 1)
    target[0, 1:] = 7  # no two different words
    predictions = model(source, target[:, :-1]).argmax(-1)
    rows = swap_unbindings(model, source, target)
    assert set(rows["caption"]) == set(range(1, 60))
    by_exchange = {name: table.reset_index() for name, table in rows.groupby("exchanged")}
    plain, both, exchanged = (by_exchange[name] for name in ("nothing", "both", "unbinding"))
    n = len(plain) // 2  # a pair stands twice: from either word
    captions, here, there = (
        torch.tensor(column.to_numpy())
        for column in (plain["caption"][:n], plain["position"][:n], plain["position"][n:])
    )
    is_right = predictions == target[:, 1:]
    assert both["other"][:n].tolist() == is_right[captions, there].tolist()
    assert plain["own"][:n].tolist() == is_right[captions, here].tolist()
    assert not exchanged[["own", "other"]].equals(plain[["own", "other"]])
    steps = (there - here).tolist()
    assert plain["steps"].tolist() == [*steps, *(-n_steps for n_steps in steps)]
    differences, ahead = compare_steps(rows), exchanged[exchanged["steps"] > 0]
    behind = exchanged[exchanged["steps"] < 0]
    gain = ahead["other"].mean() - behind["other"].mean()
    assert differences["minus words before"].value == pytest.approx(gain)
    gain = ahead["other"].mean() - ahead["own"].mean()
    assert differences["minus its own word"].value == pytest.approx(gain)
    table = summarize_unbindings(rows)
    counts = table[table["exchanged"] == "unbinding"].set_index("steps")["words"]
    assert counts["all"] == counts.drop("all").sum() == len(exchanged)
    assert counts["further before"] == (exchanged["steps"] < -NEAR).sum()
    table = table[table["steps"] == "all"].set_index("exchanged")
    assert table.loc["nothing", "own"] == plain["own"].mean()
    assert (table[["own", "other", "neither"]].sum(axis=1).round(6) == 1).all()


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    return train(captioning(), tmp_path_factory.mktemp("runs") / "run")


def test_the_command_swaps_in_the_models_own_captions(trained, tmp_path):
    recipe = tmp_path / "swap.toml"
    recipe.write_text('data = "scenes"\nn = 30\nswaps = ["unbinding"]\n')
    run_command("intervene", recipe, "--ckpt", trained, "--out", tmp_path / "out")
    summary = pd.read_csv(tmp_path / "out" / "unbindings.csv")
    plain = summary[(summary["exchanged"] == "nothing") & (summary["steps"] == "all")]
    assert plain["own"].tolist() == [1.0]  # what is read is what the model wrote
    table = catalogue.make("huang-swap", unbindings=[tmp_path / "out"])
    assert "huang-plan" not in table.caption  # verdicts are for the papers' report
    controls = table.cells["exchanged"].isin(["nothing", "u_t and Ŝ_t"])
    assert table.cells.loc[controls, "steps to the other"].tolist() == ["all", "all"]
    assert (~controls).sum() == summary["exchanged"].isin(["unbinding", "tpr"]).sum()


def test_captions_without_vectors_are_others_and_with_all_centers_the_same(trained, tmp_path):
    recipe = tmp_path / "sweep.toml"
    recipe.write_text(
        'data = "scenes"\nn = 20\nreference = 30\nsites = ["word.unbinding"]\n'
        'edits = ["zero", "snap"]\nclusters = [2, 5]\nstrengths = [0.0, 1.0]\n'
    )
    run_command("intervene", recipe, "--ckpt", trained, "--out", tmp_path / "out")
    summary = pd.read_csv(tmp_path / "out" / "substitutions.csv")
    assert summary["edit"].tolist() == ["none", "zero", "zero", *["snap"] * 4]
    still = summary[summary["strength"] == 0]
    assert (still[["agreement", "same"]] == 1).all().all()  # nothing was moved
    assert (still["change"] == 0).all()
    (zero,) = summary[(summary["edit"] == "zero") & (summary["strength"] == 1)].to_dict("records")
    captions = pd.read_parquet(tmp_path / "out" / "captions.parquet")
    unedited, zeroed = (
        captions[(captions["edit"] == edit) & (captions["strength"] == strength)]
        for edit, strength in (("none", 0), ("zero", 1))
    )
    assert zeroed["caption"].nunique() == 1  # f_t = 0: the bias alone is read
    assert zero["agreement"] == pytest.approx(zeroed["agreeing"].sum() / zeroed["tokens"].sum())
    assert zero["change"] == pytest.approx(zeroed["cider"].mean() - unedited["cider"].mean())
    images = load_data("scenes", n=20)
    scored = score_captions(unedited["caption"].tolist(), [image.captions for image in images])
    value = scored.table().set_index("metric").value["CIDEr-D"]
    assert summary["cider"].iloc[0] == pytest.approx(value)
    table = catalogue.make("huang-substitution", substitutions=[tmp_path / "out"])
    assert len(table.cells) == len(summary)


def test_whole_says_nothing_of_unbinding_vectors():
    with pytest.raises(InputError, match="whole changes nothing of unbinding vectors"):
        parse(SwapRecipe, {"swaps": ["unbinding"], "whole": True}, "recipe")
    with pytest.raises(InputError, match="unbinding"):
        parse(SwapRecipe, {"swaps": ["unbinding", "agent"]}, "recipe")
