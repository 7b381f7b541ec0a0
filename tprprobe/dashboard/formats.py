"""The files a view can become, with their types."""

FIGURES = {"pdf": "application/pdf", "svg": "image/svg+xml", "png": "image/png"}
TABLES = {"csv": "text/csv", "parquet": "application/vnd.apache.parquet"}
FORMATS = {**FIGURES, **TABLES}
