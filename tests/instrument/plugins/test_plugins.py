"""Doors: names come from metadata, code is imported when it is used, what is broken is one line."""

import re
from typing import Any

import pytest
from planted.installed import install, run_commands

from tprprobe import plugins
from tprprobe.data import load_data
from tprprobe.errors import InputError

CORPUS = """
from tprprobe.data.dataset import Dataset, Request

def load(name, **options):
    print(name, sorted(options))
    raise SystemExit(3)
"""
GROUPS = """
[tprprobe.data]
planted shelf = planted_corpus:load
broken = planted_broken:load

[tprprobe.figures]
planted-figure What a planted figure shows = planted_broken:draw

[tprprobe.commands]
planted Say something planted = planted_broken:say

[tprprobe.kinds]
planted = planted_broken:KIND
"""


CORPORA = ("planted:some:thing", "FOLDER", "FOLDER:some")  # by prefix; a folder with `shelf`
BROKEN = {
    "a command": ["planted"],
    "a figure": ["figure", "planted-figure"],
    "a corpus": ["inspect", "broken:x"],
}


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> dict[str, list[Any]]:
    """What commands come to beside an installed distribution, half of which cannot be imported."""
    broken = "import there_is_no_such_module"
    folder = tmp_path_factory.mktemp("site")
    install(folder, "planted", GROUPS, planted_corpus=CORPUS, planted_broken=broken)
    (folder / "shelf").mkdir()
    commands = {
        "list": ["figure"],
        "help": ["--help"],
        **BROKEN,
        "all kinds": ["inspect", str(tmp_path_factory.mktemp("empty")), "--verify"],
        **{name: ["inspect", name.replace("FOLDER", str(folder))] for name in CORPORA},
    }
    return dict(zip(commands, run_commands(folder, *commands.values()), strict=True))


def test_lists_import_nothing(results):
    code, out, err = results["list"]
    assert re.search(r"^planted-figure +What a planted figure shows$", out, re.M)
    assert (code, err) == (0, "")
    code, out, err = results["help"]
    assert "Say something planted" in out
    assert (code, err) == (0, "")


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_one_line_that_names_it(results, name):
    code, _, err = results[name]
    assert code == 2
    assert err.count("\n") == 1
    assert "package planted" in err
    assert "there_is_no_such_module" in err


def test_a_broken_plugin_does_not_stop_other_commands(results):
    _, _, err = results["all kinds"]
    assert "the plug-in 'planted' of the package planted" in err
    assert "Traceback" not in err


@pytest.mark.parametrize("name", CORPORA)
def test_a_corpus_is_called_with_its_whole_name_and_the_options_given(results, name):
    code, out, _ = results[name]
    assert code == 3
    assert out.endswith(f"{name.removeprefix('FOLDER')} []\n")
    assert out.startswith("/") == name.startswith("FOLDER")


def test_the_papers_enter_by_their_metadata():
    assert {"english", "scenes", "scan", "sequences", "texts"} <= plugins.find("data").keys()
    assert {"lstm", "bottleneck", "cnn-lstm"} <= plugins.find("models").keys()
    groups = ("models", "data", "figures", "edits", "recipes", "scores", "kinds", "commands")
    for group in (*groups, "converters", "labellers", "measures"):
        for plugin in plugins.find(group).values():
            assert plugin.load() is not None
    assert len(load_data("scan", n=3)) == 3
    with pytest.raises(InputError, match=r"but .english.;"):
        load_data("englsh")
