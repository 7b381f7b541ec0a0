"""The book: what its pages print is what their code prints, and every command on a page exists."""

import re
from pathlib import Path

import pytest

from studies.book.commands_page import read_commands
from studies.book.executed_pages import (
    DOCS,
    TUTORIALS,
    command_lines,
    pictures,
    place_models,
    run_page,
)
from tprprobe.errors import InputError
from tprprobe.figures.catalogue.entries import find_figure, list_figures

ROOT = DOCS.parent
PLUGGED = "norms"  # the command of the plug-in that its page installs
IN_SOAK = (
    "decomposition",
    "tutorials/own-text",
    "tutorials/huggingface",
    "papers/caption-tutorial",
)  # each takes ten seconds


def check_page(name, folder):
    path = DOCS / f"{name}.md"
    try:
        place_models(name, folder)
    except InputError as error:
        pytest.skip(f"a real model could not be fetched: {error}")
    for block in run_page(path, folder):
        assert block.is_as_told(), (
            f"{path}: {block.code}\nprints\n{block.printed}\nnot\n{block.expected}"
        )
    for picture in pictures(path):
        assert (folder / f"{picture}.png").is_file()
        assert (DOCS / f"images/tutorials/{picture}.webp").is_file()


@pytest.mark.parametrize("name", ["index", *(name for name in TUTORIALS if name not in IN_SOAK)])
def test_code_of_the_book_prints_what_stands_there(name, tmp_path):
    check_page(name, tmp_path)


@pytest.mark.soak
@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("name", IN_SOAK)
def test_long_code_of_the_book_prints_what_stands_there(name, tmp_path):
    check_page(name, tmp_path)


def commands_of(path):
    blocks = re.findall(
        r"^```(?:sh|bash)\n(.*?)^```", path.read_text("utf-8"), re.DOTALL | re.MULTILINE
    )
    return [words for block in blocks for words in command_lines(block)]


def test_all_commands_of_all_pages_exist_with_their_options():
    commands, figures = read_commands(), {entry.name for entry in list_figures()}
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *DOCS.rglob("*.md")]
    n_commands = 0
    for path in pages:
        for name, *words in commands_of(path):
            if name == PLUGGED:
                continue
            assert name in commands, f"{path}: tprprobe {name}"
            accepted = {
                parameter for option in commands[name].params for parameter in option.opts
            } | {"--help"}
            if name == "figure" and words and words[0] in figures:
                accepted |= {f"--{key.replace('_', '-')}" for key in find_figure(words[0]).defaults}
            options = {word.split("=")[0] for word in words if re.match(r"--?[a-z]", word)}
            assert options <= accepted, f"{path}: tprprobe {name} {sorted(options - accepted)}"
            n_commands += 1
    assert n_commands > 60


def test_files_that_contributing_names_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    paths = re.findall(r"`((?:tprprobe|tprpapers|app|tests|studies|docs)/[a-z0-9_/.-]+)`", text)
    assert not [name for name in paths if not (ROOT / name).exists()]
    assert len(paths) > 40


def test_pictures_of_the_book_are_there():
    missing = [
        f"{path.name}: {target}"
        for path in [ROOT / "README.md", *DOCS.rglob("*.md")]
        for target in re.findall(r"!\[[^\]]*\]\(([^)]+)\)", path.read_text("utf-8"))
        if not (path.parent / Path(target)).is_file()
    ]
    assert not missing
