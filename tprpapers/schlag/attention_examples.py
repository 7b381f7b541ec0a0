"""schlag's Fig 3: attention from the numbers of three kinds of question to the '/' that divides by them."""

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprpapers.schlag.attention_mass import Marks, mark_questions
from tprpapers.schlag.relation_scores import find_skipped
from tprpapers.schlag.relations import DIVISION, Relation
from tprprobe.analyses.attention.gold_maps import find_maps, gold_tokens
from tprprobe.errors import InputError
from tprprobe.figures.attention import CAPTION, name_origin, read_map, weight_squares
from tprprobe.figures.clusters import LOOKS, mark_polarity, marks_legend
from tprprobe.figures.labels import site_label
from tprprobe.figures.look import current_look
from tprprobe.figures.strips import Strip, StripFrame, Strips
from tprprobe.store import Store

KINDS = ("simple", "several", "skipped")
MEANINGS = "simple: one division · several: several numbers in one denominator · skipped: a numerator between numbers of a denominator"


def pick_examples(store: Store, per_kind: int = 1, relation: Relation = DIVISION) -> pd.DataFrame:
    """The shortest right answered questions of each kind that have maps: kind, sample, question.

    simple     one division, by one number
    several    a term with several numbers in its denominator, no numerator between them
    skipped    a numerator stands between two numbers of its term's denominator
    A kind of which there is none has no rows; where none is answered right, others are taken.
    """
    samples = store.count_maps(find_maps(store)[0])
    answers = store.tokens.loc[store.tokens["sample"] < samples].drop_duplicates("sample")
    correct = dict(zip(answers["sample"], answers["correct"], strict=True))
    marked = sorted(
        mark_questions(store, samples, relation),
        key=lambda marks: (not correct[marks.sample], len(marks)),
    )
    rows = [(kind, marks.sample, marks.question) for marks in marked if (kind := _kind(marks))]
    table = pd.DataFrame(rows, columns=["kind", "sample", "question"])
    table["kind"] = pd.Categorical(table["kind"], [*KINDS], ordered=True)
    examples_by_kind = table.groupby("kind", observed=True).head(per_kind)
    return examples_by_kind.sort_values("kind", kind="stable").reset_index(drop=True)


def _kind(marks: Marks) -> str | None:
    if find_skipped(marks)[1].any():
        return "skipped"
    below = marks.target["net"] >= 0
    numbers = [len(np.unique(marks.number[below & (marks.term == t)])) for t in marks.term[below]]
    if max(numbers, default=0) > 1:
        return "several"
    return "simple" if marks.operator.sum() == 1 and numbers else None


def attention_examples(
    store: Store, site: str, head: int, examples: pd.DataFrame, relation: Relation = DIVISION
) -> Strips:
    """The attention of the numbers in example questions, with the gold structure of division.

    ``examples`` has a kind and a sample each, as :func:`pick_examples` returns.
    A row is the last digit of a number in a term that divides (framed): from digits of
    denominators the '/' that divides by them is framed too, and the weight on it told; from those
    of numerators the weight on all '/'. In a column of a paper a question has one row of each. Source: schlag Fig 3.

    Raises:
        InputError: no such map or head, no arithmetic, no examples.
    """
    gold = gold_tokens(store, examples["sample"].tolist())
    if gold is None or examples.empty:
        raise InputError(f"{store.path} has no arithmetic questions with a division and maps")
    strips: list[Strip] = []
    is_narrow = current_look().is_narrow
    shares: dict[str, list[float]] = {relation.related: [], relation.contrast: []}
    for kind, sample in zip(examples["kind"], examples["sample"], strict=True):
        question = gold[gold["sample"] == sample].reset_index(drop=True)
        weights, _, _ = read_map(store, site, int(sample), head)
        letters, drawn_sources = mark_polarity(question)[1], set[str]()
        for position in _queried(relation, question):
            source, share, frames = _relate(relation, question, weights[position], position)
            if is_narrow and source in drawn_sources:
                continue
            drawn_sources.add(source)
            shares[source].append(share)
            goal = f"{share:.0%} on {'its' if frames[1:] else 'any'} '{relation.operator}'"
            query = f"token {position}, ‘{question.loc[position, 'token']}’, {source}"
            strips.append(
                Strip(
                    **weight_squares(question["token"].astype(str).tolist(), weights[position]),
                    heading=f"{kind}, question {sample}: from {query}: {goal}",
                    frames=frames,
                    gold=letters,
                )
            )
    title = f"Attention of {site_label(store.select(site)[0], head)}, from numbers to '{relation.operator}'"
    legend = marks_legend(letter for strip in strips for letter in strip.gold)
    note = f"{_summarize(shares, relation)}\n{MEANINGS}\n{CAPTION}, dashed: its '{relation.operator}' · tokens are counted from 0\n{legend}\n{name_origin(store)}"
    return Strips(strips, title=title, note=note)


def _summarize(shares: Mapping[str, Sequence[float]], relation: Relation) -> str:
    """How much of their attention numbers of both kinds give to the operator, in the rows that are drawn."""
    goals = {relation.related: "their", relation.contrast: "any"}
    clauses = [
        f"{np.mean(shares[kind]):.0%} from {len(shares[kind])} {kind}s to {goal} '{relation.operator}'"
        for kind, goal in goals.items()
        if shares[kind]
    ]
    return f"Mean attention in these rows: {', '.join(clauses)}."


def _queried(relation: Relation, question: pd.DataFrame) -> list[int]:
    """The last digit of every number in a multiplicative term that has a related one."""
    terms = question.loc[relation.net.related(question), "term"].unique()
    digits = question[question["term"].isin(terms) & (question["place"] == 0)]
    return digits.index.tolist()


def _relate(
    relation: Relation, question: pd.DataFrame, weights: Float[np.ndarray, " key"], position: int
) -> tuple[str, float, list[StripFrame]]:
    """The kind of a row's number, the weight on its operator (of the other kind on any), and frames."""
    frames = [StripFrame(position, position + 1)]
    target = int(relation.net.targets(question)[position])
    if target < 0:
        return relation.contrast, float(weights[relation.operators(question)].sum()), frames
    frames.append(StripFrame(target, target + 1, *LOOKS[relation.related]))
    return relation.related, float(weights[target]), frames
