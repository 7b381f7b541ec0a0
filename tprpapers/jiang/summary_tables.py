"""Summaries scored and judged: jiang's Table 2 (automatic), Table 3 (people) and its §4 (facts)."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import pandas as pd

from tprpapers.scoring import compare_matches, compare_scores, match_unsupported, mean_scores
from tprpapers.scoring.baselines import BASELINES
from tprpapers.scoring.faithfulness import PRINTED, fisher_test
from tprprobe.figures.tables import Table
from tprprobe.statistics import interval_text, read_interval

SHOWN_SCORES = {
    "rouge1": "ROUGE-1",
    "rouge2": "ROUGE-2",
    "rougeLsum": "ROUGE-L",
    "meteor": "METEOR",
    "exact_match": "exact match",
    "grammatical": "grammatical",
    "faithful": "true",
}
TITLE2 = "Scores of summaries (percent), and their differences by document"
CAPTION2 = (
    "In brackets: 95 % intervals over documents. * p < .05 (paired bootstrap; of shares McNemar's test), not adjusted.\n"
    "METEOR: without synonyms.\nThe paper's numbers (Table 2) are not known. Its text says: TPT-d is above the Transformer on XSum, arXiv and "
    "WikiHow in all four scores, and about equal on CNN/DailyMail; TPT-c is the worst of the three on every corpus."
)
SPARE2 = ("exact match", "true", "grammatical", "METEOR", "ROUGE-2")  # columns
TITLE3 = "Votes of people who did not know which summary was whose"
CAPTION3 = (
    "Share: of documents with a preference, with 95 % interval. p: sign test. Documents of which both wrote the same are not asked about. "
    "The paper's counts (Table 3) are not known. Its text says of 120 summaries each: XSum, TPT-d significantly better in grammar; "
    "WikiHow, Transformer ahead in saliency, TPT-d in grammar, and significantly overall."
)
TITLE4 = "Facts of references that their documents do not have, written by models"
CAPTION4 = (
    "Proxy: names and numbers of the reference that are nowhere in its document. McNemar's test is paired; the paper gives only the two totals, "
    "for which Fisher's test is all that can be done."
)


def table2(summaries: pd.DataFrame) -> Table:
    """Means of every model on every data set, then differences of every two, as jiang's Table 2.

    ``summaries`` has a row per model and document: model, data, document, and the scores.
    """
    rows: list[dict[str, str]] = []
    ruled = []
    for data, of_data in summaries.groupby("data", sort=False):
        scores: dict[str, Any] = {
            str(model): rows_of_model.set_index("document")[
                [name for name in SHOWN_SCORES if name in rows_of_model]
            ]
            for model, rows_of_model in of_data.groupby("model", sort=False)
        }
        means = [{"model": model} | _cells(mean_scores(texts)) for model, texts in scores.items()]
        for table_rows in (means, _differences(scores)):
            ruled.append(len(rows))
            rows += [{"data": str(data)} | row for row in table_rows]
    look: Any = {"ruled": tuple(ruled[1:]), "block": ("data",), "spare": SPARE2}
    return Table(pd.DataFrame(rows).fillna("–"), TITLE2, CAPTION2, **look)


def _differences(scores: dict[str, pd.DataFrame]) -> list[dict[str, str]]:
    """The differences of every two models, without the baselines."""
    pairs = combinations([model for model in scores if model not in BASELINES], 2)
    return [
        {"model": f"{a} − {b}"} | _cells(compare_scores(scores[a], scores[b]), "+")
        for a, b in pairs
    ]


def _cells(scores: pd.DataFrame, sign: str = "") -> dict[str, str]:
    cells = {}
    for name, row in scores.iterrows():
        star = " *" if "p" in scores and row["p"] < 0.05 else ""
        cells[SHOWN_SCORES[str(name)]] = interval_text(read_interval(row), f"{sign}.1f", 100) + star
    return cells


def table3(votes: pd.DataFrame) -> Table:
    """Votes by criterion (:func:`tprpapers.scoring.count_votes`), as jiang's Table 3."""
    rows = [_vote_row(row) for row in votes.to_dict("records")]
    return Table(pd.DataFrame(rows), TITLE3, CAPTION3)


def _vote_row(row: dict[Any, Any]) -> dict[str, str]:
    return {
        "criterion": row["criterion"],
        "models": f"{row['first']} : {row['second']}",
        "votes": f"{row['wins']} : {row['losses']}",
        "ties": str(row["ties"]),
        "share of the first": interval_text(read_interval(row, "share"), ".0f", 100, " %"),
        "p": f"{row['p']:.3f}",
    }


def unsupported_table(matches: Sequence[dict[str, Any]]) -> Table:
    """Unsupported facts of references that two models wrote, beside the paper's count.

    ``matches`` are rows of :func:`compare_matches` with models (two names) and data.
    """
    rows = [*map(_match_row, matches), printed_matches()]
    look: Any = {"ruled": (len(matches),), "block": ("from",), "spare": ("references",)}
    return Table(pd.DataFrame(rows), TITLE4, CAPTION4, **look)


def _match_row(row: dict[str, Any]) -> dict[str, str]:
    return {
        "from": f"this run, {row['data']}",
        "references": str(row["references"]),
        "with such facts": str(row["unsupported"]),
        "models": " : ".join(row["models"]),
        "have them": f"{row['first']} : {row['second']}",
        "only one has": f"{row['only_first']} : {row['only_second']}",
        "p (McNemar)": f"{row['p_mcnemar']:.3f}" if row["unsupported"] else "–",
        "p (Fisher)": f"{row['p_fisher']:.3f}" if row["unsupported"] else "–",
    }


def printed_matches() -> dict[str, str]:
    """The row of the paper's study (jiang §4)."""
    n, n_transformer, n_tpt = PRINTED["unsupported"], PRINTED["Transformer"], PRINTED["TPT-d"]
    return {
        "from": "printed (jiang §4), XSum",
        "references": str(PRINTED["references"]),
        "with such facts": str(n),
        "models": "Transformer : TPT-d",
        "have them": f"{n_transformer} : {n_tpt}",
        "only one has": "–",
        "p (McNemar)": "–",
        "p (Fisher)": f"{fisher_test(n_transformer, n, n_tpt, n):.3f}",
    }


def count_matches(summaries: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of `unsupported_table`: every two models on the same data."""
    rows = []
    for data, of_data in summaries.groupby("data", sort=False):
        matches = {
            str(model): match_unsupported(rows_of_model.set_index("document"))
            for model, rows_of_model in of_data.groupby("model", sort=False)
            if model not in BASELINES
        }
        for a, b in combinations(matches, 2):
            rows.append(
                {"models": (a, b), "data": str(data)} | compare_matches(matches[a], matches[b])
            )
    return rows
