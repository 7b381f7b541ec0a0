"""Unbinding vectors of a TPGN and what they mean: clusters, categories, regions (huang §5.3)."""

from tprpapers.huang.unbinding.conformity import measure_conformity
from tprpapers.huang.unbinding.generations import GeneratedWords, read_words
from tprpapers.huang.unbinding.interpretation import interpret
from tprpapers.huang.unbinding.regions import part_space
from tprpapers.huang.unbinding.stability import compare_ks, find_clusters, load_learnt
from tprpapers.huang.unbinding.subjects import summarize_subjects

__all__ = [
    "GeneratedWords",
    "compare_ks",
    "find_clusters",
    "interpret",
    "load_learnt",
    "measure_conformity",
    "part_space",
    "read_words",
    "summarize_subjects",
]
