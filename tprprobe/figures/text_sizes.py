"""Texts that follow what is known only when they are drawn: the room that a layout leaves, the ends of an axis."""

from typing import Any

import numpy as np
from matplotlib.artist import Artist
from matplotlib.text import Text

from tprprobe.figures.look import SOFT

REACH = 1.15  # sides of given axes that their title and labels may take


class CutMark(Text):
    """A break at the foot of a y axis, seen where it does not begin at 0."""

    def draw(self, renderer: Any) -> None:
        """Draws the mark above 0."""
        if self.axes is not None and self.axes.get_ylim()[0] > 0:
            super().draw(renderer)


class OwnTexts(Artist):
    """Nothing that is seen: where title and labels of given axes would reach beyond these, they are smaller."""

    def draw(self, renderer: Any) -> None:
        """Sets the sizes before the texts are drawn."""
        axes: Any = self.axes
        width, height = REACH * np.array(axes.get_window_extent(renderer).size)
        rooms = {axes.title: width, axes.xaxis.label: width, axes.yaxis.label: height}
        for text, room in rooms.items():
            text.set_text(text.get_text().replace(SOFT, "\n"))  # whose space would shift a line
            length = max(text.get_window_extent(renderer).size) if text.get_text() else room
            text.set_fontsize(min(1.0, room / length) * float(text.get_fontsize()))


class TextSizes(Artist):
    """Nothing that is seen: where a later layout leaves squares less than so many inches, all texts are as much smaller."""

    def __init__(self, cell: float):
        super().__init__()
        self.rest = cell

    def draw(self, renderer: Any) -> None:
        """Sets the sizes before the texts are drawn."""
        assert self.axes is not None
        corners = self.axes.transData.transform([(0, 0), (0, 1)])
        height = abs(np.diff(corners[:, 1]).item()) / renderer.points_to_pixels(72)
        ratio, self.rest = min(1.0, height / self.rest), min(self.rest, height)
        for text in self.axes.texts:
            text.set_fontsize(ratio * float(text.get_fontsize()))
