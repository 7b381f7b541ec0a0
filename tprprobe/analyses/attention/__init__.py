"""Attention relations: which heads look from a digit to the '/' it divides by, beside controls."""

from tprprobe.analyses.attention.mass import most_relating_head, score_heads

__all__ = ["most_relating_head", "score_heads"]
