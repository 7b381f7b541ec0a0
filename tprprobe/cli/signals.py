"""SIGINT and SIGTERM: a command tidies up, says how to go on, and ends with 130 or 143."""

import signal

STOPPING = (signal.SIGINT, signal.SIGTERM)
ENDED = 128  # plus the signal's number: the exit code


class Stopped(BaseException):
    def __init__(self, number: int):
        super().__init__(number)
        self.number = number

    def __str__(self) -> str:
        return (
            f"stopped by {signal.Signals(self.number).name}: the same command goes on, with --resume if it has "
            "that option and results (--out)"
        )


def stop_by_signals() -> None:
    """Makes the signals raise `Stopped`, unless they are ignored (nohup); a second one ends the process at once."""
    for number in STOPPING:
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _stop)


def _stop(number: int, _frame: object) -> None:
    for stopping in STOPPING:
        signal.signal(stopping, signal.SIG_DFL)
    raise Stopped(number)
