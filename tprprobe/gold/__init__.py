"""Exact structure that vectors are compared with."""

from tprprobe.gold.expressions import annotate, arithmetic, tally
from tprprobe.gold.joining import join
from tprprobe.gold.parsing import evaluate

__all__ = ["annotate", "arithmetic", "evaluate", "join", "tally"]
