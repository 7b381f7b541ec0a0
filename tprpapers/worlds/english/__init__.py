"""A generated English: short event reports with a one-sentence summary, every word labelled.

One grammar (grammar.txt) and one lexicon (lexicon.toml) word the reports and parse any sentence.
"""

from tprpapers.worlds.english.constructions import CONSTRUCTIONS, HELD_OUT, STRUCTURES
from tprpapers.worlds.english.judging import is_faithful, is_grammatical
from tprpapers.worlds.english.parsing import parse
from tprpapers.worlds.english.reports import (
    Report,
    ReportKnobs,
    is_true,
    read_story,
    sample,
    split_of,
)
from tprpapers.worlds.english.sentences import (
    Sentence,
    Word,
    detokenize,
    tokenize,
)

__all__ = [
    "CONSTRUCTIONS",
    "HELD_OUT",
    "STRUCTURES",
    "Report",
    "ReportKnobs",
    "Sentence",
    "Word",
    "detokenize",
    "is_faithful",
    "is_grammatical",
    "is_true",
    "parse",
    "read_story",
    "sample",
    "split_of",
    "tokenize",
]
