"""Marks: the tokens marked in all views, as a text that fits in an address."""

import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Bool, Integer
from matplotlib.path import Path as Outline

from tprprobe.analyses.token_maps import Cloud
from tprprobe.errors import InputError
from tprprobe.store.layout import SAMPLE, SIDES
from tprprobe.store.token_texts import visible

MAX_TEXT, MAX_ROW = 4000, 2_000_000_000
MAX_TOKENS = 5000  # marked tokens in a table
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
PLACE = rf"{NUMBER},{NUMBER}"
ROWS = r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*"
ROW_KINDS = (*SIDES, SAMPLE)  # what rows are
FORMS = dict.fromkeys(ROW_KINDS, ROWS) | {"cluster": r"\d+(?:,\d+)*"}
FORMS |= {"lasso": rf"{PLACE}(?:,{PLACE}){{2,}}"}


@dataclass(frozen=True)
class Mark:
    """Marked tokens: rows (``source``, ``target``, ``sample``), clusters, or an area of the map (``lasso``: x,y,x,y,…)."""

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def clusters(self) -> list[int]:
        return [int(number) for number in self.value.split(",")] if self.kind == "cluster" else []

    def find(self, scene: Cloud) -> Bool[np.ndarray, " token"]:
        """The tokens of a scene that are marked, as flags."""
        if self.kind == "cluster":
            return np.isin(scene.roles.labels, self.clusters)
        if self.kind in ROW_KINDS:
            return self.contains(scene.rows, scene.side)
        return Outline(np.array(self.value.split(","), float).reshape(-1, 2)).contains_points(
            scene.points
        )

    def contains(self, rows: Integer[np.ndarray, " row"], side: str) -> Bool[np.ndarray, " row"]:
        """The rows of a side that are marked, as flags."""
        flags = np.zeros(len(rows), bool)
        for text in self.value.split(",") if self.kind == side else ():
            start, _, stop = text.partition("-")
            flags |= (rows >= int(start)) & (rows <= int(stop or start))
        return flags


def read_mark(text: str | None) -> Mark | None:
    """The mark that a text stands for; None for an empty text."""
    if not text:
        return None
    kind, _, value = text.partition(":")
    if len(text) > MAX_TEXT or kind not in FORMS or not re.fullmatch(FORMS[kind], value):
        accepted = "give source:1-5,9 or cluster:3 or lasso:x,y,x,y,x,y"
        raise InputError(f"unknown mark {text[:40]!r}: {accepted}")
    if kind in ("cluster", *ROW_KINDS) and max(map(int, re.findall(r"\d+", value))) > MAX_ROW:
        raise InputError(f"no token {value[:40]}: rows are counted from 0")
    return Mark(kind, value)


def list_marked(scene: Cloud, marked: Bool[np.ndarray, " token"]) -> pd.DataFrame:
    """The marked tokens (the first MAX_TOKENS of them), a row each, their texts made visible."""
    indices = np.flatnonzero(marked)[:MAX_TOKENS]
    tokens = scene.tokens.iloc[indices].reset_index(drop=True)
    table = tokens[["sample", "position"]].assign(token=tokens["token"].map(visible))
    table = table.assign(row=scene.rows[indices], cluster=scene.roles.labels[indices])
    if "question" in tokens:
        table["in"] = [visible(text, 80) for text in tokens["question"]]
    return table
