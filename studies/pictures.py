"""``python -m studies.pictures FILE…``: SVG drawings of matplotlib in fewer bytes.

matplotlib writes six decimals, a list of fonts and a style with every text, and a name for every group. Two decimals
are a hundredth of a point, far below what a screen shows.
"""

import base64
import io
import re
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer
from PIL import Image

from tprprobe.files.writing import write_file

DECIMALS = 2
COLORS = 64  # of a bitmap
FONTS = re.compile(r" font-family: [^;\"]*;")
UNSEEN = re.compile(  # what no renderer draws, and rotations by nothing
    r"<\?xml[^>]*\?>|<!DOCTYPE[^>]*>|<!--.*?-->|<metadata>.*?</metadata>| transform=\"rotate\(-?0 [^\"]*\)\"",
    re.S,
)
NUMBER = re.compile(rf"-?\d+\.\d{{{DECIMALS + 1},}}(?![\w])")
ATTRIBUTES = re.compile(r"\b(?:d|x|y|x1|y1|x2|y2|width|height|transform|points)=\"[^\"]*\"")
IDENTIFIER = re.compile(r" id=\"(\w+)\"")
RECTANGLE = re.compile(r"M (\S+) (\S+) L (\S+) \2 L \3 (\S+) L \1 \4 z")
BITMAP = re.compile(r"data:image/png;base64,([\w+/=\s]+)")
STYLE = re.compile(r" style=\"([^\"]*)\"")
GROUP = re.compile(r"<g id=\"[\w.-]+\">")


def compact_svg(text: str) -> str:
    """Returns an SVG of the same drawing with fewer bytes."""
    text = FONTS.sub("", UNSEEN.sub("", text))
    text = text.replace("<svg ", '<svg font-family="DejaVu Sans, sans-serif" ', 1)
    text = ATTRIBUTES.sub(lambda match: _round_numbers(match[0]), text)
    text = RECTANGLE.sub(r"M\1 \2H\3V\4H\1z", text)
    text = BITMAP.sub(lambda match: _quantize(match[1]), text)
    text = _name_styles(_shorten_ids(GROUP.sub("<g>", text)))
    return re.sub(r">\s+<", "><", text).strip() + "\n"


def _quantize(encoded: str) -> str:
    """A bitmap inside the drawing, in COLORS colors."""
    content = io.BytesIO()
    with Image.open(io.BytesIO(base64.b64decode(encoded))) as image:
        image.convert("RGBA").quantize(COLORS, Image.Quantize.FASTOCTREE).save(
            content, "png", optimize=True
        )
    return "data:image/png;base64," + base64.b64encode(content.getvalue()).decode()


def _shorten_ids(text: str) -> str:
    for number, name in enumerate(dict.fromkeys(IDENTIFIER.findall(text))):
        text = re.sub(rf"(id=\"|#){name}\b", rf"\g<1>{number}_", text)
    return text


def _name_styles(text: str) -> str:
    """Styles that occur more than once become classes of the drawing's style sheet."""
    counts = Counter(STYLE.findall(text))
    names = {style: f"s{i}" for i, (style, n) in enumerate(counts.items()) if n > 1}
    rules = "".join(f".{name}{{{style}}}" for style, name in names.items())
    text = STYLE.sub(
        lambda match: f' class="{names[match[1]]}"' if match[1] in names else match[0], text
    )
    return text.replace("</style>", rules + "</style>", 1)


def _round_numbers(attribute: str) -> str:
    rounded = NUMBER.sub(
        lambda match: f"{float(match[0]):.{DECIMALS}f}".rstrip("0").rstrip("."), attribute
    )
    return re.sub(r"\s+", " ", rounded).replace(' "', '"')


def compact_file(file: Path) -> None:
    """Rewrites the file where that makes it smaller."""
    text = file.read_text("utf-8")
    if len(compact := compact_svg(text)) < len(text):
        write_file(file, compact)


def main(files: Annotated[list[Path], typer.Argument(help="SVG files.")]) -> None:
    """Rewrite the files where that makes them smaller."""
    for file in files:
        compact_file(file)


if __name__ == "__main__":
    typer.run(main)
