"""Letters: substitution of every architecture, task and scheme, over seeds of the fit."""

from typing import Any

import pandas as pd

from studies.letters.letter_fits import FITS, FITTED, SCHEMES, SEEDS
from studies.letters.letter_models import ARCHITECTURES, TASKS
from studies.pages.encodings_section import BOTH
from studies.templates import table

MODEL = ["task", "architecture"]


def summarize_letters(fits: pd.DataFrame | None = None) -> dict[str, Any]:
    """The numbers of the section's sentences and a table a task, of ``studies/letters/fits.csv``."""
    fits = pd.read_csv(FITS) if fits is None else fits
    by_model = fits.groupby([*MODEL, "roles"])["substitution"].mean().unstack()
    bags = by_model["bag"].groupby("task").max()
    return {
        "fits": len(fits),
        "all_fits": len(TASKS) * len(ARCHITECTURES) * len(SCHEMES) * SEEDS,
        "models": len(by_model),
        "seeds": fits["seed"].nunique(),
        "seconds": fits["seconds"].sum(),
        "fitted": FITTED,
        "tested": int(fits["n"].iloc[0]),
        "itself": (fits["itself"].min(), fits["itself"].max()),
        "both": (by_model[BOTH].min(), by_model[BOTH].max()),
        "best": int((by_model[BOTH] >= by_model.max(axis=1)).sum()),
        "bags": [{"task": task, "most": bags[task]} for task in TASKS if task in bags],
        "spread": (by_seed := fits.groupby([*MODEL, "roles"])["substitution"])
        .max()
        .sub(by_seed.min())
        .max(),
        "tasks": [
            {"name": task, "table": _task(fits[fits["task"] == task])}
            for task in TASKS
            if task in set(fits["task"])
        ],
    }


def _task(fits: pd.DataFrame) -> str:
    """A row an architecture, a column a scheme: the mean over seeds, the least and the most."""
    rows = []
    for architecture in ARCHITECTURES:
        of = fits[fits["architecture"] == architecture]
        if of.empty:
            continue
        found = of.groupby("roles")["substitution"].agg(["mean", "min", "max"])
        row = {"architecture": architecture, "states": f"{of['itself'].mean():.3f}"}
        for roles in SCHEMES:
            mean, least, most = found.loc[roles]
            row[f"`{roles}`"] = f"{mean:.3f} ({least:.3f}–{most:.3f})"
        rows.append(row)
    return table(rows)
