"""Unbinding vectors of a TPGN and what they mean: clusters, categories, regions (huang §5.3)."""

from tprpapers.huang.unbinding.conformity import measure_conformity
from tprpapers.huang.unbinding.generations import GeneratedWords, read_words
from tprpapers.huang.unbinding.interpretation import interpret
from tprpapers.huang.unbinding.learned_clusters import find_clusters, load_fitted_clusters
from tprpapers.huang.unbinding.regions import partition_space
from tprpapers.huang.unbinding.subjects import summarize_subjects

__all__ = [
    "GeneratedWords",
    "find_clusters",
    "interpret",
    "load_fitted_clusters",
    "measure_conformity",
    "partition_space",
    "read_words",
    "summarize_subjects",
]
