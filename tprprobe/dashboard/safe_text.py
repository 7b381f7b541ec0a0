"""Texts of unknown origin, made safe to show: one line, visible, nothing in them is executed; tokens as readers know them."""

import unicodedata

from tprprobe.figures.pieces import join as join
from tprprobe.figures.pieces import spell

LONGEST = 24
SIGNS = {"": "∅", " ": "␣", "\n": "↵", "\t": "⇥"}
HIDDEN = ("Cc", "Cf", "Cs", "Co", "Cn")
JOINERS = "\u200d\ufe0f"  # inside emoji


def sign(token: object) -> str:
    """The label of a token wherever one is drawn; tables keep tokens as they are."""
    return visible(spell(token))


def visible(text: object, longest: int = LONGEST) -> str:
    """The text with a visible sign for each character that cannot be seen or would turn other text
    around.
    """
    text = str(text)
    if text in SIGNS:
        return SIGNS[text]
    short = text if len(text) <= longest else f"{text[: longest - 1]}…"
    return "".join(map(_sign, short))


def _sign(character: str) -> str:
    if character in JOINERS or unicodedata.category(character) not in HIDDEN:
        return character
    return SIGNS.get(character, f"‹{ord(character):04X}›")


def plotted(text: object, longest: int = LONGEST) -> str:
    """The text for a plotly figure, which interprets tags and entities in its texts."""
    shown = visible(text, longest)
    return shown.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
