"""PropBank-style arguments by rules from a dependency parse: a heuristic, and never gold.

Predicates are verbs and copulas. A verb's argument is what a dependent of it covers; its label
follows from the relation, and where that leaves it open from the preposition, the conjunction or
the adverb (tables in argument_rules.toml, made by looking at the training part of UD_English-EWT). Subjects are
shared by complements, conjuncts, adverbial and relative clauses. How often this agrees with
PropBank is measured (docs/probing.md, `python benchmarks/labels.py`). Nouns and adjectives are no
predicates here, and no verb has its own frame.
"""

import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

from tprprobe.errors import InputError
from tprprobe.gold.labels import Labelled, Span, Target

TABLES = tomllib.loads(Path(__file__).with_name("argument_rules.toml").read_text("utf-8"))
RELATION, PREPOSITION, CONJUNCTION, ADVERB = (  # the label of a word
    {word: label for label, words in TABLES[name].items() for word in words.split()}
    for name in ("relation", "preposition", "conjunction", "adverb")
)
TIMES, UNDERGOING, CLAUSAL = (
    frozenset(TABLES["words"][name].split()) for name in ("times", "undergoing", "whole")
)
SUBJECTS = ("nsubj", "nsubj:pass", "csubj", "csubj:pass")
OF_COPULAS = ("ARGM-NEG", "ARGM-TMP", "ARGM-DIS")  # adverbs that are not the predicate's own
RELATIVE = ("WP", "WDT", "WP$")


@dataclass(frozen=True, eq=False)
class Tree:
    """A parsed sentence; the root's head is −1."""

    words: Sequence[str]
    tags: Sequence[str]
    relations: Sequence[str]
    heads: Sequence[int]

    @classmethod
    def of(cls, sentence: Labelled) -> "Tree":
        """The tree of a sentence that is labelled with ``pos`` (Penn tags) and ``dep`` (UD)."""
        n = len(sentence.words)
        tags, relations, heads = [""] * n, [""] * n, [-1] * n
        for target in sentence.targets.get("pos", ()):
            tags[target.span1[0]] = target.label
        for target in sentence.targets.get("dep", ()):
            word, head = target.span1[0], (target.span2 or target.span1)[0]
            relations[word], heads[word] = target.label, head if head != word else -1
        return cls([word.lower() for word in sentence.words], tags, relations, heads)

    @cached_property
    def children(self) -> list[list[int]]:
        children: list[list[int]] = [[] for _ in self.words]
        for word, head in enumerate(self.heads):
            if head >= 0:
                children[head].append(word)
        return children

    def find(self, word: int, *relations: str) -> int | None:
        """The first dependent with one of the relations."""
        return next((c for c in self.children[word] if self.relations[c] in relations), None)

    def words_under(self, word: int) -> list[int]:
        words, stack = [], [word]
        while stack:
            words.append(stack.pop())
            stack += self.children[words[-1]]
        return sorted(words)

    def span(self, word: int) -> Span:
        """The span of a subtree, without punctuation at its ends."""
        return self.trim(self.words_under(word))

    def span_before(self, word: int, clause: int) -> Span:
        """The span of the part of a subtree that lies left of a clause in it."""
        stop = self.words_under(clause)[0]
        return self.trim(
            [position for position in self.words_under(word) if position < stop] or [word]
        )

    def trim(self, words: Sequence[int]) -> Span:
        """The span from the first to the last of some words, without punctuation at the ends."""
        inner = [position for position in words if self.relations[position] != "punct"] or list(
            words
        )
        return inner[0], inner[-1] + 1


@dataclass(frozen=True)
class RoleRules:
    """Labels of semantic roles by these rules, for sentences that have ``pos`` and ``dep``."""

    tasks: tuple[str, ...] = ("srl",)

    def label(self, sentences: Sequence[Labelled]) -> list[Labelled]:
        return [
            replace(sentence, targets={**sentence.targets, "srl": find_arguments(sentence)})
            for sentence in sentences
        ]

    def describe(self) -> dict[str, dict[str, Any]]:
        return {"srl": {"source": "rules (heuristic, from a parse)", "agreement": None}}


def label_roles(tasks: Sequence[str]) -> RoleRules:
    """The labeller of semantic roles. Raises: InputError for any other task."""
    if list(tasks) != ["srl"]:
        raise InputError(f"{','.join(tasks)}=rules: rules label semantic roles by srl=rules")
    return RoleRules()


def find_arguments(sentence: Labelled) -> tuple[Target, ...]:
    """The arguments of all verbs and copulas of a parsed sentence; spans of a verb do not repeat."""
    if sentence.words and not (sentence.targets.get("dep") and sentence.targets.get("pos")):
        raise InputError(
            "the rules for semantic roles need tags and dependencies of the words: label pos and dep "
            "too (`--labels pos,dep=spacy:PIPELINE --labels srl=rules`)"
        )
    tree = Tree.of(sentence)
    labels: dict[tuple[int, Span], str] = {}
    for verb, tag in enumerate(tree.tags):
        arguments: Iterator[tuple[Span, str]] = iter(())
        if tree.relations[verb] == "cop":
            arguments = _of_copula(tree, verb)
        elif tag.startswith("VB") and not tree.relations[verb].startswith("aux"):
            arguments = _of_verb(tree, verb)
        for span, label in arguments:
            if not span[0] <= verb < span[1]:
                labels.setdefault((verb, span), label)
    return tuple(Target(label, (v, v + 1), span) for (v, span), label in labels.items())


