"""Passes over a store's rows in parts, ranges of rows: computed here one after another, or by Dask's workers.

Parts and their order do not depend on who computes them, so that sums are the same to the last bit.
"""

import functools
import sys
import threading
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
LOST = 6  # times that as long after one another there is no worker

_thread = threading.local()  # the function that a thread of a worker has read last

Span = TypeVar("Span")  # a slice of rows, or what else a function takes
Result = TypeVar("Result")
Arguments = ParamSpec("Arguments")


def parts_of(rows: int, size: int | None = None) -> list[slice]:
    size = size or ROWS_PER_PART
    return [slice(start, min(start + size, rows)) for start in range(0, rows, size)]


def each_part(function: Callable[[Span], Result], spans: Sequence[Span]) -> Iterator[Result]:
    """The results of a function on every part, in order, by Dask's workers if this process has a client; lost parts are computed again."""
    client = find_client()
    if client is None or len(spans) == 1:
        yield from map(function, spans)
        return
    from distributed.protocol.pickle import dumps

    content = dumps(function)
    with _lost_workers():
        # its content as a task, which Dask repeats if the worker that holds it is lost
        sent = client.submit(lambda: content, pure=False)
        ahead = AHEAD * sum(client.nthreads().values())
        pending: deque[Any] = deque()
        for span in spans:
            pending.append(client.submit(_call, sent, span, pure=False))
            if len(pending) > ahead:
                yield _wait(client, pending.popleft())
        while pending:
            yield _wait(client, pending.popleft())


def _call(content: bytes, span: Any) -> Any:
    """The result of a function that every thread has for itself, since a model in use must not be sent on or shared."""
    from distributed.protocol.pickle import loads

    if getattr(_thread, "content", None) is not content:
        _thread.content, _thread.function = content, loads(content)
    return _thread.function(span)


def _wait(client: Any, task: Any) -> Any:
    n_lost = 0
    while n_lost < LOST:
        try:
            return task.result(timeout=PATIENCE)
        except TimeoutError:
            n_lost = 0 if client.nthreads() else n_lost + 1
    raise TimeoutError("none is left")


def find_client() -> Any:
    """Dask's client of this process, if it has one."""
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
    from distributed.comm.addressing import resolve_address

    try:
        resolve_address(address)  # refused here: a Client that refuses can block the next one
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except (OSError, ValueError, ImportError) as error:
        raise InputError(
            f"no Dask scheduler at {address!r}: give the address of `dask scheduler`, tcp://HOST:8786"
        ) from error
    with client, client.as_current():
        _check_workers(client, address)
        yield


def _check_workers(client: Any, address: str) -> None:
    try:
        versions = {*client.run(version, "tprprobe").values()}
    except PackageNotFoundError:
        versions = set[str]()
    if versions != {version("tprprobe")}:
        have = f"{address} has workers with tprprobe {', '.join(sorted(versions)) or 'nowhere'}"
        raise InputError(f"{have}: start `dask worker {address}` where it is {version('tprprobe')}")


@contextmanager
def _lost_workers() -> Iterator[None]:
    from distributed import CancelledError, KilledWorker
    from distributed.comm.core import CommClosedError

    try:
        yield
    except (CancelledError, KilledWorker, CommClosedError, TimeoutError) as error:
        raise InputError(
            f"Dask's workers were lost ({type(error).__name__}): start them again, with more memory if it ran out"
        ) from error


def in_one_thread(function: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
    """The function with one thread for BLAS, which rounds differently in several: ranks that err alike would change."""

    @functools.wraps(function)
    def limited(*args: Arguments.args, **options: Arguments.kwargs) -> Result:
        with threadpool_limits(1):
            return function(*args, **options)

    return limited
