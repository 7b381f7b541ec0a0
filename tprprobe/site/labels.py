"""Sites and heads as people say them."""

import re
from typing import Any

import pandas as pd

LAYER = re.compile(r"(?:(encoder|decoder|layers|blocks)\.)(-?\d+)(?:\.|$)")
IMPLIED = ("self", "hidden", "attention")  # what a layer's site is unless it says otherwise


def site_label(site: object, head: Any = None) -> str:
    """A site in words: ``layer 5``, ``decoder layer 2, cross value``, ``layer 0, role, head 3``."""
    name = str(site)
    words = [name.removeprefix("encoder.").removeprefix("layers.")]
    if match := LAYER.match(name):
        stack = "decoder " if match[1] == "decoder" else ""
        kinds = [word for word in name[match.end() :].split(".") if word not in IMPLIED]
        words = [f"{stack}layer {match[2]}", *([" ".join(kinds)] if kinds else [])]
    if not (head is None or pd.isna(head) or head < 0):
        words.append(f"head {int(head)}")
    return ", ".join(filter(None, words))
