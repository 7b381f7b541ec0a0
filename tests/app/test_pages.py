"""Every page draws itself over a run, without a browser; what it is given cannot break it."""

import json
import random
from importlib.metadata import EntryPoint
from pathlib import Path

import pandas as pd
import pytest
import streamlit as st
from planted.sentences import ENCODER, plant

import tprprobe as tp
from tprprobe.analyses.naming import name_words
from tprprobe.extraction import extract

FOLDER = Path(__file__).parents[2] / "app/pages"
PAGES = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "overview")


def charts(app):
    return app.get("plotly_chart")


def linked(app):
    parts = [element.proto for element in app.get("bidi_component")]
    return [part for part in parts if part.component_name.endswith("canvas")]


def components_by_kind(app):
    """What the linked parts of a page are sent, by kind; Arrow tables left out."""
    sent = linked(app)
    contents = [json.loads(component.json or component.mixed.json) for component in sent]
    return {content["kind"]: content for content in contents}


def test_the_overview_shows_the_run_and_its_score(open_page, runs):
    app = open_page(runs)
    assert not app.exception
    assert app.sidebar.selectbox[0].options == ["runs/demo/store"]
    assert "were answered right" in app.markdown[0].value
    assert not app.dataframe  # folded parts are made when they are opened
    app.session_state["fold-sizes"] = True
    app.run()
    assert app.dataframe[0].value["site"].tolist()


@pytest.mark.parametrize("name", PAGES)
def test_every_page_draws_itself(open_page, runs, name):
    app = open_page(runs, name)
    assert not app.exception
    assert app.title[0].value == name.capitalize()
    messages = [*app.info, *app.warning]  # what a planted run lacks is said, not left out
    assert charts(app) or components_by_kind(app) or messages


@pytest.mark.parametrize("name", ["overview", *PAGES])
def test_a_store_of_attention_maps_alone_has_its_pages(
    open_page, tmp_path, make_model, make_data, name
):
    data, sites = make_data([("ab", "a"), ("ba", "b")]), ["encoder.0.self.attention"]
    extract(make_model(), data, sites, tmp_path / "runs/store")
    app = open_page(tmp_path / "runs", name, slice="token=a")
    assert not app.exception
    assert "samples" in " ".join(text.value for text in app.markdown) or name != "overview"


def test_names_of_words_are_shown_beside_their_store(open_page, tmp_path):
    folder = tmp_path / "runs" / "words"
    name_words(plant(folder / "store", 120), ENCODER, k=4, out=folder / "names")
    app = open_page(tmp_path / "runs", "roles")
    assert not app.exception
    assert app.selectbox(key="names").options == ["runs/words/names"]
    assert charts(app)


def test_another_head_changes_the_map_and_another_color_leaves_the_points(open_page, runs):
    app = open_page(runs, "roles")
    before = linked(app)
    app.selectbox(key="color").set_value("token").run()
    assert not app.exception
    is_same = [earlier == later for earlier, later in zip(before, linked(app), strict=True)]
    assert is_same == [False, False, True, True]  # map and strips; points and mark are as before
    before_map = components_by_kind(app)["map"]
    app.selectbox(key="head").set_value(1).run()
    assert not app.exception
    assert components_by_kind(app)["map"]["scene"] != before_map["scene"]
    assert components_by_kind(app)["map"]["labels"] != before_map["labels"]


def test_a_slice_is_kept_by_every_page_and_cuts_maps_and_samples(open_page, runs):
    every = components_by_kind(open_page(runs, "roles"))["map"]["scene"]
    app = open_page(runs, "roles", slice="correct=False")
    assert not app.exception
    assert components_by_kind(app)["map"]["scene"] != every
    assert any("tokens of correct" in text.value for text in app.caption)
    assert any("of 6 with" in text.value for text in app.caption)  # of 24 samples
    app = open_page(runs, "overview", slice="correct=False")
    [table] = [frame.value for frame in app.dataframe if "slice" in frame.value]
    assert table["answered right"].iloc[1].startswith("0.0 % [")
    assert any("are of all tokens" in text.value for text in app.main.caption)
    app = open_page(runs, "roles", slice="correct=perhaps")
    assert not app.exception
    assert components_by_kind(app)["map"]["scene"] == every
    app = open_page(runs, "overview", slice="correct=perhaps")
    [warning] = [text.value.replace("\\", "") for text in app.warning]
    assert (
        "All tokens are shown, since the slice cannot be taken: no token has that correct"
        in warning
    )


