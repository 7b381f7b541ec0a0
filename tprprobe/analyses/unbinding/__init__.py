"""Unbinding vectors of a TPGN and what they mean: clusters, categories, regions (huang §5.3)."""

from tprprobe.analyses.unbinding.conformity import measure_conformity
from tprprobe.analyses.unbinding.generations import GeneratedWords, read_words
from tprprobe.analyses.unbinding.interpretation import interpret
from tprprobe.analyses.unbinding.regions import part_space
from tprprobe.analyses.unbinding.stability import compare_ks, find_clusters, load_learnt
from tprprobe.analyses.unbinding.subjects import tell_subjects

__all__ = [
    "GeneratedWords",
    "compare_ks",
    "find_clusters",
    "interpret",
    "load_learnt",
    "measure_conformity",
    "part_space",
    "read_words",
    "tell_subjects",
]
