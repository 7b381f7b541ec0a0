"""What pages say in their first lines, and what they start; no browser."""

import json
import shlex
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted.questions import LAST
from planted.sentences import plant as plant_words

import tprprobe as tp
from tprprobe.analyses import clustering
from tprprobe.analyses.attention.head_relations import pick_heads
from tprprobe.analyses.naming import name_all
from tprprobe.dashboard import (
    attention,
    contents,
    launches,
    names,
    run_summary,
)
from tprprobe.dashboard.scene import summarize_roles
from tprprobe.errors import InputError


@pytest.fixture(scope="module")
def named_run(tmp_path_factory):
    """A run with named clusters of 80 planted questions."""
    from planted.questions import plant

    root = tmp_path_factory.mktemp("named") / "runs"
    store = plant(root / "store", 80)
    name_all(store, LAST, k=6, out=root / "names", projections=1)
    return tp.dashboard.folders.find_runs(root)


def probed(beyond):
    sites = [f"{stack}.{layer}.self.role" for stack in ("encoder", "decoder") for layer in (0, 1)]
    rows = pd.DataFrame({"site": sites, "layer": [0, 1, 0, 1], "f1": [0.5, 0.6, 0.7, 0.9]})
    rows = rows.assign(
        task="pos", side=["source"] * 2 + ["target"] * 2, model="m", head=pd.NA, control="real",
        f1_low=rows["f1"] - 0.1, f1_high=rows["f1"] + 0.05, accuracy=0.5, accuracy_low=0.4,
        accuracy_high=0.6, n_train=100, best_control="shuffled", best_control_f1=0.3, beats_controls=beyond,
    )  # fmt: skip
    shuffled = rows.assign(control="shuffled", f1=0.3, f1_low=0.2, f1_high=0.4, beats_controls=None)
    return pd.concat([rows, shuffled], ignore_index=True)


def test_the_best_control_is_a_band_and_a_mark_knows_its_row():
    rows = probed([False, True, False, True])
    view = tp.dashboard.probes.show_probes(rows, "pos")
    assert len(view.chart().layout.annotations) == 2  # a panel per vector
    below, above, _, marks = view.chart().data[:4]
    assert list(below.y) == pytest.approx([0.2, 0.2])
    assert list(above.y) == pytest.approx([0.4, 0.4])
    assert marks.marker.symbol == ("circle-open", "circle")
    row = view.data.iloc[int(marks.customdata[1][0])]
    assert (row["site"], row["f1"]) == ("decoder.1.self.role", 0.9)
    assert view.export("svg").startswith(b"<?xml")


def test_a_run_tells_its_score_and_how_many_clusters_have_a_name(named_run):
    store = named_run.open("runs/store")
    cluster_run = named_run.root / "clusters"
    clustering.save_clusters(
        [tp.cluster(store, LAST, head, k=3) for head in (0, 1)], cluster_run, store
    )
    runs = tp.dashboard.folders.find_runs(named_run.root)
    heads, statement, clusters = run_summary.summarize(runs, store)
    assert clusters.text.startswith(
        "3 clusters at each of 2 places (layer 1, role, head 0, …): agreement of random starts "
    )
    shutil.rmtree(cluster_run)
    assert heads.links[0].page == "attention"
    lead = contents.summarize_store(store).text
    assert "80 samples" in lead
    assert "75.0 %" in lead
    assert "were answered right" in lead
    assert statement.links[0].page == "roles"
    (folder,) = named_run.beside(store, "names").values()
    view = names.show_names(names.load_named(folder))
    expected = "5 of 12 clusters of the trained model have a name that holds on held-out texts"
    assert expected in statement.text == names.summarize_names(names.load_named(folder)).text
    assert view.export("csv")


