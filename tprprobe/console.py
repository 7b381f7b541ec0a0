"""Progress and messages on the terminal's error stream, never on stdout."""

from collections.abc import Iterable, Iterator
from typing import TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

T = TypeVar("T")
stderr = Console(stderr=True)


def progress(shown: bool = True) -> Progress:
    """A progress bar on stderr, with room for a note, elapsed and remaining time."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    return Progress(*columns, console=stderr, disable=not shown, speed_estimate_period=300)


def track(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    """The items, with a progress bar while they are processed."""
    with progress() as bars:
        task = bars.add_task(title, total=total, note="")
        for item in items:
            yield item
            bars.advance(task)
