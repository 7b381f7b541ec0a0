"""Passes over a store's rows in parts: computed here one after another, or by Dask's workers.

A part is a range of rows. The results come in the order of the parts wherever they are computed, and
parts do not depend on who computes them, so that what is summed up is the same to the last bit.
"""

import functools
import operator
import sys
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any, ParamSpec, TypeVar

from threadpoolctl import threadpool_limits

from tprprobe.errors import InputError, check_extra

ROWS_PER_PART = 2**16  # rows
AHEAD = 2  # parts under way for every thread of the workers
PATIENCE = "10s"  # until a scheduler answers
LOSSES, RESTART = (
    5,
    "60s",
)  # of workers, during one pass, and the time until another takes a lost one's place

Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def parts_of(rows: int, size: int | None = None) -> list[slice]:
    """The rows in parts of so many (by default PART)."""
    size = size or ROWS_PER_PART
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def each_part(function: Callable[[slice], Result], parts: Sequence[slice]) -> Iterator[Result]:
    """What a function returns of every part, in order.

    Dask's workers compute it if this process has a ``distributed.Client``: the function is sent to each
    of them once, and stores in it are opened there by their paths. A single part is computed here. If workers
    are lost, the others, or those that take their place, go on.

    Raises:
        InputError: as the function, or the workers were lost.
    """
    client = _find_client()
    if client is None or len(parts) == 1:
        yield from map(function, parts)
        return
    with _lost_workers() as lost:
        n_done = losses = 0
        while n_done < len(parts):
            try:
                for result in _computed(client, function, parts[n_done:]):
                    n_done += 1
                    yield result
            except lost:
                losses += 1
                if losses > LOSSES:
                    raise
                client.wait_for_workers(1, timeout=RESTART)


def _computed(
    client: Any, function: Callable[[slice], Result], parts: Sequence[slice]
) -> Iterator[Result]:
    """The results of Dask's workers, to all of whom the function is sent first."""
    sent = client.scatter(function, broadcast=True, hash=False)
    ahead = AHEAD * sum(client.nthreads().values())
    begun: deque[Any] = deque()
    for rows in parts:
        begun.append(client.submit(operator.call, sent, rows, pure=False))
        if len(begun) > ahead:
            yield begun.popleft().result()
    while begun:
        yield begun.popleft().result()


def _find_client() -> Any:
    """The client of Dask's workers that this process works with; None without one."""
    distributed = sys.modules.get("distributed")
    try:
        return distributed and distributed.Client.current()
    except ValueError:
        return None


@contextmanager
def scheduled(address: str | None) -> Iterator[None]:
    """A block whose passes are computed by the workers of the Dask scheduler at an address, if one is given."""
    if address is None:
        yield
        return
    check_extra("distributed", "dask", "--scheduler")
    from distributed import Client

    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(
            f"no Dask scheduler answers at {address!r}: give the address that `dask scheduler` prints, "
            "like tcp://HOST:8786"
        ) from error
    with client, client.as_current():
        _check_workers(client, address)
        yield


def _check_workers(client: Any, address: str) -> None:
    local = version("tprprobe")
    try:
        versions = client.run(version, "tprprobe")
    except PackageNotFoundError:
        versions = {"": "none"}
    if not versions:
        raise InputError(f"{address} has no workers: start one with `dask worker {address}`")
    if different := {*versions.values()} - {local}:
        raise InputError(
            f"a worker of {address} has tprprobe {different.pop()}, here it is {local}: install the same"
        )


@contextmanager
def _lost_workers() -> Iterator[tuple[type[BaseException], ...]]:
    """A block whose error is one line where it is one of these: workers that are gone took what they had with them."""
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    lost = (CancelledError, KilledWorker, CommClosedError)
    try:
        yield lost
    except (*lost, TimeoutError) as error:
        raise InputError(
            f"Dask's workers were lost ({type(error).__name__}): start them again, with more memory "
            "if it ran out"
        ) from error


def in_one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with one thread for BLAS, whose sums round differently with another number of threads: a rounding
    decides between penalties or ranks that err alike, and a control's gain then changes its sign.
    """

    @functools.wraps(function)
    def limited(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        with threadpool_limits(1):
            return function(*args, **options)

    return limited
