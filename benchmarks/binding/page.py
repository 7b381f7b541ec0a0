"""Tables of cells with intervals over seeds, the outcomes of predictions, and the page that says both."""

import shutil
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import jinja2
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.binding.figure import draw_figure
from benchmarks.binding.runner import list_methods, list_subjects
from benchmarks.binding.scores import MEASURES
from tprprobe.files.writing import write_file
from tprprobe.statistics import Interval, interval_text

HERE, BOOK = Path(__file__).parent, Path("studies/results")
RESULTS, PAGE, FIGURE = HERE / "results", BOOK / "binding-benchmark.md", "binding-benchmark.png"
TABLES = ("cells.csv", "chosen.csv", "calibration.csv")
SHOWN = (
    "r2",
    "r2_withheld",
    "accuracy",
    "accuracy_withheld",
    "interchange",
    "interchange_withheld",
)
COSTS = ("others_kept", "named_right", "reseed", "seconds", "parameters")
RULES = ("claims_chance", "claims_shuffled", "claims")
RIVALS = ("r2", "r2_withheld", "interchange", "interchange_withheld", "others_kept", "named_right")
OURS, BEHIND = "nested", 0.02
FORMS = {"parameters": ",.0f", "reseed": ".4f"}


def over_seeds(cells: pd.DataFrame, measure: str) -> Interval:
    """The mean over subjects, with the 95 % interval (Student's t) over seeds; NaN where nothing is measured."""
    values = cells.groupby("seed")[measure].mean().dropna()
    if values.empty:
        return Interval(np.nan, np.nan, np.nan)
    mean, n = float(values.mean()), len(values)
    if n < 2:
        return Interval(mean, np.nan, np.nan)
    half = float(stats.t.ppf(0.975, n - 1) * values.std(ddof=1) / np.sqrt(n))
    return Interval(mean, mean - half, mean + half, n - 1)


def summarize(cells: pd.DataFrame, measures: Sequence[str] = (*SHOWN, *COSTS)) -> pd.DataFrame:
    """A row a method: measures over subjects, as texts; "n/a" where it cannot answer."""
    rows = {}
    for name, of in cells.groupby("method", sort=False):
        found = {m: over_seeds(of, m) for m in measures}
        texts = {m: interval_text(found[m], FORMS.get(m, ".2f")).replace("–", "n/a") for m in found}
        rows[list_methods()[str(name)].TITLE] = {MEASURES[m]: text for m, text in texts.items()}
    return pd.DataFrame(rows).T.rename_axis("method")


def by_subject(cells: pd.DataFrame, measures: Sequence[str]) -> pd.DataFrame:
    """Subjects × methods: the means of measures over seeds, one after another."""
    rows: dict[str, dict[str, str]] = {}
    for (subject, method), of in cells.groupby(["subject", "method"], sort=False):
        texts = [f"{v:.2f}" if np.isfinite(v := of[m].mean()) else "n/a" for m in measures]
        rows.setdefault(str(subject), {})[list_methods()[str(method)].TITLE] = " · ".join(texts)
    return pd.DataFrame(rows).T.rename_axis("subject")


def behind(cells: pd.DataFrame) -> pd.DataFrame:
    """Where another method is ahead of ours by more than BEHIND, the best of them; those that rebuild vectors
    from themselves do not count.
    """
    rows = []
    for measure in RIVALS:
        of = (
            cells[~cells["method"].isin(["pca", "sparse_dictionary"])]
            if measure[:2] == "r2"
            else cells
        )
        means = of.pivot_table(measure, "subject", "method", sort=False)
        for subject, row in means.iterrows():
            best = row.idxmax()
            if OURS in row and row[best] - row[OURS] > BEHIND:
                texts = {
                    "ours": f"{row[OURS]:.2f}",
                    "ahead": f"{list_methods()[best].TITLE}, {row[best]:.2f}",
                }
                rows.append({"measure": MEASURES[measure], "subject": subject, **texts})
    return pd.DataFrame(rows)


def judge(cells: pd.DataFrame) -> pd.DataFrame:
    """The predictions and their outcomes."""
    rows = []
    for each in tomllib.loads((HERE / "predictions.toml").read_text("utf-8"))["prediction"]:
        chosen = cells["subject"].isin(each["subjects"]) | cells["family"].isin(each["subjects"])
        of = cells[chosen].set_index(["subject", "seed"])
        values = of.loc[of["method"] == each["method"], each["measure"]]
        if "minus" in each:
            values = values - of.loc[of["method"] == each["minus"], each["measure"]]
        found = over_seeds(values.rename("value").reset_index(), "value")
        low, high = (end - each["threshold"] for end in (found.low, found.high))
        if each["direction"] == "less":
            low, high = -high, -low
        outcome = "holds" if low > 0 else "fails" if high <= 0 else "undecided"
        outcome = outcome if np.isfinite(found.value) else "not measured"
        rows.append(
            {"prediction": each["says"], "measured": interval_text(found), "outcome": outcome}
        )
    return pd.DataFrame(rows)


def markdown(table: pd.DataFrame) -> str:
    """The table in Markdown, with its index where that has a name."""
    table = table.reset_index() if table.index.name else table
    rows = [
        list(map(str, table.columns)),
        ["---"] * len(table.columns),
        *table.astype(str).to_numpy().tolist(),
    ]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def write_page(folder: Path = RESULTS) -> str:
    """The text of the page, from the tables of a folder."""
    cells, chosen, calibration = (pd.read_csv(folder / name) for name in TABLES)
    cells["named"] = cells["named"].fillna("")
    subjects, used = list_subjects(Path(), Path()) if False else _known(cells), list_methods()
    known = cells[cells["subject"].isin([s for s, of in subjects.items() if of == "binding"])]
    nulls = cells[cells["subject"].isin([s for s, of in subjects.items() if of == "none"])]
    facts: dict[str, Any] = {
        "seeds": cells["seed"].nunique(),
        "seconds": f"{cells['seconds'].sum():.0f}",
        "behind": behind(cells[cells["family"] != "real"]),
        "known": summarize(known, SHOWN),
        "costs": summarize(known, COSTS),
        "nulls": summarize(nulls, RULES),
        "twins": summarize(cells[cells["family"] == "twin"], (*RULES, "claims_learnt")),
        "detected": summarize(known, RULES),
        "by_null": by_subject(nulls, RULES[1:]),
        "edits": by_subject(known, ("interchange", "interchange_withheld")),
        "named": by_subject(cells, ("named_right",))
        .replace("n/a", np.nan)
        .dropna(how="all")
        .fillna("n/a"),
        "real": by_subject(
            cells[cells["family"] == "real"], ("r2", "accuracy", "claims_shuffled", "claims_learnt")
        ),
        "predictions": judge(cells),
        "chosen": chosen[chosen["chosen"] & chosen["setting"].notna()][["method", "setting"]],
        "calibration": calibration,
        "cannot": pd.DataFrame(
            [
                {"method": m.TITLE, "cannot have": MEASURES[k], "because": why}
                for m in used.values()
                for k, why in m.CANNOT.items()
            ]
        ),
    }
    facts = {k: markdown(v) if isinstance(v, pd.DataFrame) else v for k, v in facts.items()}
    return jinja2.Template(
        (HERE / "page.md.j2").read_text("utf-8"), keep_trailing_newline=True
    ).render(**facts)