def test_every_kind_of_intervention_is_shown(open_page, runs):
    app = open_page(runs, "interventions")
    first_lines = {}
    for run in app.selectbox(key="intervention").options:
        app.selectbox(key="intervention").set_value(run).run()
        for edit in app.selectbox(key="edit").options:
            app.selectbox(key="edit").set_value(edit).run()
            assert not app.exception
            assert len(app.get("plotly_chart")) == 1
            first_lines[run, edit] = app.markdown[0].value
            assert "change the share of right answers" in app.markdown[0].value
    assert {edit for _, edit in first_lines} == {"zero", "mean", "snap", "all"}
    assert len({*first_lines.values()}) == len(first_lines) == 5


def test_a_decomposition_is_shown_step_by_step_and_fitted_when_that_is_asked_for(
    open_page, decomposed, monkeypatch
):
    calls = []
    fit_roles = tp.dashboard.decompositions.fit_roles
    monkeypatch.setattr(
        tp.dashboard.decompositions,
        "fit_roles",
        lambda *arguments: calls.append(1) or fit_roles(*arguments),
    )
    app = open_page(decomposed, "decomposition")
    assert not app.exception
    assert not calls
    assert "fillers alone R²" in app.markdown[0].value.replace("\\", "")
    app.toggle(key="apart").set_value(True).run()
    assert not app.exception
    titles = [text.value for text in app.markdown]
    for title in ("Similarity of fillers", "Similarity of roles", "does not explain"):
        assert any(title in heading for heading in titles)
    assert calls
    app.selectbox(key="token").set_value(2).run()
    assert not app.exception
    assert any("in place of" in text.value for text in app.markdown)
    app.selectbox(key="scheme").set_value("bag").run()
    assert not app.exception


def test_samples_are_found_by_their_text(open_page, runs):
    app = open_page(runs, "roles")
    text = str(tp.open_store(runs / "demo" / "store").tokens["question"].iloc[-1])
    app.text_input(key="search").set_value(text[-12:]).run()
    assert not app.exception
    assert app.number_input(key="sample").value > 0
    assert any("1 of 1 with" in caption.value.replace("\\", "") for caption in app.caption)


def test_an_address_chooses_what_is_shown(open_page, runs):
    app = open_page(runs, "roles", mark="cluster:0", k="7")
    assert not app.exception
    sent = components_by_kind(app)
    assert sent["mark"] == {"kind": "mark", "text": "cluster:0", "turn": 0}
    sizes = {cluster["cluster"]: cluster["tokens"] for cluster in sent["map"]["clusters"]}
    assert len(sizes) == 7
    assert set(app.dataframe[-1].value["cluster"]) == {0}
    assert len(app.dataframe[-1].value) == sizes[0]


def test_an_address_of_a_fresh_tab_says_which_sample(open_page, runs):
    app = open_page(runs, "roles", sample="5")
    assert app.number_input(key="sample").value == 5
    assert linked_strips(app)[0]["heading"].startswith("sample 5")


def test_a_mark_brings_a_strip_that_has_it_and_a_search_those_that_it_finds(open_page, runs):
    store = tp.open_store(runs / "demo/store")
    sample = store.tokens.loc[store.tokens["side"] == "source", "sample"].reset_index(drop=True)
    app = open_page(runs, "roles", mark=f"source:{sample[sample == 17].index[0]}")
    assert app.number_input(key="sample").value == 17
    assert linked_strips(app)[0]["heading"].startswith("sample 17")
    app = open_page(runs, "roles", slice="correct=False")
    wrong = store.tokens.loc[~store.tokens["correct"].astype(bool), "sample"].unique()
    headings = [strip["heading"].split()[1] for strip in linked_strips(app)]
    assert headings == [*map(str, wrong[:4])]


