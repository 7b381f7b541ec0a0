"""Runs that nobody meant well: each is shown, or refused in one line, and the others work."""

import io
import json
import shutil
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from planted.questions import plant

import tprprobe as tp
from tprprobe.dashboard import strips
from tprprobe.errors import InputError
from tprprobe.figures.charts import CHARTS
from tprprobe.store import SiteSpec, StoreWriter, open_store, token_texts

ROLE, MAPS = "encoder.0.self.role", "encoder.0.self.attention"
SITES = {
    ROLE: SiteSpec(("source", "head", "d_head"), (1, 6)),
    MAPS: SiteSpec(("source_source", "head"), (1,)),
}
HTML = ["<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "</text><b>", "&lt;"]
MARKDOWN = ["**bold**", "[a](http://evil.example)", "$\\frac{$", "![x](http://evil.example/i)"]
FOREIGN = ["שלום", "\u202eabc", "👩‍👩‍👧", "\x00", "漢", ""]


def write(path, samples, vectors=None, model: object = "made"):
    """A store of these samples, lists of tokens; ``vectors`` may spoil those of a sample."""
    rng = np.random.default_rng(0)
    writer = StoreWriter.create(path, SITES, {"model": model, "data": {"name": "<b>data</b>"}})
    for number, tokens in enumerate(samples):
        sides = pd.DataFrame({"side": "source", "token": tokens, "position": range(len(tokens))})
        start = pd.DataFrame({"side": ["target"], "token": ["<sos>"], "position": [0]})
        table = pd.concat([sides, start]).assign(
            sample=number, question=" ".join(tokens), answer="<i>", prediction="x", correct=False
        )
        values = rng.normal(size=(len(tokens), 1, 6))
        values = values if vectors is None else vectors(number, values)
        weights = rng.dirichlet(np.ones(max(len(tokens), 1)), len(tokens)).astype(np.float32)
        maps = [weights[None, :, : len(tokens)]]
        writer.append({ROLE: values}, table, {MAPS: maps})
    writer.finish()
    return open_store(path)


@pytest.fixture
def odd(tmp_path):
    """A store whose tokens are markup, code and foreign texts."""
    return write(tmp_path / "odd", [HTML, MARKDOWN, FOREIGN, list("plain text")])


def drawn(view):
    """All texts of a view as they are sent to the browser, or where it draws the scene itself, to paper."""
    if type(view.scene) not in CHARTS:
        return view.export("svg").decode()
    return json.dumps(json.loads(view.chart().to_json()), ensure_ascii=False)


def test_markup_in_tokens_is_text(odd):
    scene = tp.dashboard.build_scene(odd, ROLE, 0, k=3)
    maps = tp.dashboard.read_maps(odd, MAPS, 0)
    views = [
        tp.dashboard.show_map(scene, "token"),
        tp.dashboard.show_strips(scene, [0, 1]),
        tp.dashboard.show_matrix(odd, maps, 0),
    ]
    for view in views:
        sent = drawn(view)
        assert "<script" not in sent
        assert "<img" not in sent
        assert "<script" not in view._repr_html_()
    assert any("&lt;scr" in drawn(view) or "&lt;…" in drawn(view) for view in views)  # as text


def test_the_browser_takes_tokens_as_text_only(odd, root):
    scene = tp.dashboard.build_scene(odd, ROLE, 0, k=3)
    sent = tp.dashboard.strips.pack_strips(scene, [0])["strips"][0]
    assert sent["signs"][:1] == [token_texts.visible(HTML[0])]
    script = "".join(path.read_text("utf-8") for path in (root / "app").glob("*.js"))
    ways = ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval(", "Function(")
    assert not [way for way in ways if way in script]
    foreign = tp.dashboard.maps.pack_points(scene)["vocabulary"]
    assert not any(symbol in "".join(foreign) for symbol in ("\u202e", "\x00"))


def test_every_format_is_written_of_every_text(odd):
    scene = tp.dashboard.build_scene(odd, ROLE, 0, k=3)
    view = tp.dashboard.show_strips(scene, [0, 1, 2])
    files = {kind: view.export(kind) for kind in tp.dashboard.view.FORMATS}
    assert files["pdf"].startswith(b"%PDF")
    assert files["png"].startswith(b"\x89PNG")
    assert b"<script" not in files["svg"]
    assert len(pd.read_parquet(io.BytesIO(files["parquet"]))) == len(view.data)
    with pytest.raises(InputError, match="unknown format"):
        view.export("exe")


def test_texts_that_turn_others_around_or_hide_are_seen():
    assert token_texts.visible("\u202eabc") == "‹202E›abc"
    assert token_texts.visible("\x00") == "‹0000›"
    assert token_texts.visible("") == "∅"
    assert token_texts.visible("👩‍👩‍👧") == "👩‍👩‍👧"
    assert token_texts.visible("שלום") == "שלום"
    assert len(token_texts.visible("x" * 10_000)) < 30


def test_vectors_that_are_not_numbers_leave_only_their_samples_out(tmp_path):
    def spoil(number, values):
        return values * np.nan if number == 1 else values

    store = write(tmp_path / "nan", [list("abcdef")] * 5, spoil)
    scene = tp.dashboard.build_scene(store, ROLE, 0, k=3)
    assert scene.left_out == 1
    assert "1 samples" in scene.note
    assert 1 not in set(scene.tokens["sample"])
    view = tp.dashboard.show_strips(scene, [1])  # is still shown, without clusters
    assert set(view.data["cluster"]) == {-1}
    assert len(scene.plane.points) == 24


def test_nothing_but_vectors_that_are_not_numbers_is_one_line(tmp_path):
    store = write(tmp_path / "nan", [list("abc")] * 2, lambda _, values: values * np.inf)
    with pytest.raises(InputError, match="not finite"):
        tp.dashboard.build_scene(store, ROLE, 0)


def test_a_sample_without_tokens(tmp_path):
    store = write(tmp_path / "empty", [list("abc"), [], list("de")])
    scene = tp.dashboard.build_scene(store, ROLE, 0, k=2)
    assert set(tp.dashboard.show_strips(scene, [0, 1, 2]).data["sample"]) == {0, 2}
    with pytest.raises(InputError, match="have no source tokens"):
        tp.dashboard.show_strips(scene, [1])
    with pytest.raises(InputError, match="no tokens"):
        tp.dashboard.read_maps(store, MAPS, 1)


def test_a_huge_sample_is_drawn_in_part(tmp_path):
    store = write(tmp_path / "huge", [list("abcdefgh" * 160), list("ab")])
    scene = tp.dashboard.build_scene(store, ROLE, 0, k=4)
    view = tp.dashboard.show_strips(scene, [0])
    sent = tp.dashboard.strips.pack_strips(scene, [0])["strips"][0]
    assert len(sent["signs"]) == strips.MAX_TOKENS
    assert sent["heading"].endswith("(the first 600 of 1,280 tokens)")
    assert len(view.scene.strips[0].colors) == len(view.data) == 1280  # in files, all
    maps = tp.dashboard.read_maps(store, MAPS, 0)
    view = tp.dashboard.show_matrix(store, maps, 0)
    assert view.data[["query_token", "key_token"]].iloc[1].tolist() == ["a", "b"]
    assert view.scene.values.shape == (320, 320)  # the largest of 4 × 4 weights
    assert view.scene.values[0, 0] == maps.weights[0][:4, :4].max()


def test_lines_of_special_tokens_wait_for_the_pointer(tmp_path):
    store = write(tmp_path / "store", [["[CLS]", "a", "<|im_end|>", "<b"], ["a", "[b]"]])
    attention = tp.dashboard.attention
    for sample, special in enumerate(([True, False, True, False], [False, False])):
        maps = tp.dashboard.read_maps(store, MAPS, sample)
        sent = attention.pack_attention(maps, 0)
        assert sent["queries"]["special"] == sent["keys"]["special"] == special
        causal = replace(maps, weights=np.tril(maps.weights))
        sent = attention.pack_attention(causal, 0)
        assert sent["keys"]["special"] == [True, *special[1:]]  # a first token that all can see


def test_heads_without_a_score_are_squares_without_a_number():
    columns = {"source": "head", "site": MAPS, "head": [0, 1], "value": [0.404, np.nan]}
    scores = pd.DataFrame(columns)
    top, row = tp.dashboard.attention.pack_scores(scores, dark=False)
    assert [square["text"] for square in (*top["items"], *row["items"])] == ["0", "1", "40", ""]
    assert [square["name"] for square in row["items"]] == [f"{MAPS}:0", f"{MAPS}:1"]


def test_a_run_is_what_lies_beside_its_only_store(runs, tmp_path):
    run_folders = tp.dashboard.folders.find_runs(runs)
    assert run_folders.run_of("runs/demo/store") == runs / "demo"
    store = run_folders.open("runs/demo/store")
    assert list(run_folders.beside(store, "clusters")) == ["runs/demo/clusters"]
    sweeps = list(run_folders.beside(store, "interventions"))
    assert sweeps == ["runs/demo/heads", "runs/demo/layers"]
    plant(tmp_path / "a", 4)
    plant(tmp_path / "b", 4)
    assert tp.dashboard.folders.find_runs(tmp_path).run_of(f"{tmp_path.name}/a") == tmp_path / "a"


def test_a_store_with_a_missing_array_is_refused_and_the_others_open(tmp_path, open_page):
    plant(tmp_path / "runs" / "whole", 4)
    plant(tmp_path / "runs" / "torn", 4)
    shutil.rmtree(tmp_path / "runs" / "torn" / "arrays.zarr" / ROLE)
    runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
    assert runs.open("runs/whole").samples == 4
    with pytest.raises(InputError, match="damaged"):
        runs.open("runs/torn")
    app = open_page(tmp_path / "runs", store="runs/torn")
    assert not app.exception
    assert "damaged" in app.text[0].value


def test_what_an_address_names_is_looked_up_never_joined(tmp_path):
    plant(tmp_path / "outside", 4)
    (tmp_path / "runs").mkdir()
    runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
    for name in ("../outside", str(tmp_path / "outside"), "runs/../../outside", "%2e%2e/outside"):
        with pytest.raises(InputError, match="unknown store"):
            runs.open(name)


def test_links_do_not_lead_out_of_the_folder(tmp_path):
    plant(tmp_path / "outside", 4)
    (tmp_path / "runs").mkdir()
    (tmp_path / "runs" / "linked").symlink_to(tmp_path / "outside")
    assert tp.dashboard.folders.find_runs(tmp_path / "runs").names("store") == []
    plant(tmp_path / "runs" / "inside", 4)
    tokens = tmp_path / "runs" / "inside" / "tokens.parquet"
    tokens.unlink()
    tokens.symlink_to(tmp_path / "outside" / "tokens.parquet")
    with pytest.raises(InputError, match="is outside"):
        tp.dashboard.folders.find_runs(tmp_path / "runs").open("runs/inside")


@pytest.mark.parametrize(
    "text",
    ["x", "cluster:", "cluster:-1", "source:9" + ",9" * 9000, "box:nan,1,1,1", "box:1,2", "<b>"],
)
def test_marks_that_say_nothing_are_refused(text):
    with pytest.raises(InputError):
        tp.dashboard.marks.read_mark(text)


def test_models_named_oddly_load_nothing(tmp_path):
    for model in (["x"], {"name": {"a": 1}}, 7):
        with pytest.raises(InputError, match="model"):
            write(tmp_path / "refused", [list("ab")], model=model)
    for number, model in enumerate(("../../etc", "hf:owner/name")):
        store = write(tmp_path / "runs" / str(number), [list("ab")], model=model)
        runs = tp.dashboard.folders.find_runs(tmp_path / "runs")
        assert runs.find_model(store) == (model if model == "hf:owner/name" else None)
        assert tp.dashboard.contents.describe_store(store)["model"]


def test_tokens_are_labelled_as_readers_know_them():
    texts = {"Ġthe": " the", "▁the": " the", "##ing": "##ing", "ÃŃa": "ía", "Ċ": "\n", "ðŁ": "ðŁ"}
    texts |= {symbol: symbol for symbol in ("é", "##", "Łódź", "日本", "", "a b")}
    assert {token: token_texts.spell(token) for token in texts} == texts
    assert token_texts.join(["Ġjur", "ists"]) == "jurists"
    assert token_texts.join(["em", "##bed"]) == "embed"
