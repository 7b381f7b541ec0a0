"""What the generated English is like, measured: Markdown on standard output.

    python benchmarks/english.py [--reports 2000] [--into docs/papers/english.md]

With `--into` the sections of that page between `<!-- NAME -->` and `<!-- end NAME -->` are renewed.
"""

import argparse
import re
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from importlib.resources import files
from itertools import islice
from pathlib import Path

from tprpapers.worlds.english import (
    CONSTRUCTIONS,
    HELD_OUT,
    STRUCTURES,
    Report,
    Sentence,
    headlines,
    parse,
    read_story,
    sample,
)
from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.constructions import pairs
from tprpapers.worlds.english.grammar import rules
from tprpapers.worlds.english.headlines import summarize
from tprpapers.worlds.english.lexicon import lexicon
from tprpapers.worlds.english.parsing import parse_tree

OPEN = re.compile("NN|VB|JJ|RB|CD")  # tags of open classes; names apart
NAMES = ("PERSON", "ORG", "GPE")
Label = Callable[[Sentence], list[str]]


def row(*cells: object) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def table(header: Iterable[object], rows: Iterable[Iterable[object]]) -> str:
    head = list(header)
    return "\n".join([row(*head), row(*["---"] * len(head)), *(row(*cells) for cells in rows)])


def sentences(reports: Iterable[Report]) -> Iterator[Sentence]:
    for report in reports:
        yield from (*report.document, report.summary)


def types(sentence: Sentence) -> list[str]:
    """The type of the entity of every word, O outside."""
    labels = ["O"] * len(sentence.words)
    for (start, end), label in sentence.entities:
        labels[start:end] = [label] * (end - start)
    return labels


def roles(sentence: Sentence, predicate: tuple[int, int]) -> list[str]:
    """The role of every word for a predicate, the predicate itself as V."""
    labels = [""] * len(sentence.words)
    for frame in sentence.frames:
        if frame.predicate == predicate:
            for (start, end), role in (*frame.arguments, (predicate, "V")):
                labels[start:end] = [role] * (end - start)
    return labels


TASKS: dict[str, Label] = {
    "POS": lambda sentence: [word.xpos for word in sentence.words],
    "DEP (relation)": lambda sentence: [word.deprel for word in sentence.words],
    "entity type": types,
}
WORDS: dict[str, Callable[[str, str], bool]] = {
    "all": lambda tag, kind: True,
    "no punctuation": lambda tag, kind: tag not in (".", ","),
    "open classes without names": lambda tag, kind: bool(OPEN.match(tag)) and tag != "NNP",
    "in names of persons, organizations, places": lambda tag, kind: kind in NAMES,
}


def most_frequent(reports: list[Report], task: Label) -> dict[str, str]:
    """The tagger that knows words alone: the most frequent label of each."""
    counts: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for sentence in sentences(reports):
        for form, label in zip(sentence.forms, task(sentence), strict=True):
            counts[form][label] += 1
    return {form: labels.most_common(1)[0][0] for form, labels in counts.items()}


def tagger(train: list[Report], test: list[Report]) -> str:
    rows = []
    for name, task in TASKS.items():
        label_by_form, right = most_frequent(train, task), defaultdict(list)
        for sentence in sentences(test):
            kinds = types(sentence)
            for word, kind, gold in zip(sentence.words, kinds, task(sentence), strict=True):
                for group, includes in WORDS.items():
                    if includes(word.xpos, kind):
                        right[group].append(label_by_form.get(word.form) == gold)
        rows.append([name, *(f"{100 * sum(right[w]) / len(right[w]):.1f} %" for w in WORDS)])
    return table(["most frequent label of the word", *WORDS], rows)


def sizes() -> str:
    words = lexicon()
    verbs = Counter(verb.frame for verb in words.verbs.values())
    nouns = {lemma for lemmas in words.kinds.values() for lemma in lemmas}
    tags: defaultdict[str, set[str]] = defaultdict(set)
    for entries in words.classes.values():
        for entry in entries:
            tags[entry.form].add(entry.tag)
    named_entries = [
        entry
        for entries in words.classes.values()
        for entry in entries
        if "rivals" in entry.features
    ]
    several = sum(bool(entry.features["rivals"]) for entry in named_entries)
    return table(
        ["what", "how many"],
        [
            ["rules of the grammar", len(rules())],
            ["word forms", len(tags)],
            [
                "… that can have several tags",
                sum(len(tags_of_form) > 1 for tags_of_form in tags.values()),
            ],
            ["verbs", f"{sum(verbs.values())} ({', '.join(f'{n} {v}' for v, n in verbs.items())})"],
            ["nouns", len(nouns)],
            ["first names", len(words.classes["first"])],
            ["surnames, organizations, places", len(named_entries)],
            ["… whose form could also be of another type", several],
        ],
    )


