"""From a model and data to a store: every vector of the chosen sites, streamed and resumable."""

from tprprobe.extraction.blocks import extract

__all__ = ["extract"]
