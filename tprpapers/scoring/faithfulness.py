"""Facts of a reference that its document does not have, and the models that write them all the
same.

jiang's study: of 100 references of XSum 71 have such facts; the Transformer writes some of them in
21, TPT-d in 17 of these. People can judge by a sheet; names and numbers are counted as a proxy.
"""

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from scipy import stats

from tprpapers.scoring.extractiveness import words
from tprpapers.scoring.sheets import QUESTIONS, read_answers, read_sheet
from tprprobe.statistics import sign_test

PRINTED = {"references": 100, "unsupported": 71, "Transformer": 21, "TPT-d": 17}  # jiang §4
ANSWERS = {"yes": 1.0, "no": 0.0}
NAME = re.compile(r"(?<![.!?:] )(?<!^)\b[^\W\d_a-z]\w+|\b\d[\d.,]*\d\b|\b\d+\b")


def find_names(text: str) -> set[str]:
    """Names and numbers of a text: words with a capital that do not begin a sentence, and digits.

    A proxy for a tagger of entities; of no use for titles that are capitalized throughout.
    """
    return {name.lower() for name in NAME.findall(text.strip())}


def unsupported(source: str, reference: str) -> set[str]:
    """Names and numbers of the reference that are nowhere in the source."""
    return find_names(reference) - set(words(source)) - find_names(source)


def match_unsupported(rows: pd.DataFrame) -> pd.DataFrame:
    """One row per reference: whether it has unsupported facts (unsupported), and whether the
    prediction has at least one of them (matched).
    """
    facts = [unsupported(*pair) for pair in zip(rows["source"], rows["target"], strict=True)]
    texts = (set(words(text)) | find_names(text) for text in rows["prediction"])
    matched = [bool(fact & text) for fact, text in zip(facts, texts, strict=True)]
    columns = {"unsupported": [bool(fact) for fact in facts], "matched": matched}
    return pd.DataFrame(columns, index=rows.index)


def read_facts(path: str | Path) -> tuple[tuple[str, str], pd.DataFrame, pd.DataFrame]:
    """The two models of a filled sheet of facts, and for each what `match_unsupported` tells.

    References that are not judged, or have no unsupported fact, match nothing.
    """
    sheet, key = read_sheet(path)
    is_yes = [read_answers(sheet, question, ANSWERS, path) == 1 for question in QUESTIONS["facts"]]
    unsupported, swapped = is_yes[0], np.array(key["swapped"])
    sides = np.where(swapped, is_yes[2], is_yes[1]), np.where(swapped, is_yes[1], is_yes[2])
    matches_a, matches_b = (
        pd.DataFrame({"unsupported": unsupported, "matched": side & unsupported}) for side in sides
    )
    return tuple(key["models"]), matches_a, matches_b


def compare_matches(matches_a: pd.DataFrame, matches_b: pd.DataFrame) -> dict[str, Any]:
    """The number of unsupported facts that each of two models shares with the references, with p of
    McNemar's exact test (paired) and of Fisher's (which is all that the paper's two counts allow).
    """
    matched_a, matched_b = matches_a["matched"].to_numpy(), matches_b["matched"].to_numpy()
    n, *counts = (
        int(np.sum(flags)) for flags in (matches_a["unsupported"].to_numpy(), matched_a, matched_b)
    )
    only_first, only_second = (
        int(np.sum(matched_a & ~matched_b)),
        int(np.sum(matched_b & ~matched_a)),
    )
    return {
        "references": len(matches_a),
        "unsupported": n,
        "first": counts[0],
        "second": counts[1],
        "only_first": only_first,
        "only_second": only_second,
        "p_mcnemar": sign_test(only_first, only_second),
        "p_fisher": fisher_test(counts[0], n, counts[1], n) if n else 1.0,
    }


def fisher_test(n_a: int, total_a: int, n_b: int, total_b: int) -> float:
    """Two-sided p that two shares of independent trials differ (Fisher's exact test).

    >>> round(fisher_test(21, 71, 17, 71), 3)  # Source: jiang §4, unfaithful references
    0.57
    """
    table = [[n_a, total_a - n_a], [n_b, total_b - n_b]]
    result: Any = stats.fisher_exact(table)
    return float(result.pvalue)
