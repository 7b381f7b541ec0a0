"""The Mathematics Dataset: generated, or from the published files."""
