"""The generated English. What is checked on many reports is done in a process of its own, where
no function is watched by beartype; a few reports are drawn and read under its eyes."""

import hashlib
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from tprpapers.worlds.english import (
    CONSTRUCTIONS,
    HELD_OUT,
    STRUCTURES,
    Report,
    Sentence,
    detokenize,
    is_true,
    parse,
    read_story,
    sample,
    split_of,
    tokenize,
)
from tprpapers.worlds.english.annotation import analyze
from tprpapers.worlds.english.constructions import pairs
from tprpapers.worlds.english.headlines import summarize
from tprpapers.worlds.english.labelling import label_sentences
from tprpapers.worlds.english.lexicon import lexicon
from tprpapers.worlds.english.parsing import parse_tree
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.training.recipes import Mix, read_recipe

SPLITS = ("train", "dev", "test", "compositional")

Reports = dict[str, list[Report]]


def draw(split: str, n: int, seed: int = 3) -> list[Report]:
    return [sample(i, seed, split) for i in range(n)]


@pytest.fixture(scope="module")
def pool() -> Iterator[ProcessPoolExecutor]:
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        yield executor


@pytest.fixture(scope="module")
def reports(pool: ProcessPoolExecutor) -> Reports:
    return {split: pool.submit(draw, split, 90).result() for split in SPLITS}


def sentences(reports: Reports) -> Iterator[Sentence]:
    for split_reports in reports.values():
        for report in split_reports:
            yield from (*report.document, report.summary)


def read(text: str) -> Sentence | None:
    return parse(tokenize(text))


def report_of(text: str) -> Report:
    """A report made of a text; its summary is of no interest."""
    parsed = [read(f"{clause}.") for clause in text.removesuffix(".").split(". ")]
    parsed_sentences = tuple(sentence for sentence in parsed if sentence)
    assert len(parsed_sentences) == len(parsed)
    return Report(parsed_sentences, parsed_sentences[0])


def labels(sentence: Sentence) -> list[str]:
    """What a sentence is labelled with: a line for the words, the frames, the entities."""

    def words(span: tuple[int, int]) -> str:
        return " ".join(sentence.forms[slice(*span)])

    lines = [" ".join(f"{w.xpos}/{w.head}/{w.deprel}" for w in sentence.words)]
    for predicate, roleset, arguments in sentence.frames:
        arguments_text = (f"{role} {words(span)}" for span, role in arguments)
        lines.append(" | ".join([f"{words(predicate)} {roleset}", *arguments_text]))
    return [*lines, " | ".join(f"{label} {words(span)}" for span, label in sentence.entities)]


# Labels that were written by hand, from the guidelines