def test_a_site_of_another_store_is_that_which_is_called_alike(open_page, runs):
    app = open_page(runs, "compare", link="1", site="layers.0.self.role")
    assert app.selectbox(key="site").value == "layer 0, role"
    assert not [*app.exception, *app.warning]


def test_marks_are_carried_to_the_other_store(open_page, runs):
    app = open_page(runs, "compare", mark="source:1-3")
    assert not app.exception
    assert components_by_kind(app)["mark"]["text"] == "source:1-3"
    strip, linked_strip = (packed for packed in linked_strips(app))
    assert strip["rows"] == linked_strip["rows"]  # what a mark finds them by
    assert strip["labels"] != linked_strip["labels"]


def linked_strips(app):
    sent = [json.loads(component.json or component.mixed.json) for component in linked(app)]
    return [strip for content in sent if content["kind"] == "strips" for strip in content["strips"]]


def test_a_patching_run_is_shown_without_a_store(open_page, tmp_path):
    names = {
        "answer": "are",
        "other_answer": "is",
        "difference_text": -4.0,
        "difference_against": 5.0,
    }
    rows = pd.DataFrame(
        {"site": "layers.0.hidden", "position": [0, 1, 1], "token": ["a", "b", "b"]}
    )
    rows = rows.assign(
        other_token=rows["token"], recovered=[0.0, 1.0, 0.1], control=["", "", "random"]
    )
    rows.assign(difference=0.0, **names).to_parquet(tmp_path / "patching.parquet")
    record = {"model": {"name": "made"}, "text": "a b", "against": "a c"}
    (tmp_path / "interventions.json").write_text(json.dumps(record))
    app = open_page(tmp_path)
    assert not app.exception
    assert any(
        "‘a b’ against ‘a c’: log p" in text.value.replace("\\", "") for text in app.markdown
    )
    app = open_page(tmp_path, "interventions")
    assert not app.exception
    assert charts(app)


def test_an_empty_folder_says_what_to_do(open_page, tmp_path):
    app = open_page(tmp_path)
    assert not app.exception
    assert "tprprobe demo" in app.info[0].value


DIGITS = "9" * 400
NUMBERS = ["0", "-1", "1e999", "2.5", "٣", DIGITS, f"-{DIGITS}", "x", ""]
MARKS = ["lasso:0,0,0", "lasso:0,0,0,0,0,0,0", "box:0,0,0", f"cluster:{DIGITS}", f"box:{DIGITS},0,0,1e999"]  # fmt: skip


@pytest.mark.parametrize("seed", range(2))
def test_an_address_that_nobody_wrote_is_a_page(open_page, runs, seed):
    rng = random.Random(seed)
    numbers = {name: rng.choice(NUMBERS) for name in ("k", "head", "sample", "token")}
    names = {
        name: rng.choice(["nothing", "\ud800x", "../..", "*" * 5000]) for name in ("site", "color")
    }
    query = {"mark": rng.choice(MARKS), **numbers, **(names if rng.random() < 0.5 else {})}
    for page in ("roles", "attention"):
        app = open_page(runs, page, **query, **rng.choice([{}, {"link": "1"}]))
        assert not app.exception, (page, query)


def test_a_page_of_a_plugin_is_drawn_and_cannot_replace_one_of_ours(open_page, runs, monkeypatch):
    points = [
        EntryPoint(name, f"{__name__}:draw_counts", "tprprobe.pages") for name in ("drawn", "roles")
    ]
    plugins = {point.name: tp.plugins.Plugin(point.name, "", point) for point in points}
    find = tp.plugins.find
    monkeypatch.setattr(
        tp.plugins, "find", lambda group: plugins if group == "pages" else find(group)
    )
    app = open_page(runs)
    assert not app.exception
    (app._page_hash,) = [  # as switch_page sets it, which takes files alone
        key for key, page in app._registered_pages.items() if page["url_pathname"] == "drawn"
    ]
    app.run()
    assert not app.exception
    assert app.title[0].value == "Drawn"
    n_tokens = len(tp.open_store(runs / "demo/store").tokens)
    assert app.main.markdown[0].value == f"{n_tokens} tokens"


def draw_counts(store):
    st.write(f"{len(store.tokens)} tokens")
