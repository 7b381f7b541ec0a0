"""What a damaged or hostile file makes a library raise, as one line."""

from collections.abc import Iterator
from contextlib import contextmanager

from tprprobe.errors import InputError

LONGEST = 200  # characters of a reason
PANIC = "PanicException"  # of libraries in Rust, which derives from BaseException
MOST = 1000  # how many times smaller compression may make numbers


@contextmanager
def as_input_error(said: str, remedy: str = "") -> Iterator[None]:
    """A block in which libraries read a file; what they raise is an InputError, ``said`` with their reason.

    Such files make libraries raise errors of any kind. Only reading belongs in the block.

    Raises:
        InputError: anything was raised.
    """
    try:
        yield
    except InputError:
        raise
    except BaseException as error:
        if not is_of_library(error):
            raise
        line = f"{said} ({reason(error)}): {remedy}" if remedy else f"{said}: {reason(error)}"
        raise InputError(line) from error


def is_of_library(error: BaseException) -> bool:
    """False for what ends the program: a signal, an exit."""
    return isinstance(error, Exception) or type(error).__name__ == PANIC


def check_claim(claimed: int, held: int, where: str) -> None:
    """Checks that an array of ``claimed`` bytes can lie in the ``held`` bytes of its file.

    Raises:
        InputError: it cannot, however well it is compressed.
    """
    if claimed > MOST * held:
        raise InputError(f"{where} claims {claimed:,} bytes, which its {held:,} do not hold")


def reason(error: BaseException) -> str:
    """What an error says, in one short line."""
    return " ".join(str(error).split())[:LONGEST] or type(error).__name__
