"""Questions that show a relation: the three kinds of schlag's Fig 3, picked from a store."""

import numpy as np
import pandas as pd

from tprprobe.analyses.attention.gold_maps import Marks, find_maps, mark_questions
from tprprobe.analyses.attention.relations import DIVISION, Relation
from tprprobe.store import Store


def pick_examples(store: Store, per_kind: int = 1, relation: Relation = DIVISION) -> pd.DataFrame:
    """The shortest right answered questions of each kind that have maps: kind, sample, question.

    simple     one division, by one number
    several    a term with several numbers in its denominator, no numerator between them
    skipped    a numerator stands between two numbers of its term's denominator
    A kind of which there is none has no rows; where none is answered right, others are taken.
    """
    samples = store.count_maps(find_maps(store)[0])
    first = store.tokens.loc[store.tokens["sample"] < samples].drop_duplicates("sample")
    correct = dict(zip(first["sample"], first["correct"], strict=True))
    marked = sorted(
        mark_questions(store, samples, relation),
        key=lambda each: (not correct[each.sample], len(each)),
    )
    rows = [(kind, each.sample, each.question) for each in marked if (kind := _kind(each))]
    table = pd.DataFrame(rows, columns=["kind", "sample", "question"])
    table["kind"] = pd.Categorical(table["kind"], ["simple", "several", "skipped"], ordered=True)
    chosen = table.groupby("kind", observed=True).head(per_kind)
    return chosen.sort_values("kind", kind="stable").reset_index(drop=True)


def _kind(marks: Marks) -> str | None:
    if marks.intervening.any():
        return "skipped"
    below = marks.target["net"] >= 0
    numbers = [len(np.unique(marks.number[below & (marks.term == t)])) for t in marks.term[below]]
    if max(numbers, default=0) > 1:
        return "several"
    return "simple" if marks.operator.sum() == 1 and numbers else None
