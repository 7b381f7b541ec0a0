"""Pages whose code is run: what a block prints stands below it, in a block ``output``.

Python blocks of a page share their names, as the cells of a notebook do, and the value of a block's last line is shown.
Of ``sh`` blocks the lines that begin with ``tprprobe`` are run, but for those that wait for somebody (WAITING).
"""

import ast
import contextlib
import io
import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from typer.testing import CliRunner

from studies.real.packages import fetch
from tprprobe.cli import app

DOCS = Path(__file__).parents[2] / "docs"
TUTORIALS = (
    *(f"tutorials/{path.stem}" for path in sorted((DOCS / "tutorials").glob("*.md"))),
    "papers/caption-tutorial",
    "decomposition",
)
REAL = {  # real models that a page reads: their folder in models/real, and the path by which the page names it
    "decomposition": {"g2p": "g2p_en"},
    "tutorials/huggingface": {
        "minilm": "sentence-transformers/all-MiniLM-L6-v2",
        "en_core_web_sm": "en_core_web_sm",
    },
}
BLOCK = re.compile(
    r"^```(python|sh)\n(.*?)^```\n(?:\n```output\n(.*?)^```\n)?", re.DOTALL | re.MULTILINE
)
PICTURE = re.compile(r"\]\((?:\.\./)?images/tutorials/([\w-]+)\.webp\)")
WAITING = ("app", "demo", "push")
NUMBER = re.compile(r"-?\d[\d,]*\.?\d*(?:e[-+]?\d+)?")
NEAR: Any = {"rtol": 0.1, "atol": 0.05}  # numbers: other processors sum in another order
PRINT_OPTIONS: Any = ("display.width", 110, "display.max_columns", 20, "display.max_rows", 20)


@dataclass(frozen=True)
class Block:
    """A block of code, what the page says that it prints, and what it printed."""

    language: str
    code: str
    expected: str
    printed: str

    def is_as_told(self) -> bool:
        """True if it printed what the page says: the same words, and numbers that are near."""
        expected, printed = _read_numbers(self.expected), _read_numbers(self.printed)
        return _words(self.expected) == _words(self.printed) and bool(
            np.allclose(expected, printed, **NEAR)
        )


def _words(text: str) -> list[str]:
    """What stands between the numbers of a text."""
    return re.sub(r"-{2,}", "-", NUMBER.sub("0", text)).split()


def _read_numbers(text: str) -> list[float]:
    return [float(number.replace(",", "")) for number in NUMBER.findall(text)]


def run_page(path: Path, folder: Path) -> list[Block]:
    """The blocks of a page, run in order in a folder.

    Raises:
        RuntimeError: a command ended with an error.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    with (
        contextlib.chdir(folder),
        pd.option_context(*PRINT_OPTIONS),
    ):
        return [
            Block(language, code, expected, _run(language, code, names))
            for language, code, expected in BLOCK.findall(path.read_text("utf-8"))
        ]


def place_models(page: str, folder: Path) -> None:
    """Puts the real models of a page where its code looks for them; they are fetched if they are not there.

    Raises:
        InputError: a model can neither be found nor fetched.
    """
    for name, place in REAL.get(page, {}).items():
        (folder / place).parent.mkdir(parents=True, exist_ok=True)
        (folder / place).symlink_to(fetch(name)[0].resolve())


def refresh(path: Path, folder: Path) -> None:
    """Writes what its code prints into a page, and the pictures that it draws beside it."""
    blocks = iter(run_page(path, folder))
    text = BLOCK.sub(lambda _: _written(next(blocks)), path.read_text("utf-8"))
    path.write_text(text, "utf-8")
    image_folder = DOCS / "images/tutorials"
    image_folder.mkdir(exist_ok=True)
    for name in PICTURE.findall(text):
        keep_picture(folder / f"{name}.png", image_folder)


def keep_picture(picture: Path, folder: Path) -> None:
    """Keeps a drawn PNG as WebP, without loss, in a folder."""
    from PIL import Image

    Image.open(picture).save(folder / f"{picture.stem}.webp", lossless=True, quality=90, method=6)


def pictures(path: Path) -> list[str]:
    """The names of the pictures of a page that its code draws."""
    return PICTURE.findall(path.read_text("utf-8"))


def command_lines(text: str) -> Iterator[list[str]]:
    """The words behind ``tprprobe`` of every command line of a text."""
    joined = text.replace("\\\n", " ")
    for line in joined.splitlines():
        if line.startswith("tprprobe "):
            yield shlex.split(line, comments=True)[1:]


def _written(block: Block) -> str:
    printed = f"\n```output\n{block.printed.rstrip()}\n```\n" if block.printed.strip() else ""
    return f"```{block.language}\n{block.code}```\n{printed}"


def _run(language: str, code: str, names: dict[str, Any]) -> str:
    return (
        _run_python(code, names)
        if language == "python"
        else "".join(map(_run_command, command_lines(code)))
    )


def _run_python(code: str, names: dict[str, Any]) -> str:
    *body, final = ast.parse(code).body
    has_value = isinstance(final, ast.Expr)
    stream = io.StringIO()
    with contextlib.redirect_stdout(stream):
        exec(
            compile(ast.Module(body if has_value else [*body, final], []), "<page>", "exec"), names
        )
        value = (
            eval(compile(ast.Expression(final.value), "<page>", "eval"), names)
            if has_value
            else None
        )  # type: ignore[union-attr]
        if value is not None:
            print(value if isinstance(value, str | pd.DataFrame) else repr(value))
    return stream.getvalue()


def _run_command(words: list[str]) -> str:
    if words[0] in WAITING:
        return ""
    result = CliRunner(env={"COLUMNS": "110", "NO_COLOR": "1", **os.environ}).invoke(app, words)
    if result.exit_code:
        raise RuntimeError(f"tprprobe {shlex.join(words)}: {result.output} {result.exception!r}")
    return result.stdout
