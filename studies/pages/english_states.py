"""States of models of the generated English as sums of bindings: the shipped triple, and a language model's periods."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from studies.pages.period_states import summarize_periods
from studies.pages.state_tables import (
    count_gains,
    largest,
    measure_once,
    r2_text,
    replaced_rows,
    score_rows,
)
from studies.templates import fill, table
from tprprobe.analyses.decomposition import decompose
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.interventions.decomposed_states import (
    substitute,
)
from tprprobe.models.checkpoint import default_data
from tprprobe.models.protocol import Model

TRIPLE = ("t5-english", "tpt-c-english", "tpt-d-english")
FIT, ASKED = 100, 40
HIDDEN = ("encoder.1.hidden", "decoder.1.hidden")
BOUND = tuple(
    f"encoder.1.self.{name}" for name in ("filler", "role", "tpr")
)  # of models that have them
SCHEMES = ("POS", "dep", "left")


def summarize_english(runs: Path) -> dict[str, str]:
    """The section's text, and what it found in a sentence."""
    parts: dict[str, list[pd.DataFrame]] = {"scores": [], "replaced": []}
    for name in TRIPLE:
        for part, measured in measure_once(name, tuple(parts), runs, measure_triple).items():
            parts[part].append(measured.assign(model=name))
    scores, replaced = (pd.concat(each, ignore_index=True) for each in parts.values())
    periods = summarize_periods(runs)
    text = fill(
        Path(__file__).parent,
        "english_states.md.j2",
        fit=FIT,
        asked=ASKED,
        best=table(list(_best_rows(scores))),
        scores=table(list(score_rows(scores))),
        replaced=table(list(replaced_rows(replaced))),
        periods=periods,
    )
    found = _found(scores)
    return {"text": text, "found": found, "period": periods["answers"][-1]}


def _found(scores: pd.DataFrame) -> str:
    """In how many pairs of a site and a scheme bindings and added roles gain, in sentences."""
    of = count_gains(scores)
    return (
        f"bindings add to fillers and roles in {of['bindings']} of {of['pairs']} pairs of a site and a scheme, at most {of['largest']} "
        f"({of['largest_at']}). In {of['learnt']} pairs they add more than in the untrained twin. Roles add to fillers in {of['added']} pairs."
    )


def measure_triple(model: Model) -> Iterator[pd.DataFrame]:
    """The scores of all schemes, and what the model writes when its states are replaced."""
    data, split = default_data(model)
    examples = load_data(data, split=split, n=FIT + ASKED)
    with TemporaryDirectory(prefix="tprprobe-english-") as folder:
        sites = HIDDEN + (BOUND if model.config.roles != "none" else ())
        store = extract(model, examples[:FIT], sites, Path(folder) / "store", 0)
        fits = [decompose(store, site, SCHEMES) for site in store.sites]
    yield pd.concat([fit.scores for fit in fits], ignore_index=True)
    whole = [fit for fit in fits if fit.site in HIDDEN]
    tables = [substitute(model, examples[FIT:], fit).assign(site=fit.site) for fit in whole]
    yield pd.concat(tables, ignore_index=True).assign(roles=fits[0].scheme.name)


def _best_rows(scores: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row a model and site: how much fillers, added roles and bound roles explain, and bindings in the twin."""
    for (model, site), rows in scores.groupby(["model", "site"], sort=False):
        bag = rows[rows["family"] == "bag"].iloc[0]
        added, bound, twin = (
            largest(rows, family, control)
            for family, control in (("additive", ""), ("factored", ""), ("factored", "untrained"))
        )
        yield {
            "model": f"`{model}`",
            "site": str(site),
            "fillers": r2_text(bag),
            "+ roles": f"{r2_text(added)} (`{added['roles']}`)",
            "+ bindings": f"{r2_text(bound)} (`{bound['roles']}`)",
            "bindings, untrained": r2_text(twin),
        }
