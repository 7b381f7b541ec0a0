"""States of models of the generated English as sums of bindings: the shipped triple, and a language model's periods."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pandas as pd

from studies.pages.period_states import summarize_periods
from studies.pages.state_tables import (
    agreement_texts,
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
        answers=list(_answers(scores, replaced)),
        scores=table(list(score_rows(scores))),
        replaced=table(list(replaced_rows(replaced))),
        periods=periods,
    )
    found = _found(scores)
    return {"text": text, "found": found, "period": periods["answers"][-1]}


def _found(scores: pd.DataFrame) -> str:
    """How many sites and schemes bindings and added roles gain in, as a sentence."""
    of = count_gains(scores)
    return (
        f"in {of['bindings']} of {of['pairs']} pairs of a site and a scheme bindings explain more than fillers and roles "
        f"that are only added (at most {of['largest']}: {of['largest_at']}), in {of['learnt']} more than in the "
        f"untrained twin; added roles explain more than fillers alone in {of['added']} (intervals of the gain above 0)."
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


def _answers(scores: pd.DataFrame, replaced: pd.DataFrame) -> Iterator[str]:
    """A line a model and site: how much a bag of fillers, added roles and bound roles explain, and what the
    twin's and the behavior say."""
    for (model, site), rows in scores.groupby(["model", "site"], sort=False):
        bag = rows[rows["family"] == "bag"].iloc[0]
        added, bound, twin = (
            largest(rows, family, control)
            for family, control in (("additive", ""), ("factored", ""), ("factored", "untrained"))
        )
        yield (
            f"`{model}`, {site}: a bag of fillers explains {r2_text(bag)}, fillers plus roles {r2_text(added)} (`{added['roles']}`), "
            f"bindings {r2_text(bound)} (`{bound['roles']}`; untrained {r2_text(twin)})."
            + _summarize_behavior(
                replaced[(replaced["model"] == model) & (replaced["site"] == site)]
            )
        )


def _summarize_behavior(replaced: pd.DataFrame) -> str:
    """How much of its own answers a model keeps; nothing of a site whose states were not replaced."""
    if replaced.empty:
        return ""
    kept, mean, random, rest = agreement_texts(replaced)
    return (
        f" With decomposed states it still writes {kept} of its own answers (mean state {mean}, "
        f"a random direction as far {random}), with what decomposed states leave out {rest}."
    )
