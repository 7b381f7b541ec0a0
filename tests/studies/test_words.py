"""Public text stays plain: words that must not come back, and a short guide."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

import tprprobe as tp
from studies.book.commands_page import read_commands
from studies.pages.headlines import OPENINGS
from studies.verdicts.table import STUDIES
from tprprobe.figures.catalogue.entries import FIGURES

ROOT = Path(__file__).parents[2]
WORDS = tomllib.loads((ROOT / "tests/words.toml").read_text("utf-8"))
HOUSES = ("tprprobe", "tprpapers", "studies", "app")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
PAGES += [ROOT / "studies/results/what-we-found.md"]
MOST_PAGES = 20  # of the user's guide
CODE = re.compile(r"^```.*?^```|`[^`\n]*`|“[^”]*”|<!--.*?-->", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"!?\[([^\]]*)\]\([^)]*\)")
FORBIDDEN = re.compile(
    "|".join(f"(?P<n{i}>{word['pattern']})" for i, word in enumerate(WORDS["text"])), re.IGNORECASE
)
MOST_WORDS = 1_200  # of a version in the changelog


class Loader(yaml.SafeLoader):
    """Reads mkdocs.yml without the objects that it names."""


def read_nav() -> dict[str, list]:
    """The sections of the book."""
    sections = yaml.load((ROOT / "mkdocs.yml").read_text("utf-8"), Loader)["nav"]
    return {name: pages for section in sections for name, pages in section.items()}


def list_pages(entry: object) -> Iterator[str]:
    """All pages of a section."""
    if isinstance(entry, str):
        yield entry
    else:
        inner = entry.values() if isinstance(entry, dict) else entry
        for item in inner:
            yield from list_pages(item)


def find_words(text: str) -> list[str]:
    """The forbidden words of a text, with what to write instead."""
    plain = LINK.sub(r"\1", CODE.sub(" ", text))
    return [
        f"{hit[0]!r} (write: {WORDS['text'][int(hit.lastgroup[1:])]['instead']}) in: "
        f"…{plain[max(0, hit.start() - 40) : hit.end() + 40]}…"
        for hit in FORBIDDEN.finditer(plain)
    ]


@pytest.mark.parametrize("path", PAGES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_page_has_plain_words(path):
    assert not find_words(path.read_text("utf-8"))


def test_the_changelog_of_a_version_is_short():
    versions = re.split(r"^## ", (ROOT / "CHANGELOG.md").read_text("utf-8"), flags=re.MULTILINE)
    assert len(versions[1].split()) <= MOST_WORDS


def test_openings_titles_and_help_have_plain_words():
    texts = [text for opening in OPENINGS.values() for text in opening.values()]
    texts += [str(text) for facts in STUDIES.values() for text in facts.values()]
    texts += [figure.title for figure in FIGURES.values()]
    for name, command in read_commands().items():
        texts += [command.help or "", *(getattr(o, "help", "") or "" for o in command.params)]
        assert name
    assert not [line for text in texts for line in find_words(text)]


def test_messages_and_sentences_have_plain_words():
    wrong = [
        f"{path.relative_to(ROOT)}:{line}: {hit}"
        for house in ("tprprobe", "app")
        for path in sorted((ROOT / house).rglob("*.py"))
        for line, text in read_strings(path)
        for hit in find_words(text)
    ]
    assert not wrong


def read_strings(path: Path) -> Iterator[tuple[int, str]]:
    """The strings of a module that are sentences: of four words or more, with punctuation or a capital; no docstrings."""
    tree = ast.parse(path.read_text("utf-8"))
    docs = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef)
        and node.body
        and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in docs:
            is_sentence = len(node.value.split()) >= 4 and re.search(r"[A-Z.,:;]", node.value)
            yield from [(node.lineno, node.value)] if is_sentence else []


def test_no_function_and_no_public_parameter_has_a_forbidden_name():
    wrong = [
        f"{path.relative_to(ROOT)}: {name}"
        for house in HOUSES
        for path in sorted((ROOT / house).rglob("*.py"))
        for name in re.findall(r"^ *def (\w+)", path.read_text("utf-8"), re.MULTILINE)
        if any(re.match(word["pattern"], name) for word in WORDS["name"])
    ]
    for name in tp.__all__:
        if callable(item := getattr(tp, name)):
            wrong += [
                f"tp.{name}({parameter})"
                for parameter in inspect.signature(item).parameters
                if any(re.match(word["pattern"], parameter) for word in WORDS["parameter"])
            ]
    assert not wrong


def test_the_users_guide_is_short_and_every_page_is_in_the_book():
    nav = read_nav()
    guide = [*list_pages(nav["User's guide"])]
    assert len(guide) <= MOST_PAGES
    listed = {page for section in nav.values() for page in list_pages(section)}
    assert {
        str(page.relative_to(ROOT / "docs")) for page in PAGES if "docs" in page.parts
    } <= listed


def test_forbidden_words_are_seen():
    assert find_words("What the table told us")
    assert find_words("a row a token")
    assert not find_words("The option `--told` reads “as told” in the paper.")
