"""Marks: the tokens marked in all views, as a text that fits in an address."""

import re
from dataclasses import dataclass

import numpy as np
from jaxtyping import Bool, Integer
from matplotlib.path import Path as Outline

from tprprobe.dashboard.scene import Cloud
from tprprobe.errors import InputError
from tprprobe.store.layout import SAMPLE, SIDES

LONGEST, MOST_ROWS = 4000, 2_000_000_000
NUMBER = r"-?\d+(?:\.\d+)?(?:e-?\d+)?"
ROWS = re.compile(r"\d+(?:-\d+)?(?:,\d+(?:-\d+)?)*")
COUNTED = (*SIDES, SAMPLE)  # what rows are
FORMS = {
    **dict.fromkeys(COUNTED, ROWS),
    "cluster": re.compile(r"\d+(?:,\d+)*"),
    "box": re.compile(rf"{NUMBER}(?:,{NUMBER}){{3}}"),
    "lasso": re.compile(rf"{NUMBER}(?:,{NUMBER}){{5,}}"),
}


@dataclass(frozen=True)
class Mark:
    """Marked tokens: rows (``source``, ``target``, ``sample``), clusters, or an area of the map.

    ``box`` is x0,y0,x1,y1 and ``lasso`` x,y,x,y,… in the coordinates of the map.
    """

    kind: str
    value: str

    def __str__(self) -> str:
        return f"{self.kind}:{self.value}"

    @property
    def clusters(self) -> list[int]:
        return self._numbers(int)

    def find(self, scene: Cloud) -> Bool[np.ndarray, " token"]:
        """The tokens of a scene that are marked, as flags."""
        if self.kind == "cluster":
            return np.isin(scene.roles.labels, self.clusters)
        if self.kind in COUNTED:
            return self.contains(scene.rows, scene.side)
        numbers = np.array(self._numbers(float)).reshape(-1, 2)
        if self.kind == "box":
            low, high = numbers.min(0), numbers.max(0)
            return ((scene.points >= low) & (scene.points <= high)).all(1)
        return Outline(numbers).contains_points(scene.points)

    def contains(self, rows: Integer[np.ndarray, " row"], side: str) -> Bool[np.ndarray, " row"]:
        """The rows of a side that are marked, as flags."""
        found = np.zeros(len(rows), bool)
        for part in self.value.split(",") if self.kind == side else ():
            first, _, last = part.partition("-")
            found |= (rows >= int(first)) & (rows <= int(last or first))
        return found

    def _numbers(self, kind: type) -> list:
        return [kind(part) for part in self.value.split(",")]


def read_mark(text: str | None) -> Mark | None:
    """The mark that a text stands for; None for an empty text.

    Raises:
        InputError: it says none.
    """
    if not text:
        return None
    kind, _, value = text.partition(":")
    form = FORMS.get(kind)
    if len(text) > LONGEST or form is None or not form.fullmatch(value):
        raise InputError(
            f"unknown mark {text[:40]!r}: give source:1-5,9 or cluster:3 or box:x0,y0,x1,y1"
        )
    if kind in ("cluster", *COUNTED) and max(map(int, re.findall(r"\d+", value))) > MOST_ROWS:
        raise InputError(f"no token {value[:40]}: rows are counted from 0")
    return Mark(kind, value)


def mark_rows(rows: Integer[np.ndarray, " row"], side: str) -> Mark | None:
    """The mark of some rows of a side, as briefly as possible; None for no rows."""
    if not len(rows):
        return None
    rows = np.unique(rows)
    ends = np.flatnonzero(np.diff(rows) > 1)
    starts, stops = rows[[0, *(ends + 1)]], rows[[*ends, len(rows) - 1]]
    parts = [f"{a}" if a == b else f"{a}-{b}" for a, b in zip(starts, stops, strict=True)]
    return Mark(side, ",".join(parts))


def mark_area(scene: Cloud, outline: np.ndarray, kind: str) -> Mark | None:
    """The tokens in an area of the map: by their rows where these are few, else by the area."""
    area = Mark(kind, ",".join(f"{number:.4g}" for number in np.ravel(outline)))
    rows = mark_rows(scene.rows[area.find(scene)], scene.side)
    if rows is None or len(rows.value) <= LONGEST // 4:
        return rows
    return area


def mark_clusters(clusters: list[int]) -> Mark | None:
    """The mark of whole clusters; None for no clusters."""
    return Mark("cluster", ",".join(map(str, sorted(clusters)))) if clusters else None
