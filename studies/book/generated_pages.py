"""Pages of the site that do not lie in docs/: generated ones, notebooks, files of other folders, and the laboratory's book.

mkdocs calls the functions whose names begin with ``on_`` (``hooks`` in mkdocs.yml).
"""

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from studies.book.architectures_page import write_architectures
from studies.book.commands_page import write_commands
from studies.book.interface_page import write_interface
from studies.book.notebooks import NOTEBOOKS, add_download, write_notebook

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
RESULTS = ROOT / "studies/results"  # the laboratory's book: the second half of the site
LABORATORY = "laboratory"  # its folder in the site
REAL = ROOT / "studies/real/results"  # the tables of models that other people trained
FOLDERS = {
    REAL: f"{LABORATORY}/real",
    RESULTS: LABORATORY,
    DOCS: "",
}  # in the checkout, and in the site
PUBLISHED = {  # other files outside docs/ that are pages of the site
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changes.md",
    "benchmarks/README.md": "measurements.md",
}
FENCE = re.compile(r"^(```.*?^```$)", re.DOTALL | re.MULTILINE)
LINK = re.compile(r"""(!?)\[([^\]]*)\]\(([^)#\s]+)(#[^)\s]*)?(\s+"[^"]*")?\)""")
LIST = re.compile(r"^(?!\s*([-*>#|]|\d+\.)|\s*$)(.+)\n(?=([-*] |\d+\. ))", re.MULTILINE)
ROLE = re.compile(r":(?:func|class|meth|mod):(<code>)")


def on_files(files: Any, config: Any) -> Any:
    """All files of the site: those of docs/, the generated ones, and the laboratory's."""
    from mkdocs.structure.files import File

    for name, text in generated():
        files.append(File.generated(config, name, content=text))
    paths = [
        path for folder in (RESULTS, REAL) for path in sorted(folder.rglob("*")) if path.is_file()
    ]
    for path in paths:
        files.append(File.generated(config, name_in_site(path), abs_src_path=str(path)))
    return files


def name_in_site(path: Path) -> str:
    """The name of a file of the checkout in the site; empty if the site does not have it."""
    for folder, home in FOLDERS.items():
        if path.is_relative_to(folder):
            return f"{home}/{path.relative_to(folder).as_posix()}".lstrip("/")
    inside = path.relative_to(ROOT).as_posix() if path.is_relative_to(ROOT) else ""
    return PUBLISHED.get(inside, "")


def find_source(name: str) -> Path:
    """The file of the checkout that a page of the site was made from."""
    if name.startswith(f"{LABORATORY}/"):
        return RESULTS / name.removeprefix(f"{LABORATORY}/")
    homes = {page: path for path, page in PUBLISHED.items()}
    return ROOT / homes.get(name, f"docs/{name}")


def generated() -> Iterator[tuple[str, str]]:
    """Every generated page: its name in the book, and its text."""
    from studies.book.gallery_page import write_gallery

    pages: dict[str, Callable[[], str]] = {
        "commands.md": write_commands,
        "api.md": write_interface,
        "gallery.md": write_gallery,
        "architectures.md": write_architectures,
    }
    for name, write in pages.items():
        yield name, write()
    for path, name in PUBLISHED.items():
        yield name, (ROOT / path).read_text("utf-8")
    for name in NOTEBOOKS:
        page = (DOCS / f"{name}.md").read_text("utf-8")
        yield f"{name}.ipynb", write_notebook(_with_links(page, f"{name}.md"))


def on_page_markdown(markdown: str, page: Any, **_: Any) -> str:
    """A page's text as the book needs it: lists set apart, links into other folders led to their pages, notebooks offered."""
    name = page.file.src_uri
    text, stem = _with_links(markdown, name), name.removesuffix(".md")
    return add_download(text, stem) if stem in NOTEBOOKS else text


def on_page_content(html: str, **_: Any) -> str:
    """The page without the marks of Sphinx that docstrings have."""
    return ROLE.sub(r"\1", html)


def _with_links(markdown: str, page: str) -> str:
    blocks = FENCE.split(markdown)
    return "".join(block if block.startswith("```") else _prose(block, page) for block in blocks)


def _prose(text: str, page: str) -> str:
    return LINK.sub(lambda link: _lead(link, page), LIST.sub(r"\2\n\n", text))


def _lead(link: re.Match[str], page: str) -> str:
    """A link as the site has it: to another page where there is one, else its text alone."""
    mark, text, target, anchor, title = link.groups("")
    path = Path(os.path.normpath(find_source(page).parent / target))
    if ":" in target or not path.exists():
        return link[0]  # another site; or nowhere, which the strict build refuses
    inside = name_in_site(path)
    if not inside:
        return text
    return f"{mark}[{text}]({os.path.relpath(inside, os.path.dirname(page) or '.')}{anchor}{title})"
