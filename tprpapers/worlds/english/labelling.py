"""Sentences of the generated English as labelled text, as :mod:`tprprobe.gold.labels` has it."""

from collections.abc import Sequence

from tprpapers.worlds.english.sentences import Sentence
from tprprobe.gold.labels import Labelled, Span, Target

TASKS = ("pos", "dep", "srl", "nel")


def label_sentences(sentences: Sequence[Sentence]) -> Labelled:
    """Sentences as one text with its labels by task."""
    targets: dict[str, list[Target]] = {task: [] for task in TASKS}
    words: list[str] = []
    for sentence in sentences:
        for task, target in _targets(sentence):
            targets[task].append(_moved(target, len(words)))
        words += sentence.forms
    text = " ".join(sentence.text for sentence in sentences)
    return Labelled("", "", tuple(words), text, {k: tuple(v) for k, v in targets.items()})


def _targets(sentence: Sentence) -> list[tuple[str, Target]]:
    targets: list[tuple[str, Target]] = []
    for i, word in enumerate(sentence.words):
        head = word.head - 1 if word.head else i
        targets.append(("pos", Target(word.xpos, (i, i + 1))))
        targets.append(("dep", Target(word.deprel, (i, i + 1), (head, head + 1))))
    for frame in sentence.frames:
        targets += [("srl", Target(a.role, frame.predicate, a.span)) for a in frame.arguments]
    return targets + [("nel", Target(label, span)) for span, label in sentence.entities]


def _moved(target: Target, offset: int) -> Target:
    def moved(span: Span) -> Span:
        return span[0] + offset, span[1] + offset

    return Target(target.label, moved(target.span1), target.span2 and moved(target.span2))
