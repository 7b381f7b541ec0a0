"""Judging a summary that somebody wrote: whether it is English, and true of the document."""

from functools import lru_cache

from tprpapers.worlds.english.parsing import parse_tree
from tprpapers.worlds.english.reports import read_story
from tprpapers.worlds.english.sentences import tokenize
from tprpapers.worlds.english.story import Story
from tprpapers.worlds.english.truth import holds

LONGEST = 128  # words of a text that is read as one sentence: the longest made have 40


def is_grammatical(summary: str) -> bool:
    """True if the text is one sentence of the language."""
    words = tokenize(summary)
    return len(words) <= LONGEST and parse_tree(words) is not None


def is_faithful(source: str, summary: str) -> bool:
    """True if the text is one sentence of the language and the document makes it true."""
    words = tokenize(summary)
    tree = parse_tree(words) if len(words) <= LONGEST else None
    return tree is not None and holds(tree, _story(source))


@lru_cache(maxsize=256)
def _story(source: str) -> Story:
    sentences: list[list[str]] = [[]]
    for word in tokenize(source):
        sentences[-1].append(word)
        if word == ".":
            sentences.append([])
    return read_story([words for words in sentences if words])
