"""Figures: results in, matplotlib figures out; nothing is loaded or computed here."""

from tprprobe.figures.attention import attention_matrix, attention_rows
from tprprobe.figures.clusters import role_clusters
from tprprobe.figures.style import save

__all__ = ["attention_matrix", "attention_rows", "role_clusters", "save"]