def test_a_score_is_of_samples_that_the_model_was_not_trained_on(named_run, tmp_path):
    (tmp_path / "recipe.toml").write_text('[[stages]]\nmix = [{data = "p.tsv", split = "train"}]')
    store = named_run.open("runs/store")
    origin = {"model_folder": str(tmp_path), "data": {"name": "p.tsv", "split": "all"}}
    trained = replace(store, manifest={**store.manifest, **origin})
    n_test = len(contents.list_contents(trained).test)
    assert 0 < n_test < 30  # a tenth of 80
    expected = f"of the {n_test} test samples (the other {80 - n_test} were used to train it)"
    assert expected in contents.summarize_store(trained).text
    assert contents.list_contents(store).test is None


def test_a_store_that_is_opened_alone_has_what_was_made_of_it_beside_it(named_run):
    runs = tp.dashboard.folders.find_runs(named_run.root / "store")
    assert list(runs.beside(runs.open("store"), "names")) == ["names"]


def test_what_a_page_starts_is_the_command_that_it_shows(named_run):
    launch = launches.plan(named_run, named_run.open("runs/store"), "names")
    path = named_run.folder("store", "runs/store")
    assert launch.out == path.parent / "store-names"
    assert shlex.split(launch.command) == ["tprprobe", *launch.arguments]
    assert str(path) in launch.arguments
    with pytest.raises(InputError, match="no words with labels"):
        launches.plan(named_run, named_run.open("runs/store"), "probes")
    with pytest.raises(InputError, match="neither shipped nor below"):
        launches.plan(named_run, named_run.open("runs/store"), "sweep")
    for kind in ("rm", "name; rm"):
        with pytest.raises(InputError, match="unknown analysis"):
            launches.plan(named_run, named_run.open("runs/store"), kind)


def test_the_best_head_is_scored_on_documents_that_it_was_not_chosen_on(named_run, monkeypatch):
    rng = np.random.default_rng(0)
    words = pd.DataFrame({"document": np.repeat(np.arange(20), 8), "relation": "det"})
    words = words.assign(sequence=words["document"].astype(np.uint64))
    for name, share in {"encoder.1.self.attention:1": 0.9, "offset:1": 0.4}.items():
        words[name] = rng.random(len(words)) < share
    scores = attention.score_attention(named_run.open("runs/store"), words)
    store = named_run.open("runs/store")
    text = str(attention.summarize_attention(store, scores, attention.pick_head(words)))
    assert "is the best of 1 heads on half of the documents. On the other half, " in text
    assert "the best fixed distance, +1, chosen in the same way" in text
    assert "points [+" in text
    assert ", of the 4 samples with maps); without a head" in text
    with monkeypatch.context() as context:
        context.setattr(type(store), "count_maps", lambda self, _: self.samples)
        assert "with maps" not in str(attention.summarize_attention(store, scores))
    assert "chosen and scored on the same" in str(attention.summarize_attention(store, scores))
    rare = words[words["document"].between(5, 16)].assign(relation="obj")
    both = pd.concat([words, rare], ignore_index=True)
    expected = pick_heads(both).set_index("relation").loc["obj"]  # as `figure heads` has it
    picked_row = attention.pick_head(both, "obj")
    names = ["n", "head", "offset", "value", "by_offset", "beyond"]
    assert picked_row[names].tolist() == expected[names].tolist()


def test_a_store_without_maps_can_be_extracted_with_them(tmp_path):
    store = plant_words(tmp_path / "runs" / "store", 12)
    runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
    origin = {"name": "my data.txt", "split": "all", "n": 12, "seed": 0, "rows": [0, 6]}
    store = replace(store, manifest={**store.manifest, "data": origin})
    with pytest.raises(InputError, match="neither shipped nor below the folder"):
        launches.plan(runs, store, "attention")
    checkpoint = {"model": tmp_path / str(store.facts.model.name)}
    runs = replace(runs, folders={**runs.folders, "checkpoint": checkpoint})
    words = shlex.split(launches.plan(runs, store, "attention").command)
    assert words[:4] == ["tprprobe", "extract", "--ckpt", str(checkpoint["model"])]
    assert words[words.index("--data") + 1] == "my data.txt"
    assert words[words.index("-n") + 1] == "12"
    assert words[words.index("--split") + 1] == "all"
    assert "--spaced" in words
    patterns = [words[i + 1] for i, word in enumerate(words) if word == "--sites"]
    assert patterns[-1] == "*.attention"
    assert store.select(patterns[:-1]) == list(store.sites)
    assert words[-2:] == ["--out", str(store.path.parent / "store-attention")]
    labeled = replace(store, manifest={**store.manifest, "labels": {"pos": {"name": "tagger"}}})
    with pytest.raises(
        InputError, match=r"extract it again with them: tprprobe extract .*--labels"
    ):
        launches.plan(runs, labeled, "attention")


