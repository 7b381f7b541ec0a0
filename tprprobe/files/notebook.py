"""What a notebook shows of a result: a heading, a table and small pictures in it, as HTML that loads nothing."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas as pd

ROWS = 20
WIDTH, HEIGHT = 90, 12  # of a picture, in pixels
COLOR = "#0072B2"
PICTURE = f'<svg width="{WIDTH}" height="{HEIGHT}" role="img" fill="{COLOR}" stroke="{COLOR}">'


def as_html(
    heading: str,
    table: "pd.DataFrame | None" = None,
    bar: str | None = None,
    interval: Sequence[str] = (),
    note: str = "",
) -> str:
    """A heading, the table's first rows, and a note; every text is escaped.

    ``bar`` names a column that is drawn as a bar, ``interval`` three (value, low, high) that are
    drawn as a dot on a line; all rows have one scale.
    """
    html = f"<p><b>{escape(heading)}</b></p>"
    if table is not None:
        rows = table.head(ROWS)
        drawn = _bars(rows[bar]) if bar else _intervals(rows, interval) if interval else []
        lines = [[f"<th>{escape(str(name))}</th>" for name in rows] + ["<th></th>"] * bool(drawn)]
        for number, row in enumerate(rows.itertuples(index=False)):
            pictures = [f"<td>{picture}</td>" for picture in drawn[number : number + 1]]
            lines.append([*(f"<td>{_cell(value)}</td>" for value in row), *pictures])
        html += "<table>" + "".join(f"<tr>{''.join(cells)}</tr>" for cells in lines) + "</table>"
        if len(table) > ROWS:
            note = f"{ROWS} of {len(table)} rows. {note}"
    return html + (f"<p>{escape(note)}</p>" if note else "")


def _cell(value: Any) -> str:
    """The value as text: numbers with three digits, missing ones as a dash."""
    if value is None or value != value or type(value).__name__ == "NAType":
        return "–"
    return escape(f"{value:.3g}" if isinstance(value, float) and abs(value) < 1000 else str(value))


def _bars(values: "pd.Series") -> list[str]:
    known = [0.0 if value != value else max(float(value), 0.0) for value in values]
    most = max([*known, 1e-12])
    bar = f'{PICTURE}<rect width="{{:.0f}}" height="{HEIGHT}" stroke="none"/></svg>'
    return [bar.format(WIDTH * value / most) for value in known]


def _intervals(rows: "pd.DataFrame", names: Sequence[str]) -> list[str]:
    intervals = rows[list(names)].astype(float).to_numpy().tolist()
    known = [value for row in intervals for value in row if value == value] or [0.0]
    low, span = min(known), (max(known) - min(known)) or 1.0
    return [_dot([4 + (WIDTH - 8) * (value - low) / span for value in row]) for row in intervals]


def _dot(places: Iterable[float]) -> str:
    value, low, high = places
    if value != value:
        return ""
    middle, line = HEIGHT / 2, ""
    if low == low and high == high:
        line = f'<line x1="{low:.0f}" x2="{high:.0f}" y1="{middle}" y2="{middle}"/>'
    return f'{PICTURE}{line}<circle cx="{value:.0f}" cy="{middle}" r="3"/></svg>'
