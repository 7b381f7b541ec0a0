"""Where progress and messages are written: the terminal's error stream, never stdout."""

from rich.console import Console

stderr = Console(stderr=True)
