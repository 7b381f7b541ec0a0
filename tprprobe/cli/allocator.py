"""How a command's process takes and gives back memory."""

import ctypes

MMAP_THRESHOLD, TRIM_THRESHOLD = -3, -1  # parameters of glibc's mallopt
LARGEST = 32 * 2**20  # bytes that are taken from the heap, the most that glibc allows
TRIM_BYTES = 256 * 2**20  # bytes of freed memory that are not given back


def keep_freed_memory() -> None:
    """Makes glibc use freed memory again: the first touch of fresh pages takes up to a quarter of a pass in a virtual machine."""
    try:
        mallopt = ctypes.CDLL(None).mallopt
    except (OSError, AttributeError, TypeError):
        return
    mallopt(MMAP_THRESHOLD, LARGEST)
    mallopt(TRIM_THRESHOLD, TRIM_BYTES)
