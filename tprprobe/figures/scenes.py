"""Scenes: what a picture shows, as data. ``dots`` draws them on paper, ``charts`` in a browser."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from tprprobe.errors import unknown

GAP = "\u2003"  # the name of an empty column
BAND = ["panel", "x", "value", "low", "high"]
LEVEL = ["panel", "line", "value"]


def find_panel(panel: int | str, panels: Sequence[str]) -> int:
    """The number of a panel that is named by its number from 0 or its name."""
    names = [name.partition("\n")[0] for name in panels]
    keys, key = [name.casefold() for name in names], str(panel).casefold()
    index = str(keys.index(key) if key in keys else panel)
    numbers = [str(i) for i in range(len(names))]
    if index not in numbers:
        raise unknown("panel of this figure", panel, [*numbers, *names])
    return int(index)


@dataclass(frozen=True, eq=False, kw_only=True)
class Scene:
    """A picture with its title, and lines of text below it."""

    title: str = ""
    note: str = ""

    @property
    def panels(self) -> list[str]:
        """The names of its panels."""
        return [self.title]

    def tabulate(self) -> pd.DataFrame:
        """The numbers that are drawn; empty where these are no table."""
        return getattr(self, "rows", pd.DataFrame())

    def choose(self, panel: int | str) -> Any:
        """One panel alone, by its number from 0 or its name."""
        name, rows = self.panels[find_panel(panel, self.panels)], getattr(self, "rows", None)
        if rows is None or "panel" not in rows:
            return self
        return replace(self, rows=rows[rows["panel"] == name])


@dataclass(frozen=True, eq=False)
class Dots(Scene):
    """Values with intervals, a line per name, a color per group: ``rows`` have name, group, value, low, high; ``percent`` as in Lines."""

    rows: pd.DataFrame
    label: str = ""
    limits: tuple[float, float] | None = None
    percent: bool = True

    @property
    def lines(self) -> "pd.Series[Any]":
        """What has a color and a mark."""
        return self.rows["group"]


@dataclass(frozen=True, eq=False)
class Shares(Scene):
    """Bars of parts of a whole: ``rows`` have panel, name (of a bar), part and value; estimates also low, high and
    sure: a part that is not sure is hatched and has no number, and one that is has its interval as a thin line, and a number unless this is wide.
    """

    rows: pd.DataFrame
    label: str = ""

    @property
    def panels(self) -> list[str]:
        return self.rows["panel"].unique().tolist()

    def find_end(self) -> float:
        """The end of the axis: 1, or a little beyond that of the longest bar or interval, which is seen to end."""
        lengths = self.rows.assign(value=self.rows["value"].clip(lower=0))
        ends = lengths.groupby(["panel", "name"])["value"].cumsum()
        if "high" in lengths:
            highs = (ends - lengths["value"] + lengths["high"]).where(lengths["sure"].astype(bool))
            ends = pd.concat([ends, highs])
        longest = round(ends.max(), 6)
        return 1.0 if longest <= 1 else 1.03 * longest


@dataclass(frozen=True, eq=False)
class Lines(Scene):
    """Lines in panels: ``rows`` have panel, line, x, value, low, high, sure (filled marks), told (for the pointer), and may have best (marks with a ring).

    ``bands`` have panel, x, value, low, high: the strongest control. ``levels`` (panel, line, value) are the same at every
    x; lines of one ``group`` have one color. ``across`` is the number of panels in a row; ``log`` and
    ``log_value`` say that x and values have a logarithmic scale, ``percent`` that values are in percent, in all panels or in some. The legend says what the ``band`` is, and what ``hollow`` marks are.
    A panel that is drawn alone has its own of the ``notes``.
    """

    rows: pd.DataFrame
    bands: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=BAND))
    label: str = ""
    x: str = "layer"
    percent: bool | Collection[str] = True
    levels: pd.DataFrame = field(default_factory=lambda: pd.DataFrame(columns=LEVEL))
    across: int = 3
    log: bool = False
    log_value: bool = False
    limits: tuple[float | None, float | None] | None = None
    band: str = "strongest control"
    hollow: str = ""
    notes: Mapping[str, str] = field(default_factory=dict)

    @property
    def panels(self) -> list[str]:
        return self.rows["panel"].unique().tolist()

    @property
    def lines(self) -> "pd.Series[Any]":
        """What has a color, a mark and dashes."""
        return self.rows["line"]

    @property
    def ticks(self) -> dict[float, str]:
        """The name of every layer, which rows may have as ``tick``."""
        points = self.rows.dropna(subset="x")
        names = points["x"].map("{:g}".format).replace("-1", "emb")
        return dict(zip(points["x"].tolist(), points.get("tick", names), strict=True))

    @property
    def named_bands(self) -> pd.DataFrame:
        """The bands with the name of their line, in which ``bands`` that differ by model have the model."""
        return self.bands.assign(line=self.bands.get("line", "") + self.band)

    def choose(self, panel: int | str) -> "Lines":
        alone = super().choose(panel)
        return replace(alone, note=self.notes.get(alone.panels[0], self.note))

    def tabulate(self) -> pd.DataFrame:
        """Lines, and the levels and the strongest control of their panels; layers and steps are integers."""
        names = ["panel", "line", "x", "value", "low", "high"]
        further = ("best", "n_train", "n_test", "split", "measure")
        names += [name for name in further if name in self.rows]
        table = pd.concat([self.rows, self.named_bands, self.levels], ignore_index=True)
        table = table[table["panel"].isin(self.panels)][names]
        ranks = pd.factorize(table["line"])[0], table["panel"].map(self.panels.index)
        table = table.iloc[np.lexsort(ranks)]
        table["line"] = table["line"].str.removeprefix(
            "_"
        )  # of a pair that has one entry in the legend
        integers: Any = table.drop(columns=["value", "low", "high"]).convert_dtypes()
        return table.assign(**integers).rename(columns={"x": self.x}).reset_index(drop=True)

    def is_percent(self, panel: str) -> bool:
        return self.percent if isinstance(self.percent, bool) else panel in self.percent


@dataclass(frozen=True, eq=False)
class Squares(Scene):
    """Numbers from 0 to 1 (from −1 to 1 if ``signed``) as squares, with what is written in and told of every one.

    ``groups`` have a color each, by ``order``; a square has its group's, paler for smaller numbers; those of groups in ``gray`` stand back. Those ``within`` their control are pale.
    ``marks`` are the rows of a file of numbers, where these tell more than the values.
    """

    values: Float[np.ndarray, "row column"]
    rows: Sequence[str]
    columns: Sequence[str]
    titles: tuple[str, str] = ("", "")
    texts: np.ndarray | None = None
    told: np.ndarray | None = None
    signed: bool = False
    bar: str = ""
    groups: np.ndarray | None = None
    order: Sequence[str] = ()
    gray: Sequence[str] = ()
    within: Bool[np.ndarray, "row column"] | None = None
    marks: pd.DataFrame | None = None

    def tabulate(self) -> pd.DataFrame:
        if self.marks is not None:
            return self.marks.dropna(axis=1, how="all")
        height, width = np.shape(self.values)
        columns = np.array([*self.columns] or range(width))
        names = {
            self.titles[0] or "row": np.repeat([*self.rows] or range(height), width),
            self.titles[1] or "column": np.tile(columns, height),
        }
        table = pd.DataFrame(names | {"value": np.ravel(self.values)})
        return table[np.tile(columns != GAP, height)].reset_index(drop=True)


@dataclass(frozen=True, eq=False)
class Grid(Scene):
    """Several pictures, at most ``across`` in a row: squares, points in the plane, dots, and lines of one panel each."""

    pictures: Sequence[Scene]
    across: int = 2

    @property
    def panels(self) -> list[str]:
        return [picture.title for picture in self.pictures]

    def tabulate(self) -> pd.DataFrame:
        tables = {
            picture.title: picture.tabulate().assign(measure=getattr(picture, "label", ""))
            for picture in self.pictures
        }
        return pd.concat(tables, names=["picture"]).droplevel(1).reset_index()

    def choose(self, panel: int | str) -> Any:
        return replace(self.pictures[find_panel(panel, self.panels)], note=self.note)