LABELLED = {
    "Anna Chase, whom Ford hired in May, was loaned a boat by Kim on Monday evening.": [
        "NNP/11/nsubj:pass NNP/1/flat ,/6/punct WP/6/obj NNP/6/nsubj VBD/1/acl:relcl IN/8/case "
        "NNP/6/obl ,/6/punct VBD/11/aux:pass VBN/0/root DT/13/det NN/11/obj IN/15/case NNP/11/obl "
        "IN/18/case NNP/18/compound NN/11/obl ./11/punct",
        "hired hire.01 | ARG1 Anna Chase | R-ARG1 whom | ARG0 Ford | ARGM-TMP in May",
        "loaned loan.01 | ARG2 Anna Chase , whom Ford hired in May , | ARG1 a boat | ARG0 by Kim | "
        "ARGM-TMP on Monday evening",
        "PERSON Anna Chase | ORG Ford | DATE May | PERSON Kim | TIME Monday evening",
    ],
    "Jordan forced Ford to hire Chase and banned Morgan.": [
        "NNP/2/nsubj VBD/0/root NNP/2/obj TO/5/mark VB/2/xcomp NNP/5/obj CC/8/cc VBD/2/conj "
        "NNP/8/obj ./2/punct",
        "forced force.01 | ARG0 Jordan | ARG1 Ford | ARG2 to hire Chase",
        "hire hire.01 | ARG0 Ford | ARG1 Chase",
        "banned ban.01 | ARG0 Jordan | ARG1 Morgan",
        "GPE Jordan | ORG Ford | PERSON Chase | ORG Morgan",
    ],
    "Her brother claims that Ford will not take over Dell, a bank in Jordan.": [
        "PRP$/2/nmod:poss NN/3/nsubj VBZ/0/root IN/8/mark NNP/8/nsubj MD/8/aux RB/8/advmod "
        "VB/3/ccomp RP/8/compound:prt NNP/8/obj ,/13/punct DT/13/det NN/10/appos IN/15/case "
        "NNP/13/nmod ./3/punct",
        "claims claim.01 | ARG0 Her brother | "
        "ARG1 that Ford will not take over Dell , a bank in Jordan",
        "take over take_over.12 | ARG0 Ford | ARGM-MOD will | ARGM-NEG not | "
        "ARG1 Dell , a bank in Jordan",
        "ORG Ford | ORG Dell | GPE Jordan",
    ],
    "On Friday, it agreed to sell Morgan a hotel for $30 million.": [
        "IN/2/case NNP/5/obl ,/5/punct PRP/5/nsubj VBD/0/root TO/7/mark VB/5/xcomp NNP/7/iobj "
        "DT/10/det NN/7/obj IN/12/case $/7/obl CD/14/compound CD/12/nummod ./5/punct",
        "agreed agree.01 | ARGM-TMP On Friday | ARG0 it | "
        "ARG1 to sell Morgan a hotel for $ 30 million",
        "sell sell.01 | ARG0 it | ARG2 Morgan | ARG1 a hotel | ARG3 for $ 30 million",
        "DATE Friday | ORG Morgan | MONEY $ 30 million",
    ],
    "The hotel that Ford had opened was shown to that judge.": [
        "DT/2/det NN/8/nsubj:pass WDT/6/obj NNP/6/nsubj VBD/6/aux VBN/2/acl:relcl VBD/8/aux:pass "
        "VBN/0/root IN/11/case DT/11/det NN/8/obl ./8/punct",
        "opened open.01 | ARG1 The hotel | R-ARG1 that | ARG0 Ford",
        "shown show.01 | ARG1 The hotel that Ford had opened | ARG2 to that judge",
        "ORG Ford",
    ],
    "Mayor Kim and Anna May later quit Ford.": [
        "NNP/2/compound NNP/7/nsubj CC/4/cc NNP/2/conj NNP/4/flat RB/7/advmod VBD/0/root NNP/7/obj "
        "./7/punct",
        "quit quit.01 | ARG0 Mayor Kim and Anna May | ARGM-TMP later | ARG1 Ford",
        "PERSON Kim | PERSON Anna May | ORG Ford",
    ],
    "The talk took place in Asia last week.": [
        "DT/2/det NN/3/nsubj VBD/0/root NN/3/obj IN/6/case NNP/3/obl JJ/8/amod NN/3/obl:tmod "
        "./3/punct",
        "took take.14 | ARG1 The talk | ARG2 place | ARGM-LOC in Asia | ARGM-TMP last week",
        "LOC Asia | DATE last week",
    ],
    "The guard is Paris Ford.": [
        "DT/2/det NN/4/nsubj VBZ/4/cop NNP/0/root NNP/4/flat ./4/punct",
        "is be.01 | ARG1 The guard | ARG2 Paris Ford",
        "PERSON Paris Ford",
    ],
}


@pytest.mark.parametrize("text", LABELLED)
def test_labels_are_those_of_the_guidelines(text: str):
    sentence = read(text)
    assert sentence is not None
    assert labels(sentence) == LABELLED[text]
    assert sentence.text == text


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Ford plans to hire Chase.", "ORG Ford | PERSON Chase"),
        ("Ford plans to visit Chase.", None),  # nothing in the lexicon is a place of that name
        ("Ford plans to visit Jordan.", "PERSON Ford | GPE Jordan"),
        ("Jordan plans to visit Ford, a country.", None),
        ("Jordan plans to boycott Kent.", "GPE Jordan | GPE Kent"),
        ("Jordan plans to sue Kent.", "ORG Jordan | ORG Kent"),
        (
            "Jordan has beaten Kent in Kent in May.",
            "PERSON Jordan | PERSON Kent | GPE Kent | DATE May",
        ),
    ],
)
def test_the_type_of_a_name_is_that_of_its_place_in_the_sentence(text: str, expected: str | None):
    sentence = read(text)
    assert (sentence and labels(sentence)[-1]) == expected


