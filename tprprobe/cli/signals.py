"""SIGINT and SIGTERM: a command tidies up, says how to go on, and ends with 130 or 143."""

import inspect
import signal
from collections.abc import Callable, Mapping, Sequence
from typing import Any

STOPPING = (signal.SIGINT, signal.SIGTERM)
ENDED = 128  # plus the signal's number: the exit code
# without --out, too
HAVE_FOLDER = {
    "train",
    "extract",
    "intervene",
    "import",
    "features",
    "paper",
    "lapse",
    "trajectory",
}


class Stopped(BaseException):
    """A signal asked the process to end."""

    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    def advice(self, words: Sequence[str], commands: Mapping[str, Callable[..., Any]]) -> str:
        """What stopped the command of these words, and how to go on, in one line."""
        return f"stopped by {signal.Signals(self.number).name}: {_way_on(words, commands)}"


def stop_by_signals() -> None:
    """Makes the signals raise `Stopped`; a second one ends the process at once.

    A signal that is ignored (nohup) stays so.
    """
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    for each in STOPPING:
        signal.signal(each, signal.SIG_DFL)
    raise Stopped(number)


def _way_on(words: Sequence[str], commands: Mapping[str, Callable[..., Any]]) -> str:
    name = next((word for word in words if word in commands), "")
    if not name or "resume" not in inspect.signature(commands[name]).parameters:
        return "nothing is half written, give the command again"
    if name in HAVE_FOLDER or any(word.startswith("--out") for word in words):
        return "the same command with --resume goes on"
    return "without --out nothing is kept, give it and --resume goes on the next time"
