"""One row per clustering: how much of it is named, and what it tells of polarity, beside chance."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pandas as pd

from tprprobe.analyses.naming.lattice import AND
from tprprobe.analyses.naming.names import Gold, count_names
from tprprobe.analyses.naming.vector_sets import (
    BASELINE,
    CONTROLS,
    RANDOM,
    TRAINED,
    NamingTarget,
)
from tprprobe.gold.structure import POLARITIES
from tprprobe.statistics import wilson
from tprprobe.store.layout import TWINS

KEYS = ["model", "vectors", "site", "layer", "head", "k"]
AGREEMENTS = {  # of the summary: field, measure, null
    "ami_kind": ("kind", "ami", "question"),
    "ami_place": ("place", "ami", "question"),
    "ami_polarity": ("polarity", "ami", "question"),
    "polarity_given_place": ("polarity", "ami given kind, place", "question"),
    "polarity_given_surface": ("polarity", "ami given kind, place, surface", "question"),
}
SUBSETS = {"": "all", "_discordant": "discordant", "_answered": "discordant, answered"}
RULES = ("majority", "surface")

Part = tuple[pd.DataFrame, Mapping[str, str]]


def summarize(names: pd.DataFrame, agreement: pd.DataFrame, decoding: pd.DataFrame) -> pd.DataFrame:
    """One row per clustering: how much of it is named, and what it tells of polarity.

    clusters, named, with_polarity   how many there are, have a name, and one that tells numerators
                                     from denominators; coverage: the share of tokens with a name
    ami_…                            with kind, place, polarity
    polarity_given_place             AMI with polarity given kind and place; _surface: given also the
                                     rule that looks at the symbols before a number; _null and _p by
                                     permutations within questions (and within what is given)
    accuracy, accuracy_discordant, accuracy_answered   of polarity decoded from clusters alone, of
                                     all, discordant, and discordant digits of questions that are
                                     answered right; majority…, surface… of these rules; _low, _high
    """
    atoms = names["name"].str.split(AND)
    tells = [int(not {*POLARITIES}.isdisjoint(each)) for each in atoms]
    summary = count_names(names, KEYS, with_polarity=tells)
    for rows, columns in (*_agreements(agreement), *_accuracies(decoding)):
        part: Any = rows[[*KEYS, *columns]]
        summary = summary.merge(part.rename(columns=columns), how="left", on=KEYS)
    return summary


def _agreements(agreement: pd.DataFrame) -> Iterator[Part]:
    """Rows of a table, and its columns in the summary by their names there."""
    of = agreement.set_index(["field", "measure", "null"]).sort_index()
    for name, key in AGREEMENTS.items():
        columns = {"value": name}
        if name.startswith("polarity"):
            columns |= {"null_mean": f"{name}_null", "p_value": f"{name}_p"}
        yield of.loc[[key] if key in of.index else []], columns


def _accuracies(decoding: pd.DataFrame) -> Iterator[Part]:
    for suffix, subset in SUBSETS.items():
        columns = {f"accuracy{end}": f"accuracy{suffix}{end}" for end in ("", "_low", "_high")}
        named = {"clusters": columns, **{rule: {"accuracy": f"{rule}{suffix}"} for rule in RULES}}
        for predictor, taken in named.items():
            is_meant = (decoding["subset"] == subset) & (decoding["predictor"] == predictor)
            yield decoding[is_meant], taken


def find_facts(targets: Sequence[NamingTarget], golds: Mapping[str, Gold]) -> dict[str, Any]:
    """The number of questions, the share answered right, and the missing controls.

    Of those with a discordant number too. ``unlabelled``: worded, or no expression we can parse.
    """
    tokens = golds[TRAINED].tokens
    discordant = tokens["discordant"].fillna(False).astype(bool)
    unlabelled = tokens["kind"].isin(["worded", "unparsed"])
    marks = {"correct": tokens["correct"], "discordant": discordant, "unlabelled": unlabelled}
    by_question: Any = pd.DataFrame(marks).groupby(tokens["sample"]).max()

    def exact(right: Any) -> dict[str, Any]:
        found = wilson(int(right.sum()), len(right))
        known = {"exact_match": found.value, "exact_match_interval": [found.low, found.high]}
        return {"n": len(right), **(known if len(right) else dict.fromkeys(known))}

    there = {target.vectors for target in targets if target.model == TRAINED}
    missing = [kind for kind in (*CONTROLS, RANDOM) if kind not in there]
    missing += [] if golds.keys() & {*TWINS} else ["untrained"]
    missing += [] if BASELINE in golds else [BASELINE]
    return {
        "questions": exact(by_question["correct"]),
        "discordant_questions": exact(by_question.loc[by_question["discordant"], "correct"]),
        "unlabelled": int(by_question["unlabelled"].sum()),
        "missing": missing,
    }