@pytest.mark.parametrize(
    "text",
    [
        "Ford praised Chase.",  # persons, organizations or places?
        "Ford funds plans",
        "Ford funds a plans.",
        "An bank funds plans.",
        "Ford, a bank funds plans.",
        "Ford was funded plans.",
        "Ford hired Chase on.",
        "Ford hired which Chase.",
        "Ford hired Chase. Ford hired Chase.",
        "Him hired Chase.",
        "A hotel, which Ford opened, was sold to Chase.",
        "",
        ".",
    ],
)
def test_what_is_not_in_the_language_has_no_labels(text: str):
    assert read(text) is None


# Generated reports


def unread(reports: Reports) -> list[Report]:
    """The reports whose labels the parser does not find, or that do not determine the summary."""
    return [
        report
        for split_reports in reports.values()
        for report in split_reports
        if not is_read(report)
    ]


def is_read(report: Report) -> bool:
    labelled = all(parse(sentence.forms) == sentence for sentence in sentences({"": [report]}))
    summary = analyze(summarize(report.facts)).sentence()
    true = is_true(report.summary.forms, report)
    return labelled and true and summary == report.summary and summary not in report.document


def test_labels_and_summaries_follow_from_the_words(reports: Reports, pool: ProcessPoolExecutor):
    assert pool.submit(unread, reports).result() == []


def test_trees_and_spans_are_valid(reports: Reports):
    for sentence in sentences(reports):
        size = len(sentence.words)
        heads = [word.head for word in sentence.words]
        assert heads.count(0) == 1
        for word in range(1, size + 1):  # every word comes up to the root
            steps = 0
            while word:
                word, steps = heads[word - 1], steps + 1
                assert steps <= size
        covered = [i for span, _ in sentence.entities for i in range(*span)]
        assert len(covered) == len(set(covered))
        for predicate, _, arguments in sentence.frames:
            spans = [predicate, *(span for span, _ in arguments)]
            assert all(0 <= start < end < size for start, end in spans)
            inside = [i for span in spans for i in range(*span)]
            assert len(inside) == len(set(inside))


def test_words_are_found_in_the_text(reports: Reports):
    for report in (report for split_reports in reports.values() for report in split_reports):
        assert tokenize(report.target) == report.summary.forms
        assert detokenize(tokenize(report.target)) == report.target
        assert tokenize(report.source) == tuple(f for s in report.document for f in s.forms)
        for sentence, offsets in zip(report.document, report.offsets, strict=True):
            assert [report.source[a:b] for a, b in offsets] == list(sentence.forms)


def test_reports_depend_on_nothing_but_their_arguments(reports: Reports):
    script = (
        "from tprpapers.worlds.english import sample\n"
        "for i in (7, 2, 5): print(sample(i, 3, 'dev').source, sample(i, 3, 'dev').target)"
    )
    environment = {**os.environ, "PYTHONHASHSEED": "12"}
    command = [sys.executable, "-W", "error", "-c", script]
    run = subprocess.run(command, env=environment, check=True, capture_output=True, text=True)
    expected = [reports["dev"][i] for i in (7, 2, 5)]
    assert run.stdout.splitlines() == [f"{report.source} {report.target}" for report in expected]
    assert len({report.source for drawn in reports.values() for report in drawn}) == 360
    assert sample(7, 4, "dev") != expected[0]


def splits_of(reports: Reports) -> dict[str, set[str]]:
    return {name: {split_of(report.facts) for report in drawn} for name, drawn in reports.items()}


def test_splits_share_no_event_and_no_summary(reports: Reports, pool: ProcessPoolExecutor):
    splits = pool.submit(splits_of, reports).result()
    assert all(splits[split] == {split} for split in SPLITS[:3])
    summaries = [{report.target for report in reports[split]} for split in SPLITS]
    assert sum(map(len, summaries)) == len(set().union(*summaries))


Pairs = Counter[tuple[str, str]]


def pairs_of(reports: Reports) -> dict[str, list[tuple[Pairs, Pairs]]]:
    """The pairs of structure and construction in every document and in its summary."""

    def count(parsed_sentences: Iterator[Sentence]) -> Pairs:
        return Counter(
            p for s in parsed_sentences if (tree := parse_tree(s.forms)) for p in pairs(tree)
        )

    return {
        split: [(count(iter(r.document)), count(iter([r.summary]))) for r in split_reports]
        for split, split_reports in reports.items()
    }


