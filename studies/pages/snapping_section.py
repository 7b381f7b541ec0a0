"""Scores of summaries that are written while roles are snapped, by the number of roles left."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from studies.templates import fill, table
from tprprobe.data.pairs import encode_pairs
from tprprobe.files.writing import write_file
from tprprobe.interventions import Recipe, find_data
from tprprobe.interventions.sweep_recipes import read_references
from tprprobe.models import load_model
from tprprobe.models.answers import evaluate
from tprprobe.site.hooks import PlacedEdit, find_sites, intervene
from tprprobe.site.patterns import select
from tprprobe.statistics import bootstrap_mean, interval_text, read_interval

FILE = "snapped.csv"
SCORES = {"rougeL": "ROUGE-L", "exact_match": "exact match"}
PLAIN, ONE_HOT, MEAN = "as trained", "one-hot", "their mean"  # what tables call the edits of roles
DISCRETE_ROLES = Recipe(
    n=300, reference=100, seed=0, sites=["*.role_weights"], edits=["one_hot", "mean"],
    heads="all", together=True,
)  # fmt: skip
CONTINUOUS_ROLES = DISCRETE_ROLES.model_copy(
    update={"sites": ["*.role"], "edits": ["mean", "snap"], "clusters": [2, 10, 50, 200]}
)


def summarize_snapping(folder: Path, plans: Mapping[str, Recipe]) -> str:
    """The section of the page on these checkpoints; results in the folder are not computed again."""
    if not (folder / FILE).is_file():
        rows = [row for name, recipe in plans.items() for row in _measure(name, recipe)]
        write_file(folder / FILE, pd.DataFrame(rows).to_csv(index=False))
    scores = pd.read_csv(folder / FILE)
    cells = [
        {"model": row["model"], "roles": row["roles"]}
        | {title: interval_text(read_interval(row, name)) for name, title in SCORES.items()}
        | {f"change of {SCORES['rougeL']}": interval_text(read_interval(row, "change"))}
        for row in scores.to_dict("records")
    ]
    return fill(
        Path(__file__).parent,
        "snapping.md.j2",
        n=DISCRETE_ROLES.n,
        reference=DISCRETE_ROLES.reference,
        snapped=table(cells),
    )


def _measure(name: str, recipe: Recipe) -> Iterator[dict[str, Any]]:
    """A row per edit, the unedited model first."""
    model: Any = load_model(name)
    data = find_data(model, recipe)
    scored, reference_pairs = data[: recipe.n], encode_pairs(data[recipe.n :], model.vocabulary)
    sites = select(recipe.sites, list(find_sites(model)))
    references = read_references(model, reference_pairs, sites, recipe.seed)
    plain = evaluate(model, scored)
    yield _row(name, PLAIN, plain, plain)
    for title, edits in list_edits(recipe, references):
        with intervene(model, edits):
            yield _row(name, title, evaluate(model, scored), plain)


def list_edits(
    recipe: Recipe, references: Mapping[str, Any]
) -> Iterator[tuple[str, dict[str, PlacedEdit]]]:
    """The edits of a recipe by what a table calls them."""
    names = {"one_hot": ONE_HOT, "mean": MEAN}
    for edit in recipe.edits:
        for k in recipe.clusters if edit == "snap" else (0,):
            title = names.get(edit, f"{k} centers a head")
            yield title, {site: reference.edit(edit, k) for site, reference in references.items()}


def _row(model: str, title: str, rows: pd.DataFrame, plain: pd.DataFrame) -> dict[str, Any]:
    reports = plain.index.to_numpy()
    row: dict[str, Any] = {"model": model, "roles": title}
    values = {name: rows[name].to_numpy(float) for name in SCORES}
    values["change"] = values["rougeL"] - plain["rougeL"].to_numpy(float)
    for name, samples in values.items():
        mean = bootstrap_mean(samples, reports)
        row |= {name: mean.value, f"{name}_low": mean.low, f"{name}_high": mean.high}
    return row
