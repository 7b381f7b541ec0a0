"""The page on real models, from the committed tables; a question that has no table is left out."""

from pathlib import Path
from typing import Any

import pandas as pd

from studies.real.drawings import read_result
from studies.real.outcomes import RESULTS, judge
from studies.real.predictions import load_predictions
from studies.templates import fill, table
from tprprobe.files.writing import write_file
from tprprobe.statistics import interval_text, read_interval

PAGE = Path("docs/real.md")
ESTIMATES = ("sentence", "language-model", "spelling", "layer")
CLAUSES = 3_168  # sentences of the six clauses


def write_page(path: Path = PAGE) -> Path:
    """The page."""
    found = [read_result(f"{name}-estimates") for name in ESTIMATES if _has(f"{name}-estimates")]
    outcomes = judge(pd.concat(found)).fillna("")
    outcomes.to_csv(RESULTS / "outcomes.csv", index=False)
    counted = outcomes["outcome"].value_counts()
    facts = {
        "a": _sentences() if _has("sentence-vectors") else None,
        "b": _language_model() if _has("period-gains") else None,
        "c": _spelling() if _has("spelling-fits") else None,
        "d": _layers() if _has("layer-knowledge") else None,
    }
    text = fill(
        Path(__file__).parent,
        "real.md.j2",
        predictions=len(load_predictions()),
        counts=", ".join(f"{n} {name}" for name, n in counted.items()),
        outcomes=table(_shown(outcomes, pd.concat(found))),
        leads=table(read_result("leads")),
        **facts,
    )
    return write_file(path, text)


def _has(name: str) -> bool:
    return (RESULTS / f"{name}.csv").is_file()


def _shown(outcomes: pd.DataFrame, estimates: pd.DataFrame) -> pd.DataFrame:
    """Outcomes with the number that decided."""
    first = estimates[estimates["seed"] == estimates.groupby("prediction")["seed"].transform("min")]
    texts = {name: _number(of) for name, of in first.groupby("prediction")}
    measured = outcomes["prediction"].map(texts).fillna("")
    shown = {"prediction": outcomes["says"], "measured": measured, "outcome": outcomes["outcome"]}
    return pd.DataFrame({**shown, "again": outcomes["again"]})


def _number(of: pd.DataFrame) -> str:
    """The interval of one case; of several the least and the most."""
    if len(of) == 1:
        return interval_text(read_interval(of.iloc[0]))
    ends = [of.loc[of["value"].idxmin()], of.loc[of["value"].idxmax()]]
    return " to ".join(f"{interval_text(read_interval(row))} ({row['case']})" for row in ends)


def _pick(rows: pd.DataFrame, name: str = "value", form: str = ".3f", **where: Any) -> str:
    """``value [low, high]`` of the one row where columns have these values; a dash if there is none."""
    for column, value in where.items():
        rows = rows[rows[column].fillna("") == value]
    return interval_text(read_interval(rows.iloc[0], name), form) if len(rows) else "–"


def _sentences() -> dict[str, Any]:
    rows = read_result("sentence-vectors")
    last = max(s for s in rows["site"].unique() if s.endswith(".hidden"))
    at: dict[str, Any] = {"frame": "clauses", "site": last, "seed": 0}
    own = {**at, "twin": ""}
    passive = "active and passive"
    return {
        "n": f"{CLAUSES:,}",
        "words": _pick(rows, measure="R² words", **own),
        "share": _pick(rows, measure="share of exchange", **own),
        "place": _pick(rows, measure="cosine place", **own),
        "role": _pick(rows, measure="cosine role", **own),
        "shuffled": _pick(rows, measure="cosine shuffled", **own),
        "twin": _pick(rows, measure="cosine place", twin="permuted-0", **at),
        "gap": _pick(
            rows.assign(**{e: -rows[e] for e in ("value", "value_low", "value_high")}),
            measure="role − place",
            **own,
        ).replace("-", ""),
        "swap_first": _pick(rows, measure=f"own_exchange_first, {passive}", **own),
        "passive": _pick(rows, measure=f"before_exchange, {passive}", **own),
        "sure": "the second set of words says the same of every number here; three frames, one kind of sentence, no long texts.",
    }


def _spelling() -> dict[str, Any]:
    fits, surgery, twins = (read_result(f"spelling-{n}") for n in ("fits", "surgery", "twins"))
    of = {"family": "saturated", "control": "", "seed": 0}
    keys = {
        "bag": "bag",
        "left": "left",
        "both": "left*right",
        "syllable": "syllable",
        "wickel": "wickel",
    }
    operated = {"edit": "exchange", "seed": 0}
    untrained = twins[twins["twin"] == "untrained"]
    return {
        "n": f"{int(fits['n'].iloc[0]):,}",
        **{key: _pick(fits, "kept", roles=roles, **of) for key, roles in keys.items()},
        "untrained": f"R² {untrained['r2_twin'].mean():.3f}",
        "trained": f"{untrained['r2'].mean():.3f}",
        "surgery": _pick(surgery, "exact", roles="wickel", **operated),
        "surgery_left": _pick(surgery, "exact", roles="left", **operated),
        "random": _pick(surgery, "exact", roles="wickel", edit="random", seed=0),
        "regular": _pick(read_result("spelling-estimates"), prediction="c-regular", seed=0),
        "sure": "the order of the schemes is the same for both splits of lemmas; the fits are free vectors a pair, so neighbors have many more of them than places.",
    }