def _of_verb(tree: Tree, verb: int) -> Iterator[tuple[Span, str]]:
    children = {tree.relations[child]: child for child in tree.children[verb]}
    is_clausal = "obj" in children and "xcomp" in children and tree.words[verb] in CLAUSAL
    if is_clausal:
        yield (tree.span(children["obj"])[0], tree.span(children["xcomp"])[1]), "ARG1"
    for child in tree.children[verb]:
        if not (is_clausal and tree.relations[child] in ("obj", "xcomp")):
            label = _label(tree, verb, child)
            if label:
                relative = tree.tags[child] in RELATIVE and tree.relations[verb] == "acl:relcl"
                yield tree.span(child), f"R-{label}" if relative else label
    yield from _shared(tree, verb)


def _label(tree: Tree, verb: int, child: int) -> str:
    """The label of a dependent, empty where it is no argument."""
    relation, word = tree.relations[child], tree.words[child]
    if relation in ("nsubj", "csubj"):
        return _subject_label(tree, verb)
    if relation in RELATION:
        return RELATION[relation]
    if relation == "xcomp":
        return "ARG2" if tree.find(verb, "obj") is not None else "ARG1"
    if relation == "obl":
        return _oblique(tree, verb, child)
    if relation.startswith("advcl"):
        marks = [c for c in tree.children[child] if tree.relations[c] in ("mark", "advmod")]
        return CONJUNCTION.get(tree.words[marks[0]] if marks else "", "ARGM-ADV")
    if relation == "advmod":
        return ADVERB.get(word, "ARGM-ADV")
    return "ARGM-MOD" if relation == "aux" and tree.tags[child] == "MD" else ""


def _subject_label(tree: Tree, verb: int) -> str:
    if tree.words[verb] in UNDERGOING and tree.find(verb, "obj") is None:
        return "ARG1"
    return "ARG1" if _is_passive(tree, verb) else "ARG0"


def _is_passive(tree: Tree, verb: int) -> bool:
    return tree.find(verb, "aux:pass", "nsubj:pass", "csubj:pass") is not None or (
        tree.tags[verb] == "VBN" and tree.relations[verb] == "acl"
    )


def _oblique(tree: Tree, verb: int, child: int) -> str:
    case = tree.find(child, "case")
    preposition = "" if case is None else tree.words[case]
    text = tree.words[child]
    year = len(text) == 4 and text.isdecimal() and text[:2] in ("19", "20")
    if preposition in ("in", "on", "at", "for", "by", "from", "") and (year or text in TIMES):
        return "ARGM-TMP"
    if preposition == "by" and _is_passive(tree, verb):
        return "ARG0"
    return PREPOSITION.get(preposition, "ARGM-ADV")


def _shared(tree: Tree, verb: int) -> Iterator[tuple[Span, str]]:
    """The subject that a verb without its own shares, and the noun that a clause modifies."""
    relation, head = tree.relations[verb], tree.heads[verb]
    subject = tree.find(verb, *SUBJECTS)
    if relation == "acl:relcl" and tree.tags[head][:1] in ("N", "P", "D", "C"):
        relative = subject is not None and tree.tags[subject] in RELATIVE
        if subject is None or relative:
            yield tree.span_before(head, verb), _subject_label(tree, verb)
        elif tree.find(verb, "obj", "ccomp") is None or (
            (object_ := tree.find(verb, "obj")) is not None and tree.tags[object_] in RELATIVE
        ):
            yield tree.span_before(head, verb), "ARG1"
    elif relation == "acl" and subject is None and tree.tags[verb] in ("VBN", "VBG"):
        yield tree.span_before(head, verb), _subject_label(tree, verb)
    elif relation in ("xcomp", "conj", "advcl") and subject is None:
        owner = tree.find(head, "obj", "iobj") if relation == "xcomp" else None
        owner = tree.find(head, *SUBJECTS) if owner is None else owner
        if owner is not None:
            yield tree.span(owner), _subject_label(tree, verb)


def _of_copula(tree: Tree, copula: int) -> Iterator[tuple[Span, str]]:
    """The arguments of "S is X": S, X without clauses of its own, and the modifiers on its left."""
    head = tree.heads[copula]
    for child in tree.children[head]:
        relation = tree.relations[child]
        if relation in SUBJECTS:
            yield tree.span(child), "ARG1"
        elif relation in ("aux", "discourse", "advmod"):
            label = _label(tree, copula, child)
            if label and (relation != "advmod" or label in OF_COPULAS):
                yield tree.span(child), label
    left_out = {*SUBJECTS, "cop", "aux", "expl", "cc", "conj", "mark", "parataxis", "punct"}
    inside = [head]
    for child in tree.children[head]:
        if tree.relations[child] not in left_out and child > copula:
            inside += tree.words_under(child)
    if min(inside) > copula:
        yield tree.trim(sorted(inside)), "ARG2"
