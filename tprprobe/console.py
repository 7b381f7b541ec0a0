"""Progress and messages on the terminal's error stream, never on stdout."""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, TypeVar

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.table import Column

if TYPE_CHECKING:
    import pandas as pd

T = TypeVar("T")
DECIMALS = 3  # of R², shares and their intervals, wherever they are printed
stderr = Console(stderr=True)


def note(line: str) -> None:
    """Prints a line on stderr as it is: no markup, colors or breaks."""
    stderr.print(line, markup=False, highlight=False, soft_wrap=True)


@contextmanager
def quiet() -> Iterator[None]:
    """No notes and no progress bars while it is open.

    Yields:
        Nothing.

    Examples:
        >>> with tp.quiet():
        ...     texts = tp.load_data(["Dogs chase cats."])
    """
    was_quiet, stderr.quiet = stderr.quiet, True
    try:
        yield
    finally:
        stderr.quiet = was_quiet


def format_table(table: "pd.DataFrame") -> str:
    """A table as text, its numbers with DECIMALS, a dash where there is none."""
    return table.to_string(index=False, na_rep="–", float_format=f"{{:.{DECIMALS}f}}".format)


def size_text(size: float) -> str:
    """A number of bytes as text: ``1.2 GB``."""
    units = ("bytes", "kB", "MB", "GB", "TB", "PB")
    power = min(int(math.log(max(size, 1), 1000)), len(units) - 1)
    return f"{size / 1000**power:.3g} {units[power]}"


def progress(is_shown: bool = True) -> Progress:
    """A progress bar on stderr, with room for a note, elapsed and remaining time."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.completed}/{task.total}"),
        TextColumn("{task.fields[note]}"),
        TimeElapsedColumn(table_column=Column(no_wrap=True)),  # the bar gives way, not the times
        TimeRemainingColumn(table_column=Column(no_wrap=True)),
    )
    return Progress(*columns, console=stderr, disable=not is_shown, speed_estimate_period=300)


def track(items: Iterable[T], title: str, total: int) -> Iterator[T]:
    """The items, with a progress bar while they are processed."""
    with progress() as bars:
        task = bars.add_task(title, total=total, note="")
        for item in items:
            yield item
            bars.advance(task)


@contextmanager
def track_stages(
    title: str,
) -> Iterator[tuple[Callable[[Sequence[T]], Iterator[T]], Callable[[str, int], None]]]:
    """A progress bar of parts that have stages each: what goes through the parts, and what a stage is
    reported to as it begins, with how many there are in a part.
    """
    with progress() as bars:
        task = bars.add_task(title, total=1, note="")
        n_done, n_stages, n_items = 0, 1, 1

        def through(items: Sequence[T]) -> Iterator[T]:
            nonlocal n_done, n_items
            n_items = len(items)
            for item in items:
                yield item
                n_done += 1
                bars.update(task, completed=n_done * n_stages, total=n_items * n_stages, note="")

        def report(stage: str, stages: int) -> None:
            nonlocal n_stages
            if n_stages != stages:
                n_stages = stages
                bars.update(task, completed=n_done * n_stages, total=n_items * n_stages)
            advance = 1 if bars.tasks[0].fields["note"] else 0
            bars.update(task, advance=advance, note=stage)

        yield through, report
