"""A command's process: how it takes memory, and how SIGINT and SIGTERM end it (tidied up, with 130 or 143)."""

import ctypes
import signal

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # parameters of glibc's mallopt
LARGEST = 32 * 2**20  # bytes that are taken from the heap, the most that glibc allows
TRIM_BYTES = 256 * 2**20  # bytes of freed memory that are not given back
STOPPING = (signal.SIGINT, signal.SIGTERM)
ENDED = 128  # plus the signal's number: the exit code


def keep_freed_memory() -> None:
    """Makes glibc use freed memory again: the first touch of fresh pages takes up to a quarter of a pass in a virtual machine."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, TRIM_BYTES)


class Stopped(BaseException):
    def __init__(self, number: int):
        super().__init__(number)
        self.number = number


def stop_by_signals() -> None:
    """Makes the signals raise `Stopped`, unless they are ignored (nohup); a second one ends the process at once."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    for stopping in STOPPING:
        signal.signal(stopping, signal.SIG_DFL)
    raise Stopped(number)
