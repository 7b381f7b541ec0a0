"""Annotated files as data sets: models read the sentences; the labels come with them."""

import contextlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from tprprobe.console import quiet
from tprprobe.data.dataset import ALL, Dataset, Facts, Labels, Origin, Request, Tables, spread
from tprprobe.data.documents.articlefiles import COLUMNS
from tprprobe.errors import InputError
from tprprobe.files.checksums import digest_files
from tprprobe.files.jsonfiles import parse_json
from tprprobe.files.lines import read_lines
from tprprobe.gold import annotations
from tprprobe.gold.labellers import Labeller, find_labellers, is_labeller
from tprprobe.gold.labels import Labelled, Reading, Target

Source = Literal["same", "document", "empty"]
COMMON = 5  # labels of a task that a description names


@dataclass(frozen=True)
class Annotated:
    """An annotated sentence: the decoder is forced to write it, the encoder reads ``source``."""

    sentence: Labelled
    source: str
    has_one_answer, module = False, ""

    @property
    def target(self) -> str:
        return self.sentence.text

    @property
    def document_name(self) -> str:
        return self.sentence.document

    def labels(self, generated: str | None) -> Labels:
        source = self.sentence if self.source == self.target else None
        return source, self.sentence if generated is None else None


@dataclass(frozen=True, repr=False)
class AnnotatedFile(Dataset[Annotated]):
    """The sentences of a file; the encoder reads the sentence itself (same), its document, or nothing (empty)."""

    sentences: tuple[Labelled, ...]
    context: Source = "same"
    odd: tuple[tuple[str, int], ...] = ()  # what reading passed over or changed, and how often
    label_files: tuple[Path, ...] = ()

    @property
    def origin(self) -> Origin:
        origin = super().origin
        return {**origin, "files": origin["files"] | digest_files(self.label_files)}

    def read(self, rows: Sequence[int]) -> Iterator[Annotated]:
        documents: dict[str, list[str]] = {}
        for sentence in self.sentences if self.context == "document" else ():
            documents.setdefault(sentence.document, []).append(sentence.text)
        for row in rows:
            sentence = self.sentences[row]
            source = " ".join(documents.get(sentence.document, ()))
            yield Annotated(sentence, sentence.text if self.context == "same" else source)

    @property
    def has_targets(self) -> bool:
        return False

    @property
    def report(self) -> Facts:
        counts = Counter(dict(self.odd))
        reading = annotations.count_reading(Reading([*self.sentences], counts))
        return {**reading, "read_otherwise": dict(counts)}

    @property
    def tasks(self) -> tuple[str, ...]:
        return tuple(sorted({task for sentence in self.sentences for task in sentence.targets}))

    def describe(self, n: int) -> tuple[Facts, Tables]:
        del n
        lengths = [len(sentence.words) for sentence in self.sentences]
        documents = len({sentence.document for sentence in self.sentences})
        facts: Facts = {"sentences": len(lengths), "tokens": sum(lengths), "documents": documents}
        tables = {"lengths": [spread("tokens of a sentence", lengths)]}
        tables["labels"] = [self._count(task) for task in self.tasks]
        return facts, tables

    def _count(self, task: str) -> Facts:
        labels = Counter(t.label for s in self.sentences for t in s.targets.get(task, ()))
        common = ", ".join(f"{label} {count:,}" for label, count in labels.most_common(COMMON))
        return {"task": task, "targets": labels.total(), "labels": len(labels), "commonest": common}


def is_annotated_file(spec: str) -> bool:
    """True if a data set is an annotated file, by its name; for JSON lines by the first one, for a table by its first lines."""
    path = Path(spec)
    is_table = annotations.TABLE in path.suffixes
    if not (is_table or annotations.is_annotated(spec)) or not path.is_file():
        return False
    if not is_table and ".jsonl" not in path.suffixes:
        return True
    with contextlib.suppress(InputError, StopIteration):
        if is_table:
            return _lists_words(path)
        record = parse_json(next(read_lines(path))[1], path)
        return isinstance(record, dict) and "targets" in record
    return False


def _lists_words(path: Path) -> bool:
    """True of a table whose lines up to the first empty one are a word and its label, and no names of columns of texts."""
    for i, (_, line) in enumerate(read_lines(path)):
        fields = line.split("\t")
        if len(fields) != 2 or " " in line or tuple(fields) in COLUMNS:
            return i > 0 and not line.strip()
    return False


def open_annotated(request: Request) -> AnnotatedFile:
    if request.split not in (None, ALL):
        raise InputError(f"{request.spec} is one file without splits: leave --split out")
    sentences, odd = reading = annotations.read_file(request.spec)
    rows = request.first_rows(len(sentences))
    annotations.report_reading(request.spec, reading)
    changed = tuple((kind, n) for kind, n in odd.items() if n)
    return AnnotatedFile(request.spec, ALL, request.seed, rows, tuple(sentences), odd=changed)


def label_texts(data: Dataset, task: str) -> AnnotatedFile:
    """The sources of pairs as sentences, whose targets are the labels of a task, each of the span of all words."""
    sentences = []
    for row, example in enumerate(data, 1):
        words, text = tuple(example.source.split()), example.source
        targets = {task: (Target(example.target, (0, len(words))),)}
        sentences.append(Labelled(str(row), example.document_name or text, words, text, targets))
    rows = range(len(sentences))
    return AnnotatedFile(data.name, data.split, data.seed, rows, tuple(sentences))


def set_source(data: Dataset, source: Source) -> AnnotatedFile:
    return replace(_annotated(data, "--source"), context=source)


def label_data(data: Dataset, sources: Mapping[str, str]) -> tuple[Dataset, list[Labeller]]:
    """The data with the labels of files, and the labellers of other tasks."""
    files = {task: source for task, source in sources.items() if not is_labeller(source)}
    labellers = find_labellers({k: v for k, v in sources.items() if k not in files})
    return join_labels(data, files) if files else data, labellers


def join_labels(data: Dataset, labels: Mapping[str, str]) -> AnnotatedFile:
    """The sentences with further tasks; a task that is only another name of one of these, such as the file's name, is left out."""
    annotated = _annotated(data, "--labels")
    sentences = list(annotated.sentences)
    for task, path in labels.items():
        with quiet() if path == data.name else contextlib.nullcontext():  # it was told of the data
            sentences = annotations.add_labels(sentences, path, task)
        for name in {*annotated.tasks} - {*labels}:
            if all(s.targets.get(name) == s.targets[task] for s in sentences):
                sentences = [
                    replace(s, targets={k: t for k, t in s.targets.items() if k != name})
                    for s in sentences
                ]
    files = tuple(map(Path, labels.values()))
    return replace(annotated, sentences=tuple(sentences), label_files=annotated.label_files + files)


def _annotated(data: Dataset, option: str) -> AnnotatedFile:
    if not isinstance(data, AnnotatedFile):
        raise InputError(
            f"{option} is for annotated files (.conllu, .iob2 …), not {data.name}: give a file of labels as data"
        )
    return data
