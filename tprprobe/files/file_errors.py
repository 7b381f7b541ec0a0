"""What a damaged or hostile file makes a library raise, as one line."""

import errno
import io
import os
import re
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr
from io import StringIO
from pathlib import Path
from tempfile import TemporaryFile

from tprprobe.errors import InputError

LONGEST = 200  # characters of a reason
VERBOSE = "TPRPROBE_VERBOSE"  # set by --verbose: what libraries write is shown
PANIC = "PanicException"  # of libraries in Rust, which derives from BaseException
NO_MEMORY = re.compile(
    "not enough memory|can('t| ?not) allocate|out of memory|bad_alloc|failed to map segment|can't start new thread"
)
ALLOCATION = re.compile(r"allocate ([\d.]+) (bytes|[kmgtpe]ib)")
SMALL, GAIN = 2**28, 100  # bytes of an archive that is no bomb, and how far archives shrink files
MAX_RATIO = 1000  # how many times smaller compression may make numbers


@contextmanager
def as_input_error(message: str, remedy: str = "") -> Iterator[None]:
    """A block in which libraries read a file, and nothing else: whatever they raise is an InputError, ``message`` with their reason."""
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not isinstance(error, Exception) and type(error).__name__ != PANIC:
            raise  # what ends the program: a signal, an exit
        if lacks_memory(error, claims=True):
            raise too_little_memory(error) from error
        line = f"{message} ({reason(error)}): {remedy}" if remedy else f"{message}: {reason(error)}"
        raise InputError(line) from error


@contextmanager
def held_back() -> Iterator[None]:
    """A block in which what libraries write to the terminal, in Python or below it, is held back."""
    try:
        stderr_copy = None if os.environ.get(VERBOSE) else os.dup(2)
    except OSError:  # there is no terminal's error stream
        stderr_copy = None
    if stderr_copy is None:
        yield
        return
    with TemporaryFile() as file, redirect_stderr(StringIO()):
        os.dup2(file.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr_copy, 2)
            os.close(stderr_copy)


def lacks_memory(error: BaseException, claims: bool = False) -> bool:
    """True for an allocation that failed; of a file's ``claims`` only if this machine has so much at all."""
    text = str(error).lower()
    is_memory = isinstance(error, MemoryError) or getattr(error, "errno", 0) == errno.ENOMEM
    if not is_memory and not NO_MEMORY.search(text):
        return False
    match = ALLOCATION.search(text)
    n_bytes = float(match[1]) * 1024 ** "bkmgtpe".index(match[2][0]) if match else 0
    return not claims or n_bytes <= physical_memory()


def too_little_memory(error: BaseException) -> InputError:
    return InputError(
        f"the memory here does not suffice ({reason(error)}; the machine has {physical_memory():,} bytes): give "
        "fewer samples (-n) or sites (--sites), --dtype bfloat16 for a large model, or a smaller --budget where "
        "there is one"
    )


def physical_memory() -> int:
    return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")


def check_claim(claimed: int, size: int, where: str) -> None:
    if claimed > MAX_RATIO * size:
        raise InputError(f"{where} claims {claimed:,} bytes, which its {size:,} do not hold")


def check_unpacked(size: int, packed: int, where: object, small: int = SMALL) -> None:
    if size > max(small, GAIN * packed):
        raise InputError(f"{where} unpacks to more than {GAIN} times its {packed:,} bytes")


def check_zip(file: Path | io.BufferedIOBase, packed: int, where: object) -> None:
    """Checks by its list of members that a zip file, such as one of torch.save, is no bomb."""
    if zipfile.is_zipfile(file):
        with zipfile.ZipFile(file) as archive:
            check_unpacked(sum(info.file_size for info in archive.infolist()), packed, where)


def reason(error: BaseException) -> str:
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