def test_held_out_pairs_are_in_compositional_summaries_and_nowhere_else(
    reports: Reports, pool: ProcessPoolExecutor
):
    pairs_by_split = pool.submit(pairs_of, reports).result()
    together = {
        split: [in_document + in_summary for in_document, in_summary in counts]
        for split, counts in pairs_by_split.items()
    }
    for split in SPLITS[:3]:
        assert all(HELD_OUT.isdisjoint(counts) for counts in together[split])
    summaries = [in_summary for _, in_summary in pairs_by_split["compositional"]]
    assert not any(HELD_OUT.isdisjoint(in_summary) for in_summary in summaries)
    assert set().union(*summaries) >= HELD_OUT
    trained = sum(together["train"], Counter())
    for structure, construction in HELD_OUT:  # each of them is well known in other pairs
        assert sum(n for (s, _), n in trained.items() if s == structure) > 10
        assert sum(n for (_, c), n in trained.items() if c == construction) > 10
    assert {s for s, _ in trained} == set(STRUCTURES)
    assert {c for _, c in trained} == set(CONSTRUCTIONS)


# Knobs


def draw_by(knobs: dict[str, Any]) -> list[Sentence]:
    return [*sentences({"": [sample(i, **knobs) for i in range(40)]})]


def test_knobs_do_what_they_say(pool: ProcessPoolExecutor):
    def words(**knobs: float) -> list[str]:
        drawn = pool.submit(draw_by, knobs).result()
        return [form for sentence in drawn for form in sentence.forms]

    pronouns = {"he", "she", "it", "He", "She", "It", "him", "her"}
    count = [sum(form in pronouns for form in words(pronouns=p)) for p in (0.0, 1.0)]
    assert count[1] > 2 * count[0]
    rivals = {e.form for es in lexicon().classes.values() for e in es if e.features.get("rivals")}
    share = [sum(form in rivals for form in words(ambiguity=a)) for a in (0.0, 1.0)]
    assert share[1] > 4 * share[0]
    n_few_names, n_many_names = (len(set(words(names=n))) for n in (24, 60))
    assert n_few_names < n_many_names


# Versions

SHIPPED = {"version": 1, "depth": 1, "sentences": (4, 6)}  # what the shipped models read
DIGESTS = [
    (SHIPPED, "8724c152d64c7fb3317c445b13b0d26b9938dbf9409a4d015514fca0de76a8b7"),
    ({"version": 2}, "2558b9ee74b489f0575ed340c1a5cde36f5078efb01225906c1c12e0fd6f5a00"),
]


@pytest.mark.parametrize(("knobs", "expected"), DIGESTS)
def test_the_reports_of_a_version_stay(knobs: dict[str, Any], expected: str):
    digest = hashlib.sha256()
    for report in (sample(i, 1, "test", **knobs) for i in range(40)):
        digest.update(f"{report.source}\n{report.target}\n".encode())
    assert digest.hexdigest() == expected


def test_recipes_of_shipped_models_read_version_1():
    for recipe in (Path(__file__).parents[2] / "models").glob("*-english/recipe.toml"):
        assert {mix.data for stage in read_recipe(recipe).stages for mix in stage.mix} == {
            "english:version=1,depth=1,sentences=4-6"
        }


def test_names_of_data_have_the_version():
    assert load_data("english").name == "english:version=2"
    assert load_data("english:depth=1").name == "english:depth=1,version=2"
    assert load_data("english:version=1,depth=1").name == "english:version=1,depth=1"
    assert Mix(data="english").data == "english:version=2"  # in the recipe of a checkpoint
    assert Mix(data="mathematics:all").data == "mathematics:all"


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_statements_are_as_deep_as_allowed(pool: ProcessPoolExecutor, depth: int):
    drawn = pool.submit(draw_by, {"depth": depth}).result()
    assert max([w.deprel for w in s.words].count("ccomp") for s in drawn) == depth


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"split": "tests"}, "did you mean 'test'"),
        ({"pronoun": 1}, "did you mean 'pronouns'"),
        ({"sentences": (7, 5)}, "in order"),
        ({"ambiguity": 1.5}, "from 0 to 1"),
        ({"version": 3}, "versions of the generated English: 1, 2"),
    ],
)
def test_bad_arguments_are_told_with_what_is_accepted(arguments, message):
    with pytest.raises(InputError, match=message):
        sample(0, **arguments)


# As a data set


