"""A command that a test runs in its own process."""

from typer.testing import CliRunner, Result

from tprprobe.cli import app


def run_command(*words: object) -> Result:
    """What a command printed, which has to succeed; an error of its input is raised."""
    result = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result
