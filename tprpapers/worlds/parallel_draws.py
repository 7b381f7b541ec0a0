"""Examples that are drawn when they are read, in this process or in several."""

import os
import signal
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from itertools import islice
from multiprocessing import get_context, parent_process
from threading import Thread, current_thread, main_thread
from typing import TypeVar

STOPPING = (signal.SIGINT, signal.SIGTERM)
CHUNK = 32  # examples that a process makes at a time

T = TypeVar("T")


def make(
    function: Callable[[Sequence[int]], list[T]], rows: Sequence[int], workers: int
) -> Iterator[T]:
    """The examples that the function makes of these rows, in their order."""
    chunks = (rows[start : start + CHUNK] for start in range(0, len(rows), CHUNK))
    if workers and len(rows) > CHUNK:
        batches = _in_order(function, chunks, workers)
    else:
        batches = map(function, chunks)
    for examples in batches:
        yield from examples


def _in_order(function: Callable, chunks: Iterator[Sequence[int]], workers: int) -> Iterator:
    """The function of every chunk in order, made by processes that stay a few chunks ahead."""
    with ProcessPoolExecutor(workers, get_context("spawn"), _end_with_parent) as pool:
        ahead: deque[Future] = deque()
        try:
            while True:
                for chunk in islice(chunks, 2 * workers - len(ahead)):
                    with _uninterrupted():  # a process may start for it, which nothing cuts short
                        ahead.append(pool.submit(function, chunk))
                if not ahead:
                    return
                yield ahead.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)


@contextmanager
def _uninterrupted() -> Iterator[None]:
    """A block that SIGINT and SIGTERM reach when it ends, and the processes that start in it never."""
    if current_thread() is not main_thread():  # others get no signals
        yield
        return
    caught: list[int] = []
    handlers = {
        signal_number: signal.signal(signal_number, lambda number, _: caught.append(number))
        for signal_number in STOPPING
    }
    _mask(signal.SIG_BLOCK)  # which processes inherit
    try:
        yield
    finally:
        _mask(signal.SIG_UNBLOCK)
        for signal_number, handler in handlers.items():
            signal.signal(signal_number, handler or signal.SIG_DFL)
        for number in caught:
            signal.raise_signal(number)


def _mask(how: int) -> None:
    if hasattr(signal, "pthread_sigmask"):  # not on Windows
        signal.pthread_sigmask(how, STOPPING)


def _end_with_parent() -> None:
    """Makes a process end with the one that started it, and with no SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # which a terminal sends to all
    _mask(signal.SIG_UNBLOCK)
    parent = parent_process()
    if parent is not None:
        Thread(target=lambda: (parent.join(), os._exit(1)), daemon=True).start()
