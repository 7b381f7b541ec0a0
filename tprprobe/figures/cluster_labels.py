"""What stands for a cluster in figures and tables: its color, its name, the tokens that are most its own, and whether it is stable."""

import re
from collections.abc import Collection, Iterable, Mapping
from typing import Any

import pandas as pd

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.clustering.clusters import BETWEEN, RECOVERED
from tprprobe.analyses.naming.names import UNNAMED
from tprprobe.figures.colors import palette
from tprprobe.figures.labels import site_label
from tprprobe.figures.look import current_look
from tprprobe.store.token_texts import is_special, quote_sign, sign, visible

KEY_LENGTH = 34  # characters of what a color means
SINGLE = re.compile(r"(\S+) (?:100|9[5-9])%")  # the token that a cluster is made of
TAGS = {  # signs of tags of a treebank, and what they are
    r"\b[A-Z]": "capitals: parts of speech",
    r"\b[a-z]+\b(?! ‘)": "small letters: relations to the head",
}
SIGNS = {  # in any name
    r"(?<!pos )[‘“]": "in quotes: tokens",
    r"\((?!1?\.\d)": "in parentheses: tokens most a cluster's own",
    r"\*(?: |$)": f"*: not found again from other random starts (Jaccard index below {RECOVERED:g})",
}
UNTAGGED = re.compile(r"(?<!pos )‘.*?’|[\[<].+?[\]>]|(?:place|word) \d+ from the \w+|special token")
LABELED = re.compile(r"\b(\w+)=([^\w\s]+?)(?=:? |$)")  # a sign that is a label
QUOTES = re.compile(r"‘(['‘’`]+)’")
PRECISION_SHOWN = re.compile(r" \([\d.]+\)$")
WORD_PLACE = re.compile(r"\bword \d+ from the ")
NAME_LENGTH = 52  # characters of two places
MARK_COLOR = (0.72, 0.72, 0.72)  # of clusters of special tokens


def label_named(names: pd.DataFrame) -> dict[int, str]:
    """The name of every cluster that has one, with its precision: `IN (.90)`; what a special token is needs none."""
    rows = names[names["name"] != UNNAMED].to_dict("records")
    precisions = (f"({row['precision']:.2f})".replace("(0.", "(.") for row in rows)
    return {
        row["cluster"]: f"{describe_name(row)} "
        + ("special token" if is_special(row["name"]) and row["precision"] == 1 else precision)
        for row, precision in zip(rows, precisions, strict=True)
    }


def describe_stability(roles: Clusters) -> str:
    """Into how many groups k-means divides the tokens, and how well other random starts agree."""
    return (
        f"k-means divides the tokens at {site_label(roles.site, roles.head)} into {roles.k} groups. From different random starts it finds groups that agree with "
        f"these to {roles.stability:.2f} (adjusted Rand index; 1: the same, 0: chance)."
    )


def describe_name(row: Mapping[Any, Any] | pd.Series) -> str:
    """The name of a cluster, in parentheses the word that it is made of where that is one, and a star if it is not stable."""
    name, word = str(row["name"]), SINGLE.match(str(row.get("commonest", "")))
    single = f" ({quote_sign(sign(word[1]))})" if word and sign(word[1]) not in name else ""
    if row["name"] == UNNAMED:
        return name
    text = quote_label(visible(name, NAME_LENGTH)) + single
    return QUOTES.sub(r"“\1”", text) + "*" * (row.get("recovery", 1.0) < RECOVERED)


def quote_label(text: str) -> str:
    """The text with signs that are labels in quotes: `pos ‘,’`."""
    return LABELED.sub(r"\1 ‘\2’", text)


def explain_signs(names: Iterable[str], tasks: Collection[str]) -> list[str]:
    """What the signs in names mean, of those that any has; tags where labels are parts of speech and relations alone."""
    text = " ".join(names)
    tags = re.sub(r"\(.*?\)", "", UNTAGGED.sub("", text)) if {*tasks} == {"pos", "dep"} else ""
    texts = [*((tags, *item) for item in TAGS.items()), *((text, *item) for item in SIGNS.items())]
    return [meaning for text, pattern, meaning in texts if re.search(pattern, text)]


def describe_clusters(
    roles: Clusters, names: Mapping[int, str], letters: int | None = None
) -> dict[int, str]:
    """Every cluster's number and its name; in parentheses the tokens that are most its own, as many as fit, where it has no name, shares it with another one, or is called by the place of a word."""
    length = letters or KEY_LENGTH - 10 * current_look().is_narrow
    summary = roles.summary
    listed_tokens = summary["distinctive"] if "distinctive" in summary else summary["top"]
    plain = {label: PRECISION_SHOWN.sub("", name) for label, name in names.items()}
    texts = dict[int, str]()
    for label, listed in zip(summary["cluster"].tolist(), listed_tokens, strict=True):
        name = names.get(label, "")
        listed = BETWEEN.join(quote_sign(token) for token in listed.split(BETWEEN) if token)
        is_vague = [*plain.values()].count(plain.get(label, "")) > 1 or bool(
            WORD_PLACE.search(name)
        )
        is_told = bool(name) and (not is_vague or listed.split(BETWEEN)[0] in name)
        tokens = f" ({cut_between(listed, length - len(name))})" * (not is_told)
        precision = name.removeprefix(plain.get(label, ""))
        texts[label] = f"{label}: {plain.get(label, '')}{tokens}{precision}".replace(":  ", ": ")
    return texts


def cut_between(tokens: str, length: int) -> str:
    """As many of the tokens as have room, the first in any case."""
    listed = tokens.split(BETWEEN)
    while len(listed) > 1 and len(BETWEEN.join(listed)) > length:
        listed.pop()
    return BETWEEN.join(listed)


def color_clusters(roles: Clusters) -> list[tuple[float, float, float]]:
    """A color of the palette for every cluster, gray for one of special tokens alone, such as [CLS]."""
    words, colors = map(SINGLE.match, roles.summary["top"]), iter(palette(roles.k))
    return [MARK_COLOR if word and is_special(word[1]) else next(colors) for word in words]
