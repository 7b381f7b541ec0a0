"""Exact structure that vectors are compared with."""

from tprprobe.gold.joining import join
from tprprobe.gold.structure import annotate, arithmetic, evaluate, tally

__all__ = ["annotate", "arithmetic", "evaluate", "join", "tally"]
