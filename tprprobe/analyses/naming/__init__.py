"""Cluster naming: names from gold structure, agreement with it, and controls beside both."""

from tprprobe.analyses.naming.heads import name_roles
from tprprobe.analyses.naming.run import Naming, load_names, name_all
from tprprobe.analyses.naming.word_names import load_word_names, name_words

__all__ = ["Naming", "load_names", "load_word_names", "name_all", "name_roles", "name_words"]
