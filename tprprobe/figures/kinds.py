"""The kind of folder that holds a report."""

from tprprobe.files.kinds import Kind

REPORT = Kind(("report.html",), "report RUN", is_beside=True)
