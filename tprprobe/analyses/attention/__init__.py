"""Attention relations: which heads look from a digit to the '/' it divides by, beside controls."""

from tprprobe.analyses.attention.mass import score_heads

__all__ = ["score_heads"]
