"""Exact structure that vectors are compared with."""

from tprprobe.gold.structure import annotate, arithmetic, evaluate, join, tally

__all__ = ["annotate", "arithmetic", "evaluate", "join", "tally"]
