"""The report of a run as one file."""

from pathlib import Path
from tempfile import TemporaryDirectory

from tprprobe.figures.report.page import report_run


def report_bytes(run: Path) -> bytes:
    """The report of a run, as `tprprobe report` writes it; the run's folder is left as it is."""
    with TemporaryDirectory() as folder:
        return report_run(run, folder).read_bytes()
