"""Words and their ids: captions split into words as the COCO toolkit does, in lower case.

The toolkit runs Stanford's PTBTokenizer (Java) and drops punctuation; the expressions below stand
in for it (docs/papers/scenes.md has how often the two agree).
Source: github.com/tylin/coco-caption, pycocoevalcap/tokenizer.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any

from tprpapers.captions.images import Captioned
from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.characters import SPECIALS, Separated
from tprprobe.errors import InputError

if TYPE_CHECKING:
    from tprprobe.data.pairs import Pairs

TOKEN = re.compile(
    r"""
      (?:[a-z]\.)+[a-z]\b(?!\.) | (?:[a-z]\.){2,}                # s.u.v  u.s.
    | (?:mr|mrs|ms|dr|st|rd|ave|blvd|jr|sr|vs|ft|lt|mt|inc|corp|etc)\.  # abbreviations
    | [^\W\d_]+\.(?=,)                                  # another one, as a comma follows
    | can(?=not\b) | gon(?=na\b) | got(?=ta\b) | wan(?=na\b)
    | [^\W\d_]+?(?=n't\b)                               # do n't
    | n't\b | '(?:s|m|d|ll|re|ve|em|n|til)\b
    | \d+(?:[.,:/]\d+)*(?:-?[a-z]+|(?:-\w+)+)?              # 10,000  3:30  1/2  2nd  7-eleven
    | [^\W_]+(?:(?:[-_&@/]|\.(?=[a-z]{2,3}\b)|'(?!(?:s|m|d|ll|re|ve)\b))[^\W_]+)*  # t-shirt  o'clock
    | -[lr][rsc]b- | \.{2,} | --+ | ''
    | \S
    """,
    re.VERBOSE | re.IGNORECASE,
)
PUNCTUATION = frozenset("'\"`.?!,:-;…—–“”‘’") | {"''"}
BRACKETS = {"(": "-lrb-", ")": "-rrb-", "[": "-lsb-", "]": "-rsb-", "{": "-lcb-", "}": "-rcb-"}


def tokenize(caption: str) -> list[str]:
    """The words of a caption.

    >>> tokenize("A man's T-shirt isn't red.")
    ['a', 'man', "'s", 't-shirt', 'is', "n't", 'red']
    """
    return [word for word, _ in _found(caption)]


def _found(caption: str) -> Iterator[tuple[str, tuple[int, int]]]:
    for match in TOKEN.finditer(caption):
        word = match[0].lower()
        if word not in PUNCTUATION and set(word) not in ({"."}, {"-"}):
            yield BRACKETS.get(word, word), match.span()


@dataclass(frozen=True)
class Words(Separated):
    """A vocabulary of words; what is not in it is read as `<unk>`."""

    reads_images = True
    file, indent = "words.json", 0

    def encode(self, text: str) -> list[int]:
        return [self._ids.get(word, self.unk) for word in tokenize(text)]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        return [span for _, span in _found(text)]

    def encode_images(self, datasets: Iterable[Iterable[Any]], first: bool) -> "Pairs":
        from tprpapers.captions.encoded_images import encode_captions  # words need no torch

        return encode_captions(datasets, self, first)

    @staticmethod
    def of(datasets: Iterable[Dataset], threshold: int) -> "Words":
        """The words of the captions of several data sets."""
        return count_words(chain.from_iterable(map(_captions, datasets)), threshold)


def _captions(data: Dataset) -> Iterator[str]:
    if not isinstance(data[0], Captioned):
        raise InputError(f"{data.name} has no captions, whose words are counted: leave out [words]")
    for example in data:
        yield from example.captions


def count_words(texts: Iterable[str], threshold: int = 5) -> Words:
    """The words that occur at least `threshold` times, the commonest first.

    Captioning uses five (Vinyals et al. 2015; 8,791 words of COCO in Gan et al. 2017).
    """
    times = Counter(word for text in texts for word in tokenize(text))
    frequent = sorted((-n, word) for word, n in times.items() if n >= threshold)
    if not frequent:
        raise InputError(
            f"no word occurs {threshold} times in these texts; give more of them, or a lower number"
        )
    return Words(SPECIALS + tuple(word for _, word in frequent))
