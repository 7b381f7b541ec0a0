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
    both = join_studies(study, earlier)
    parts = {"earlier": earlier.runs, "later": study.runs, "both": both.runs}
    found = [
        measure_contrasts(replace(both, runs=runs), contrasts=CONTRASTS).assign(of=name)
        for name, runs in parts.items()
    ]
    return pd.concat(found, ignore_index=True)


def join_studies(study: Study, earlier: Study) -> Study:
    """The runs of two studies on the questions that both answered."""
    runs = pd.concat([earlier.runs, study.runs], ignore_index=True)
    answers = study.examples.set_index("source")[list(study.runs["run"])]
    examples = earlier.examples.join(answers, on="source", how="inner")
    return Study("both", runs, pd.DataFrame(), examples.reset_index(drop=True))


def summarize_seeds(found: pd.DataFrame) -> str:
    """A sentence on what the seeds of each study and of both say of all questions."""
    every: Any = found[found["set"] == "all"].set_index(["contrast", "of"])

    def told(contrast: str, of: str) -> str:
        row = every.loc[(contrast, of)]
        return f"{signed(read_interval(row))} ({count_seeds(row['seeds'])})"

    full, bound = (
        f"{told(each, 'earlier')}. Together with the later seeds, it is {told(each, 'both')}."
        for each in (FULL, BOUND)
    )
    return (
        f"Seeds of an earlier study leave both open, on the {every['n'].iloc[0]:,} questions that all answered. "
        f"The full product gains {full} The embedding binding (roles learned) gains {bound}"
    )


def summarize_table(found: pd.DataFrame) -> str:
    """Every contrast, a row for whose seeds tell it, a column a set of questions."""
    counts = found.groupby("set", sort=False)["n"].first()
    rows = []
    groups: Any = found.groupby(["contrast", "of"], sort=False)
    for (contrast, of), part in groups:
        values = part.set_index("set")
        cells = {"contrast": str(contrast), "studies": str(of), "seeds": str(part["seeds"].iloc[0])}
        for name, n in counts.items():
            cells[f"{name} (n {n:,})"] = signed(read_interval(values.loc[name]))
        rows.append(cells)
    return table(rows)
