"""Tables of cells with intervals over seeds, the outcomes of predictions, and the page that says both."""

import tomllib
from collections.abc import Sequence
from pathlib import Path

import jinja2
import numpy as np
import pandas as pd
from scipy import stats

from benchmarks.binding.calibration import calibrate
from benchmarks.binding.figure import draw_figure
from benchmarks.binding.runner import VERSION, list_methods, list_subjects
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


def read_table(file: Path) -> pd.DataFrame:
    """A table, in which nothing but an empty cell is missing (a family is named "null")."""
    return pd.read_csv(file, keep_default_na=False, na_values=[""])


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
        by_themselves = ["pca", "sparse_dictionary"] if measure[:2] == "r2" else []
        means = cells.groupby(["subject", "method"], sort=False)[measure].mean()
        for subject, of in means.groupby("subject", sort=False):
            scores = {m: v for (_, m), v in of.items() if m not in by_themselves and v == v}  # type: ignore[misc]
            best = max(scores, key=lambda m: scores[m], default=OURS)
            if OURS in scores and scores[best] - scores[OURS] > BEHIND:
                ahead = f"{list_methods()[best].TITLE}, {scores[best]:.2f}"
                found = {"measure": MEASURES[measure], "subject": subject}
                rows.append({**found, "ours": f"{scores[OURS]:.2f}", "ahead": ahead})
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
    cells, chosen, calibration = (read_table(folder / name) for name in TABLES)
    used = list_methods()
    parts = _parts(cells)
    known, nulls, twins, reals = (parts[name] for name in ("known", "nulls", "twins", "real"))
    named = by_subject(cells[cells["named"].notna()], ("named_right",))
    subjects = list_subjects(Path())
    listed = [
        (s.name, s.family, s.scheme, s.size)
        for n, s in subjects.items()
        if n in {*cells["subject"]}
    ]
    tables = {
        "listed": pd.DataFrame(
            listed, columns=["subject", "family", "roles that are asked", "size"]
        ),
        "behind": behind(cells[cells["family"] != "real"]),
        "known": summarize(known, SHOWN),
        "costs": summarize(known, COSTS),
        "nulls": summarize(nulls, RULES),
        "twins": summarize(twins, (*RULES, "claims_learnt")),
        "detected": summarize(known, RULES),
        "by_null": by_subject(nulls, RULES[1:]),
        "edits": by_subject(known, ("interchange", "interchange_withheld")),
        "named": named,
        "predictions": judge(cells),
        "chosen": chosen[chosen["chosen"] & chosen["setting"].notna()][
            ["method", "setting", "score"]
        ].round(3),
        "calibration": calibration.round(3),
        "cannot": pd.DataFrame(
            {"method": m.TITLE, "cannot have": MEASURES[k], "because": why}
            for m in used.values()
            for k, why in m.CANNOT.items()
        ),
    }
    asked = ("r2", "accuracy", "claims_shuffled", "claims_learnt")
    facts = {name: markdown(table) for name, table in tables.items()} | {
        "real": markdown(by_subject(reals, asked)) if len(reals) else "",
        "seeds": cells["seed"].nunique(),
        "methods": cells["method"].nunique(),
        "subjects": cells["subject"].nunique(),
        "ceiling": interval_text(over_seeds(known, "ceiling"), ".2f"),
        "rate": _rates(parts),
        "example": (HERE / "methods/mean_difference.py").read_text("utf-8"),
        "version": VERSION,
    }
    template = jinja2.Template((HERE / "page.md.j2").read_text("utf-8"), keep_trailing_newline=True)
    return template.render(facts)


def _rates(parts: dict[str, pd.DataFrame]) -> dict[str, dict[str, dict[str, str]]]:
    """By part (nulls, planted, …) and method, the means of measures as texts, for sentences."""
    found: dict[str, dict[str, dict[str, str]]] = {}
    for name, of in parts.items():
        means = of.groupby("method")[[*MEASURES]].mean().map(lambda value: f"{value:.2f}")
        found[name] = {str(method): dict(row) for method, row in means.iterrows()}
    return found


def _parts(cells: pd.DataFrame) -> dict[str, pd.DataFrame]:
    """Cells of subjects with binding, all and by family, of those without it, and of twins and real models."""
    truth = {name: subject.binding for name, subject in list_subjects(Path()).items()}
    family, bound = cells["family"], cells["subject"].map(truth)
    known = (bound == True) & (family != "twin")  # noqa: E712
    parts = {"known": known, "nulls": bound == False, "twins": family == "twin"}  # noqa: E712
    parts |= {"planted": family == "planted", "compiled": known & (family == "compiled")}
    parts |= {"tpt": cells["subject"] == "TP-Transformer v⊙r"}
    parts |= {"orthogonal": cells["subject"].isin(["compiled copy", "compiled reverse"])}
    return {name: cells[where] for name, where in {**parts, "real": family == "real"}.items()}


def publish(out: Path) -> list[Path]:
    """Calibrates, and writes the tables beside the benchmark, the figure and the page of the book."""
    calibrate(out)
    RESULTS.mkdir(exist_ok=True)
    for name in TABLES:
        read_table(out / name).round(5).to_csv(RESULTS / name, index=False)
    cells = read_table(RESULTS / "cells.csv")
    parts, figure = _parts(cells), BOOK / "images" / FIGURE
    draw_figure(parts["known"], pd.concat([parts["nulls"], parts["twins"]]), figure)
    return [*(RESULTS / name for name in TABLES), figure, write_file(PAGE, write_page())]