def test_the_data_set_is_the_reports_whoever_draws_them():
    data = load_data("english", "dev", n=70, seed=3)
    assert len(data) == 70
    assert data[7] == sample(7, 3, "dev")
    texts = [(report.source, report.target) for report in data[30:36]]
    workers = load_data("english", "dev", n=70, seed=3, workers=2)
    assert [(report.source, report.target) for report in workers][30:36] == texts
    assert len(load_data("english")) == 1000
    assert load_data("english").split == "test"
    hard = load_data("english:ambiguity=1,sentences=5-6,depth=1", "compositional", n=2)[1]
    assert hard == sample(1, 0, "compositional", ambiguity=1.0, sentences=(5, 6), depth=1)


def test_texts_are_reports_and_openings_their_first_sentences():
    knobs = "english:depth=1,sentences=4-6"
    reports, texts, openings = (
        load_data(kind + knobs, "dev", n=6, seed=3) for kind in ("", "texts:", "openings:")
    )
    assert texts.name == f"texts:{reports.name}"
    for report, text, opening in zip(reports, texts, openings, strict=True):
        assert (text.source, text.target) == ("", report.source)
        assert opening.target == report.document[0].text
        assert opening.labels(None)[1] == label_sentences(report.document[:1])
        assert opening.labels("She left.") == (None, None)


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("texts:englisch", "texts:english, openings:english"),
        ("english:depth=two", "'two' for depth"),
        ("english:sentences=4", "sentences=4-6"),
    ],
)
def test_data_sets_that_there_are_not(spec: str, message: str):
    with pytest.raises(InputError, match=message):
        load_data(spec)


# Reading and truth

DOCUMENT = (
    "A carmaker sold a hotel to a union on Tuesday. Ford had opened that hotel in May. "
    "The carmaker, Chase, was renamed Lincoln. It did not sue Dell. The sale took place in Jordan. "
    "Anna Kim, a lawyer at Ford, said that the carmaker would hire her. "
    "Witnesses identified the union as Princeton."
)


@pytest.fixture(scope="module")
def document() -> Report:
    return report_of(DOCUMENT)


@pytest.mark.parametrize(
    ("text", "truth"),
    [
        ("Lincoln sold a hotel to Princeton in Jordan on Tuesday.", True),
        ("A hotel that Ford opened in May was sold to Princeton by Lincoln in Jordan.", True),
        ("Princeton was sold a hotel by Chase.", True),  # its former name
        ("The carmaker did not sue Dell.", True),
        ("Anna Kim said that Lincoln would hire her.", True),
        ("The sale took place in Jordan on Tuesday.", True),
        ("Princeton sold a hotel to Lincoln.", False),  # who to whom
        ("Ford sold a hotel to Princeton.", False),
        ("Lincoln sold two hotels to Princeton.", False),
        ("Lincoln sold a new hotel to Princeton.", False),
        ("Lincoln sold a hotel to Princeton on Monday.", False),
        ("Lincoln did not sell a hotel to Princeton.", False),
        ("Lincoln bought a hotel.", False),
        ("Lincoln, which sued Dell, sold a hotel.", False),
        ("Lincoln sold a hotel and sued Dell.", False),
        ("Lincoln will hire Anna Kim.", False),  # somebody said so
        ("Anna Kim said that Lincoln would not hire her.", False),
        ("Anna Smith said that Lincoln would hire her.", False),
        ("The carmaker is Ford.", False),
        ("Lincoln sold a hotel to", False),  # no sentence
    ],
)
def test_truth(document: Report, text: str, truth: bool):
    assert is_true(tokenize(text), document) is truth


def test_the_summary_of_a_document_that_was_written_by_hand(document: Report):
    summary = analyze(summarize(document.facts)).sentence()
    expected = (
        "A hotel that Ford opened in May was sold to Princeton by Lincoln in Jordan on Tuesday."
    )
    assert summary.text == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Anna Kim plans tours. She visited Jordan.", (0,)),
        ("Anna Kim plans tours. Ford has hired Peter Smith. She visited Jordan.", (0,)),
        ("Anna Kim plans tours. Ford has hired Clara Smith. She visited Jordan.", (0,)),  # subject
        ("Anna Kim plans tours. Clara Smith plans talks. She visited Jordan.", (2,)),
        ("Anna Kim plans tours. A guard plans talks. She visited Jordan.", (2,)),
        ("Anna Kim plans tours. Clara Smith said that she had visited Jordan.", (2,)),
    ],
)
def test_a_pronoun_means_the_latest_subject_that_agrees(text: str, expected: tuple[int]):
    word_lists = [tokenize(f"{clause}.") for clause in text.removesuffix(".").split(". ")]
    last_event = read_story(word_lists).events[-1]
    assert (last_event.c or last_event).s == expected
