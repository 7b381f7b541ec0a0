"""Training on pairs of one's own: what is chosen for a file, and the whole way from a file to a scored model."""

import json
import random
import re
import shlex
from pathlib import Path

import pytest
from planted.cli import run_command

from tprprobe.analyses.clustering import load_clusters
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.training.pair_recipes import RECIPE, choose_units, write_recipe
from tprprobe.training.pools import make_codec
from tprprobe.training.recipes import read_recipe


def _pairs(n: int, blank: str) -> list[str]:
    rng = random.Random(0)
    words = [[rng.choice("abcdef") for _ in range(rng.randint(3, 6))] for _ in range(n)]
    return [f"{blank.join(word)}\t{blank.join(reversed(word))}" for word in words]


@pytest.fixture
def pairs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["source\ttarget", *_pairs(400, " ")]) + "\n")
    return path.name


def test_units_fit_the_texts():
    assert choose_units([row for pair in _pairs(400, " ") for row in pair.split("\t")]) == "symbols"
    assert (
        choose_units([row for pair in _pairs(400, "") for row in pair.split("\t")]) == "characters"
    )
    assert (
        choose_units([f"report {n} says {n * n} at length " * 9 for n in range(2000)])
        == "sub-words"
    )


@pytest.mark.parametrize("blank", [" ", ""])
def test_recipe_of_a_file_is_read_again_and_fits_its_texts(tmp_path, blank):
    path = tmp_path / "pairs.tsv"
    path.write_text("\n".join(["source\ttarget", *_pairs(400, blank)]) + "\n")
    summary = write_recipe(str(path), tmp_path / "run" / RECIPE, seed=3)
    recipe = read_recipe(tmp_path / "run" / RECIPE)
    counts = [int(count) for count in re.findall(r"(\d+) pairs to", summary)]
    assert sum(counts) == 400
    assert recipe.seed == 3
    assert recipe.units == ("symbols" if blank else "characters")
    assert recipe.model["max_length"] > 6


def test_train_on_pairs_ends_with_a_score_and_the_next_command(pairs):
    options = ["--set", "stages.0.steps=4", "--set", "batch_size=8", "--set", "model.d_model=16"]
    result = run_command("train", "--data", pairs, "--out", "run", *options)
    assert "width 16, at most 4 steps of 8 pairs" in result.stderr, result.output
    line = re.search(
        r"exact match on \d+ test pairs: (.*); control, always the.*: (.*)", result.stderr
    )
    scored = run_command("eval", "--ckpt", "run/model", "--data", pairs)  # of them the test pairs
    assert scored.stdout == run_command("eval", "--ckpt", "run/model").stdout
    assert f"{line[1]}  control {line[2]}" in scored.stdout
    assert "wrong answers (the first 10 of" in scored.stdout
    assert scored.stdout.count("expected") == 10
    assert "next: tprprobe examine run/model --data pairs.tsv" in result.stderr
    run_command("train", "--data", pairs, "--out", "run", "--resume", *options)
    with pytest.raises(InputError):
        run_command("train", "--data", pairs, "--out", "run")
    again = run_command("train", "run/recipe.toml", "--out", "again", *options)  # as by --data
    assert line[0] in again.stderr
    assert (
        "next: tprprobe examine again/model --data pairs.tsv --out again/examined" in again.stderr
    )


def test_the_test_pairs_are_those_of_the_training_by_any_seed(pairs):
    write_recipe(pairs, Path("run.toml"), seed=3)
    recipe = Path("run.toml").read_text().replace("split =", "seed = 1, split =", 1)
    Path("run.toml").write_text(recipe)
    options = ["--set", "stages.0.steps=2", "--set", "model.d_model=16"]
    trained = run_command("train", "run.toml", "--out", "run", *options)
    count = f"n {len(load_data(pairs, split='test', seed=1))}\n"
    assert count.replace("n", "on", 1).strip() in trained.stderr
    for data in ([], ["--data", pairs], ["--data", pairs, "--seed", 2]):
        assert count in run_command("eval", "--ckpt", "run/model", *data).stdout


def test_the_page_of_a_trained_model_says_how_often_it_is_right(pairs):
    options = ["--set", "stages.0.steps=4", "--set", "batch_size=8", "--set", "model.d_model=16"]
    trained = run_command("train", "--data", pairs, "--out", "run", *options)
    run_command("examine", "run/model", "--data", pairs, "--out", "page", "--layers", 1, "--json")
    page = Path("page/report.html").read_text("utf-8")
    score = re.search(r"xact match on .*", trained.stderr)
    assert f"E{score[0]}." in page
    assert "<h1>run</h1>" in page
    sections = json.loads(Path("page/examination.json").read_text("utf-8"))["sections"]
    commands = {section["heading"]: section["deeper"] for section in sections}
    assert commands["How often is its answer right?"].startswith("tprprobe eval --ckpt run/model ")
    assert "output place" in "".join(section["text"] for section in sections)
    assert {"Where does its decoder look?", "What are its roles?"} <= set(commands)
    _, deeper, *options = shlex.split(commands["Which tokens does a late layer group?"])
    assert deeper == "name"
    run_command(deeper, *options, "--out", "names")
    run_command("cluster", *options, "--out", "clusters")
    shown, again = (load_clusters(folder)[0] for folder in ("page/clusters", "clusters"))
    assert (shown.labels == again.labels).all()


def test_texts_without_targets_are_refused(tmp_path):
    path = tmp_path / "texts.txt"
    path.write_text("\n".join(f"text number {n}" for n in range(200)))
    with pytest.raises(InputError, match="columns source and target"):
        write_recipe(str(path), tmp_path / RECIPE)


def test_a_refused_option_of_the_model_leaves_no_recipe(tmp_path):
    (tmp_path / "pairs.tsv").write_text("\n".join(["source\ttarget", *_pairs(100, "")]))
    with pytest.raises(InputError, match="did you mean 'd_model'"):
        write_recipe(
            str(tmp_path / "pairs.tsv"), tmp_path / "new" / RECIPE, overrides=["model.dmodel=8"]
        )
    assert not (tmp_path / "new").exists()


def test_a_recipe_or_data_not_both():
    for arguments in ([], ["recipe.toml", "--data", "pairs.tsv"]):
        with pytest.raises(InputError, match="one of the two"):
            run_command("train", *arguments)


def test_a_letter_that_only_a_tested_pair_has_is_of_the_vocabulary(tmp_path):
    path, lines = tmp_path / "pairs.tsv", ["source\ttarget", *_pairs(100, "")]
    path.write_text("\n".join(lines) + "\n")
    vocabularies = []
    for rare in ("zab", "zabc", "zabcd", "zabcde", "zba", "zbac", "zbad", "zbae", "zbaf", "zcd"):
        path.write_text("\n".join([*lines, f"{rare}\t{rare[::-1]}"]) + "\n")
        if rare in [pair.source for pair in load_data(str(path), split="test")]:
            write_recipe(str(path), tmp_path / RECIPE)
            vocabularies.append(make_codec(read_recipe(tmp_path / RECIPE)))
    assert vocabularies
    assert all(vocabulary.encode("z") for vocabulary in vocabularies)
