"""Exact structure that vectors are compared with."""

from tprprobe.gold.expressions import annotate, arithmetic, tally
from tprprobe.gold.formulas import evaluate
from tprprobe.gold.joining import join

__all__ = ["annotate", "arithmetic", "evaluate", "join", "tally"]
