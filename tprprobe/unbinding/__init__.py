"""What the vectors mean that a TPGN unbinds its words with: clusters, categories, regions (huang §5.3)."""

from tprprobe.unbinding.conformity import measure_conformity
from tprprobe.unbinding.interpretation import interpret
from tprprobe.unbinding.regions import part_space
from tprprobe.unbinding.stability import compare_ks, find_clusters
from tprprobe.unbinding.subjects import tell_subjects
from tprprobe.unbinding.words import Words, read_words

__all__ = [
    "Words",
    "compare_ks",
    "find_clusters",
    "interpret",
    "measure_conformity",
    "part_space",
    "read_words",
    "tell_subjects",
]
