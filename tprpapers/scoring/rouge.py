"""ROUGE by two definitions: the summaries' (with stems), and the COCO toolkit's ROUGE-L (of words).

Of summaries it is that of `rouge-score` with Porter stems, which follows ROUGE-1.5.5 as
`files2rouge` runs it (jiang's scores): only letters a-z and digits count, and precision weighs as
much as recall. The toolkit's takes words as they are, several references, and weighs recall more.
Source: github.com/tylin/coco-caption, rouge.py.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from typing import Any

from tprpapers.scoring.ngrams import Words
from tprprobe.errors import check_extra

ROUGE = ("rouge1", "rouge2", "rougeL", "rougeLsum")
BETA = 1.2  # what the toolkit weighs recall with


@cache
def _scorer() -> Any:
    check_extra("rouge_score", "summarization", "ROUGE")
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer(list(ROUGE), use_stemmer=True)


def split_sentences(text: str) -> str:
    """The text with a sentence per line as `files2rouge` finds them: they end in a full stop that
    has a space before it (or in a line break). Text that is not tokenized stays one sentence."""
    return text.replace(" .", " .\n")


def rouge(reference: str, prediction: str) -> dict[str, float]:
    """F1 of ROUGE-1, -2, -L over the whole text, and -L over its sentences (Lsum, that of 1.5.5).

    The last two are the same for texts of one sentence.
    """
    scores = _scorer().score(split_sentences(reference), split_sentences(prediction))
    return {name: scores[name].fmeasure for name in ROUGE}


def rouge_l(caption: Words, references: Sequence[Words]) -> float:
    """(1 + β²) P R / (R + β² P), where P and R are the largest over the references, each for itself."""
    common = [longest_common(caption, reference) for reference in references]
    if not any(common):
        return 0.0
    precision = max(common) / len(caption)
    recall = max(n / len(r) for n, r in zip(common, references, strict=True) if r)
    return (1 + BETA**2) * precision * recall / (recall + BETA**2 * precision)


def longest_common(a: Words, b: Words) -> int:
    """The length of the longest sequence of words that both have in this order."""
    row = [0] * (len(b) + 1)
    for word in a:
        row = list(_next(row, word, b))
    return row[-1]


def _next(row: list[int], word: str, words: Words) -> Iterator[int]:
    length = 0
    yield length
    for column, candidate in enumerate(words):
        length = row[column] + 1 if word == candidate else max(length, row[column + 1])
        yield length