def test_a_started_analysis_leaves_its_result_beside_the_store(tmp_path):
    plant_words(tmp_path / "runs" / "x;$(touch y)" / "store", 12)  # a name that a shell would run
    runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
    (name,) = runs.names("store")
    job = launches.start(launches.plan(runs, runs.open(name), "decomposition"))
    assert job.process.wait(120) is not None
    assert "tprprobe" in job.read_output() or job.outcome == 0
    assert job.process.args[3:5] == ["decompose", str(runs.folder("store", name))]
    assert not list(tmp_path.rglob("y"))


def test_what_a_first_line_names_is_a_link_away(named_run):
    sites = [f"encoder.{layer}.self.attention" for layer in (0, 1, 1)]
    scores = pd.DataFrame({"site": sites, "layer": [0, 1, 1], "head": [0, 2, 0], "n": 9})
    scores = scores.assign(source=["head", "head", "uniform"], value=[0.1, 0.8, 0.2])
    scores = scores.assign(value_low=0.0, value_high=1.0, follows="words look at their head")
    summary = attention.summarize_attention(named_run.open("runs/store"), scores)
    assert "head 2 is the best of 2 heads: 80.0 %" in summary.text
    assert summary.links[0].query == {"maps": "encoder.1.self.attention", "head": "2"}
    scene = tp.dashboard.build_scene(named_run.open("runs/store"), "encoder.1.self.role", 0, k=6)
    roles = summarize_roles(scene)
    assert roles.links[0].query["mark"].removeprefix("cluster:") in roles.text
    assert "there is no baseline model" in roles.text
    best = scene.names.loc[scene.names["f05"].idxmax()]
    assert f"on {best['size']} tokens of {best['documents']} different texts" in roles.text


def test_the_overview_has_the_questions_of_examine_and_refuses_a_damaged_file(tmp_path):
    from planted.questions import plant

    from tprprobe.dashboard.contents import read_examination
    from tprprobe.errors import InputError

    store = plant(tmp_path / "run" / "store", 4)
    assert read_examination(store) == []
    file, picture = tmp_path / "run" / "examination.json", tmp_path / "run/figures/heads.png"
    picture.parent.mkdir()
    picture.write_bytes(b"")
    names = ("heading", "text", "lack", "picture")
    section = dict.fromkeys(names, "What?") | {"picture": "figures/heads.png"}
    outside = section | {"picture": "../../secret.png"}
    file.write_text(json.dumps({"lines": [], "sections": [section, outside]}))
    assert [path for _, path in read_examination(store)] == [picture, None]
    file.write_text(json.dumps({"sections": [1]}))
    with pytest.raises(InputError, match="examination"):
        read_examination(store)


def test_every_run_of_an_edit_has_its_panel_and_copies_of_examine_are_no_runs(runs, tmp_path):
    folder = tmp_path / "runs"
    shutil.copytree(runs, folder)
    for name in ("again", "examined"):
        shutil.copytree(folder / "demo" / "heads", folder / name)
    (folder / "examined" / "examination.json").write_text("{}")
    listed = tp.dashboard.folders.find_runs(folder)
    names = {"runs/again", "runs/demo/heads"}
    assert {*listed.names("interventions")} == names | {"runs/demo/layers"}
    lines = tp.dashboard.layers.measure_layers(listed, tp.open_store(folder / "demo" / "store"))
    panels = {panel for panel in lines.rows["panel"] if "zero" in panel}
    assert panels == {f"‘zero’ of {name} (change of right answers)" for name in names}
