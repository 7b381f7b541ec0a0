"""Words and their ids: captions as the COCO toolkit counts their words, in lower case.

The toolkit runs Stanford's PTBTokenizer (Java) and drops punctuation; the expressions below stand
in for it (docs/scenes.md has how often the two agree).
Source: github.com/tylin/coco-caption, pycocoevalcap/tokenizer.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
from jaxtyping import Int64, Integer

from tprprobe.data.vocabularies.characters import SPECIALS
from tprprobe.errors import InputError

FILE = "words.json"

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
    """The words and where they stand."""
    for match in TOKEN.finditer(caption):
        word = match[0].lower()
        if word not in PUNCTUATION and set(word) not in ({"."}, {"-"}):
            yield BRACKETS.get(word, word), match.span()


@dataclass(frozen=True)
class Words:
    """A vocabulary of words, their place being their id: `<unk> <pad> <sos> <eos>`, then words.

    What is not in it is read as `<unk>`.
    Raises: InputError if a symbol is missing or there twice.
    """

    symbols: tuple[str, ...]
    unk, pad, sos, eos = range(len(SPECIALS))
    most = None
    source_start = False
    has_spare_rows = False
    has_words = reads_images = True

    def __post_init__(self):
        if self.symbols[: len(SPECIALS)] != SPECIALS:
            raise InputError(f"a vocabulary of words that does not begin with {' '.join(SPECIALS)}")
        if len(self._ids) < len(self):
            twice, _ = Counter(self.symbols).most_common(1)[0]
            raise InputError(f"a vocabulary with {twice!r} twice; every word has one id")

    def __len__(self) -> int:
        return len(self.symbols)

    @cached_property
    def _ids(self) -> dict[str, int]:
        return {word: number for number, word in enumerate(self.symbols)}

    def encode(self, text: str) -> list[int]:
        """The ids of the words of a text; no start or end symbol is added."""
        return [self._ids.get(word, self.unk) for word in tokenize(text)]

    def encode_all(
        self, texts: Sequence[str]
    ) -> tuple[Integer[np.ndarray, " token"], Int64[np.ndarray, " offset"]]:
        """The ids of all texts one after another, and where each begins (and the last ends)."""
        encoded = [self.encode(text) for text in texts]
        ids = np.array([i for each in encoded for i in each], np.int32)
        return ids, np.cumsum([0, *map(len, encoded)])

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each word of `encode` stands in the text, in characters."""
        return [span for _, span in _found(text)]

    def decode(self, ids: Iterable[int]) -> str:
        """The words of ids up to the first end symbol, without start and padding."""
        words = []
        for i in map(int, ids):
            if i == self.eos:
                break
            if i not in (self.sos, self.pad):
                words.append(self.symbols[i])
        return " ".join(words)

    def files(self) -> dict[str, str]:
        """The files a checkpoint folder keeps of it: `words.json`."""
        return {FILE: json.dumps(list(self.symbols), ensure_ascii=False, indent=0) + "\n"}

    @classmethod
    def load(cls, folder: str | Path) -> "Words":
        """The vocabulary saved in a folder.

        Raises: InputError if there is none, or it is damaged.
        """
        path = Path(folder) / FILE
        try:
            symbols = json.loads(path.read_text("utf-8"))
        except FileNotFoundError:
            raise InputError(f"no {FILE} in {folder}; give the folder of a checkpoint") from None
        except ValueError as error:
            raise InputError(f"{path} is not JSON ({error}); restore the file") from None
        if not (isinstance(symbols, list) and all(isinstance(s, str) for s in symbols)):
            raise InputError(f"{path} is not a list of strings; restore the file")
        return cls(tuple(symbols))


def count_words(texts: Iterable[str], threshold: int = 5) -> Words:
    """The words that occur at least `threshold` times, the commonest first.

    Captioning uses five (Vinyals et al. 2015; 8,791 words of COCO in Gan et al. 2017).
    Raises: InputError if no word does.
    """
    times = Counter(word for text in texts for word in tokenize(text))
    kept = sorted((-n, word) for word, n in times.items() if n >= threshold)
    if not kept:
        raise InputError(
            f"no word occurs {threshold} times in these texts; give more of them, or a lower number"
        )
    return Words(SPECIALS + tuple(word for _, word in kept))
