"""Annotated files as data sets."""