def shape(reports: list[Report]) -> str:
    words = [sum(len(s.words) for s in report.document) for report in reports]
    lengths = [len(report.summary.words) for report in reports]
    counts = [len(report.document) for report in reports]
    n_needed = [
        sum(needs(report, i) for i in range(len(report.document))) for report in reports[:300]
    ]
    copied = sum(report.summary in report.document for report in reports)
    spread = [("sentences a document", counts), ("words a document", words)]
    spread += [("words a summary", lengths), ("sentences that a summary needs", n_needed)]
    rows = [[name, f"{sum(n) / len(n):.1f}", min(n), max(n)] for name, n in spread]
    caption = f"Summaries that are a sentence of their document: {copied} of {len(reports)}."
    return f"{table(['', 'mean', 'least', 'most'], rows)}\n\n{caption}"


def needs(report: Report, i: int) -> bool:
    """Whether the summary would be another one without a sentence of the document."""
    other_sentences = [
        sentence.forms for sentence in (*report.document[:i], *report.document[i + 1 :])
    ]
    try:
        return analyze(summarize(read_story(other_sentences))).sentence() != report.summary
    except (AssertionError, IndexError, StopIteration):  # nothing left that could be summarized
        return True


def found_pairs(reports: Iterable[Report]) -> Counter[tuple[str, str]]:
    trees = (parse_tree(sentence.forms) for sentence in sentences(reports))
    return Counter(pair for tree in trees if tree for pair in pairs(tree))


def constructions(train: list[Report], compositional: list[Report]) -> str:
    in_train, in_held_out = found_pairs(train[:600]), found_pairs(compositional)
    rows = []
    for structure in STRUCTURES:
        cells = [(structure, construction) for construction in CONSTRUCTIONS]
        marks = ("**" if pair in HELD_OUT else "" for pair in cells)
        counts = (
            f"{in_train[pair]} / {in_held_out[pair]}" if in_train[pair] + in_held_out[pair] else ""
            for pair in cells
        )
        rows.append([structure, *(f"{m}{c}{m}" for m, c in zip(marks, counts, strict=True))])
    return table(["", *CONSTRUCTIONS], rows)


def speed(reports: list[Report]) -> str:
    start = time.process_time()
    for index in range(400):
        sample(index, seed=1)
    generated = 400 / (time.process_time() - start)
    word_lists = [sentence.forms for sentence in sentences(reports[:200])]
    start = time.process_time()
    exact = [parse(forms) for forms in word_lists] == list(sentences(reports[:200]))
    parsed = len(word_lists) / (time.process_time() - start)
    rows = [["documents with summary and labels, a second", f"{generated:.0f}"]]
    rows += [["sentences parsed, a second", f"{parsed:.0f}"]]
    rows += [
        [
            f"the parser gives back the labels of all {len(word_lists)} sentences",
            "yes" if exact else "no",
        ]
    ]
    return table(["on one core (CPU time)", ""], rows)


def labels(sentence: Sentence) -> str:
    frames = [(frame.roleset, roles(sentence, frame.predicate)) for frame in sentence.frames]
    header = ["#", "word", "POS", "head", "relation", "entity", *(name for name, _ in frames)]
    rows = (
        [
            i + 1,
            *word,
            kind if kind != "O" else "",
            *(roles_by_word[i] for _, roles_by_word in frames),
        ]
        for i, (word, kind) in enumerate(zip(sentence.words, types(sentence), strict=True))
    )
    return table(header, rows)


def samples() -> str:
    splits = ["test"] * 4 + ["compositional"] * 2
    sections = []
    for i, split in enumerate(splits):
        report = sample(i, split=split)
        sections.append(f"### Sample {i} of {split}\n\n> {report.source}\n\n**{report.target}**")
        sections.append(labels(report.summary))
    longest = max(sample(0, split="test").document, key=lambda sentence: len(sentence.words))
    return "\n\n".join([*sections, "A sentence of the first document:", labels(longest)])


def policy() -> str:
    """The rules of the summary, as the module that keeps them states them."""
    return (headlines.__doc__ or "").partition("\n\n")[2].strip()


def grammar() -> str:
    text = (files("tprpapers.worlds.english") / "grammar.txt").read_text("utf-8")
    return f"```\n{text.strip()}\n```"


def renew(page: Path, sections: dict[str, str]) -> None:
    """Put sections between their marks in a page."""
    text = page.read_text("utf-8")
    for name, content in sections.items():
        marks = re.compile(f"(<!-- {name} -->\n).*?(<!-- end {name} -->)", re.DOTALL)
        text = marks.sub(
            lambda match, replacement=content: f"{match[1]}{replacement}\n{match[2]}", text
        )
    page.write_text(text, "utf-8")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--reports", type=int, default=2000)
    parser.add_argument("--into", type=Path)
    arguments = parser.parse_args()

    train = [sample(i) for i in range(arguments.reports)]
    test = [sample(i, split="test") for i in range(arguments.reports // 4)]
    compositional = [sample(i, split="compositional") for i in range(600)]
    sections = {
        "sizes": sizes(),
        "shape": shape(train),
        "tagger": tagger(train, test),
        "constructions": constructions(train, compositional),
        "speed": speed(train),
        "policy": policy(),
        "samples": samples(),
        "grammar": grammar(),
    }
    if arguments.into:
        renew(arguments.into, sections)
    for name in islice(sections, 5):
        print(f"{sections[name]}\n")


if __name__ == "__main__":
    main()
