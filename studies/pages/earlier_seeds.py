"""An earlier study's seeds beside the study's, on the questions that both answered.

Only variants that start alike are compared: both studies train them by the same recipe, the same data
and other seeds, so that the seeds of both can be taken together.
"""

from dataclasses import replace
from typing import Any

import pandas as pd

from studies.pages import binding_contrasts
from studies.pages.binding_contrasts import FULL, measure_contrasts
from studies.pages.differences import count_seeds, signed
from studies.templates import table
from tprpapers.study.records import Study
from tprprobe.statistics import read_interval

BOUND = "embedding binding − none, roles learned"
CONTRASTS = {
    FULL: binding_contrasts.CONTRASTS[FULL],
    BOUND: {"tp-transformer": 1.0, "no-embedding-binding": -1.0},
    "roles learned − roles one, embedding bound": {"tp-transformer": 1.0, "ones": -1.0},
}


def compare_seeds(study: Study, earlier: Study) -> pd.DataFrame:
    """The contrasts by the earlier study's seeds, by the study's, and by those of both.

    Columns: contrast, set, n, seeds, value, low, high, of (whose seeds); of questions that both answered.
    """
    joined = join_studies(study, earlier)
    runs_of = {"earlier": earlier.runs, "later": study.runs, "both": joined.runs}
    tables = [
        measure_contrasts(replace(joined, runs=runs), contrasts=CONTRASTS).assign(of=name)
        for name, runs in runs_of.items()
    ]
    return pd.concat(tables, ignore_index=True)


def join_studies(study: Study, earlier: Study) -> Study:
    """The runs of two studies on the questions that both answered."""
    runs = pd.concat([earlier.runs, study.runs], ignore_index=True)
    answers = study.examples.set_index("source")[list(study.runs["run"])]
    examples = earlier.examples.join(answers, on="source", how="inner")
    return Study("both", runs, pd.DataFrame(), examples.reset_index(drop=True))


def summarize_seeds(contrasts: pd.DataFrame) -> str:
    """A sentence on what the seeds of each study and of both say of all questions."""
    every: Any = contrasts[contrasts["set"] == "all"].set_index(["contrast", "of"])

    def difference_text(contrast: str, source: str) -> str:
        row = every.loc[(contrast, source)]
        return f"{signed(read_interval(row))} ({count_seeds(row['seeds'])})"

    full, bound = (
        f"{difference_text(contrast, 'earlier')}. Together with the later seeds, it is {difference_text(contrast, 'both')}."
        for contrast in (FULL, BOUND)
    )
    return (
        f"Seeds of an earlier study leave both open, on the {every['n'].iloc[0]:,} questions that all answered. "
        f"The full product gains {full} The embedding binding (roles learned) gains {bound}"
    )


def summarize_table(contrasts: pd.DataFrame) -> str:
    """Every contrast, a row for whose seeds tell it, a column a set of questions."""
    counts = contrasts.groupby("set", sort=False)["n"].first()
    rows = []
    groups: Any = contrasts.groupby(["contrast", "of"], sort=False)
    for (contrast, source), contrast_rows in groups:
        values = contrast_rows.set_index("set")
        cells = {
            "contrast": str(contrast),
            "studies": str(source),
            "seeds": str(contrast_rows["seeds"].iloc[0]),
        }
        for name, n in counts.items():
            cells[f"{name} (n {n:,})"] = signed(read_interval(values.loc[name]))
        rows.append(cells)
    return table(rows)
