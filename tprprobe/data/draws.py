"""Examples that are made when they are read, in this process or in several."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread
from typing import TypeVar

CHUNK = 32  # examples that a process makes at a time

T = TypeVar("T")


def make(function: Callable[[range], list[T]], rows: range, workers: int) -> Iterator[T]:
    """The examples that the function makes of these rows, in their order."""
    chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    if workers and len(rows) > CHUNK:
        made = _in_order(function, chunks, workers)
    else:
        made = map(function, chunks)
    for examples in made:
        yield from examples


def _in_order(function: Callable, chunks: Iterator[range], workers: int) -> Iterator:
    """The function of every chunk in order, made by processes that stay a few chunks ahead."""
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        ahead = deque(pool.submit(function, chunk) for chunk in islice(chunks, 2 * workers))
        try:
            while ahead:
                yield ahead.popleft().result()
                ahead.extend(pool.submit(function, chunk) for chunk in islice(chunks, 1))
        finally:
            pool.shutdown(cancel_futures=True)


def _end_with_parent() -> None:
    """Makes a process end with the one that started it, and with no other signal."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
