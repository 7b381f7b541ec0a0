"""The one kind of error that a user can cause, and its wording."""

import difflib
import os
from collections.abc import Iterable
from importlib.util import find_spec

LONGEST = 2000  # characters of an error


class InputError(ValueError):
    """Bad input: one line with what was given, what is accepted and what to do (a command exits with 2).

    Args:
        message: The line; characters that do not print are escaped, and a line that is too long is cut.

    Examples:
        >>> tp.load_model("tpt-c-arithmetik")
        Traceback (most recent call last):
        tprprobe.errors.InputError: ...
    """

    def __init__(self, message: str):
        line = "".join(char if char.isprintable() else repr(char)[1:-1] for char in message)
        if len(line) > LONGEST:
            line = f"{line[: LONGEST // 2]} … {line[-LONGEST // 2 :]}"
        super().__init__(line)


def unknown(kind: str, value: object, accepted: Iterable[str]) -> InputError:
    """The error for a name that is not among the accepted ones, with the nearest of them suggested."""
    names = [str(name) for name in accepted]
    lower = {name.lower(): name for name in names}
    word, alike = str(value).lower(), difflib.SequenceMatcher
    near = max(lower, key=lambda name: alike(None, name, word).ratio(), default="")
    is_near = alike(None, near, word).ratio() >= 0.5
    hint = f"; did you mean {lower[near]!r}?" if lower and is_near else ""
    listed = ", ".join(repr(name) if "," in name else name for name in names[:24])
    listed += f", … ({len(names)})" * (len(names) > 24)
    return InputError(f"unknown {kind} {str(value)!r}{hint} (accepted: {listed})")


def check_extra(package: str, extra: str, purpose: str | os.PathLike[str]) -> None:
    """Checks that the package of an extra is installed, for a purpose that the error names.

    Raises:
        InputError: the package is missing; the line has the `pip install` to type.
    """
    if find_spec(package) is None:
        raise InputError(f"{purpose} needs {package}: pip install 'tprprobe[{extra}]'")
