"""What a chart shows: dots with intervals, lines by layer, squares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float


@dataclass(frozen=True)
class Dots:
    """Values with intervals, a line per name, a color per group: ``rows`` have name, group, value, low, high."""

    rows: pd.DataFrame
    label: str = ""


@dataclass(frozen=True)
class Lines:
    """Lines by layer in panels: ``rows`` have panel, line, x, value, low, high, told (for the pointer), sure (filled
    marks); ``bands`` have panel, x, value, low, high: the strongest control.
    """

    rows: pd.DataFrame
    bands: pd.DataFrame
    label: str = ""
    x: str = "layer"
    percent: bool = True


@dataclass(frozen=True)
class Squares:
    """Numbers from 0 to 1 (from −1 to 1 if ``signed``) as squares, with what is written in and told of every one."""

    values: Float[np.ndarray, "row column"]
    rows: Sequence[str]
    columns: Sequence[str]
    titles: tuple[str, str] = ("", "")
    texts: np.ndarray | None = None
    told: np.ndarray | None = None
    signed: bool = False
