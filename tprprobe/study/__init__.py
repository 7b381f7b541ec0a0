"""Matched studies: several models trained on the same data, order and steps, with several seeds."""

from tprprobe.study.plans import Plan, is_plan, read_plan
from tprprobe.study.running import run_study

__all__ = ["Plan", "is_plan", "read_plan", "run_study"]
