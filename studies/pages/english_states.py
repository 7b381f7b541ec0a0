"""States of the models of the generated English that ship as sums of bindings: of which roles, and whether they are used."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from studies.pages.own_decompositions import measure_once, replaced_rows, score_rows
from studies.templates import fill, table
from tprprobe.analyses.decomposition import decompose
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.interventions.decomposed_states import (
    DECOMPOSITION,
    MEAN,
    RANDOM,
    substitute,
)
from tprprobe.models.checkpoint import default_data
from tprprobe.models.protocol import Model
from tprprobe.statistics import interval_text, read_interval

TRIPLE = ("t5-english", "tpt-c-english", "tpt-d-english")
FIT, ASKED, RANK = 100, 40, "64x4"
HIDDEN = ("encoder.1.hidden", "decoder.1.hidden")
SCHEMES = ("POS",)


def tell_english(runs: Path) -> dict[str, str]:
    """The section's text, and what it found in a sentence."""
    parts: dict[str, list[pd.DataFrame]] = {"scores": [], "replaced": []}
    for name in TRIPLE:
        for part, measured in measure_once(name, tuple(parts), runs, measure_triple).items():
            parts[part].append(measured.assign(model=name))
    scores, replaced = (pd.concat(each, ignore_index=True) for each in parts.values())
    text = fill(
        Path(__file__).parent,
        "english_states.md.j2",
        fit=FIT,
        asked=ASKED,
        rank=RANK.replace("x", " × "),
        answers=list(_answers(scores, replaced)),
        scores=table(list(score_rows(scores))),
        replaced=table(list(replaced_rows(replaced))),
    )
    return {"text": text, "found": _found(scores)}


def _found(scores: pd.DataFrame) -> str:
    """Of how many sites bound roles explain more than a bag, than added roles, and than in the twin."""
    keys = ["model", "site", "roles"]
    of = {
        name: scores[(scores["family"] == family) & (scores["control"] == control)].set_index(keys)
        for name, family, control in (
            ("bound", "factored", ""), ("bag", "bag", ""), ("added", "additive", ""),
            ("twin", "factored", "untrained"),
        )
    }  # fmt: skip
    low = of["bound"]["r2_low"]
    bag, added, twin = ((low > of[name]["r2_high"]).sum() for name in ("bag", "added", "twin"))
    return (
        f"in {bag} of {len(low)} pairs of a site and a scheme bindings explain more than a bag of fillers, in "
        f"{added} more than fillers and roles that are only added, in {twin} more than in the untrained twin "
        "(intervals apart)."
    )


# ---- the triple -------------------------------------------------------------------------------------


def measure_triple(model: Model) -> Iterator[pd.DataFrame]:
    """The scores of all schemes, and what the model writes when its states are replaced."""
    data, split = default_data(model)
    examples = load_data(data, split=split, n=FIT + ASKED)
    with TemporaryDirectory(prefix="tprprobe-english-") as folder:
        store = extract(model, examples[:FIT], HIDDEN, Path(folder) / "store", 0)
        fits = [decompose(store, site, SCHEMES, rank=RANK) for site in store.sites]
    yield pd.concat([fit.scores for fit in fits], ignore_index=True)
    tables = [substitute(model, examples[FIT:], fit).assign(site=fit.site) for fit in fits]
    yield pd.concat(tables, ignore_index=True).assign(roles=fits[0].scheme.name)


def _answers(scores: pd.DataFrame, replaced: pd.DataFrame) -> Iterator[str]:
    """A line a model and site: how much a bag of fillers, added roles and bound roles explain, and what the
    twin's and the behaviour say."""
    for (model, site), rows in scores.groupby(["model", "site"], sort=False):
        bag = rows[rows["family"] == "bag"].iloc[0]
        added, bound, twin = (
            _largest(rows, family, control)
            for family, control in (("additive", ""), ("factored", ""), ("factored", "untrained"))
        )
        behaviour = replaced[(replaced["model"] == model) & (replaced["site"] == site)]
        kept, mean, random = (
            interval_text(read_interval(behaviour[behaviour["edit"] == edit].iloc[0], "agreement"))
            for edit in (DECOMPOSITION, MEAN, RANDOM)
        )
        yield (
            f"`{model}`, {site}: a bag of fillers explains {_r2(bag)}, fillers plus roles {_r2(added)} (`{added['roles']}`), "
            f"bindings {_r2(bound)} (`{bound['roles']}`; untrained {_r2(twin)}). With decomposed states it still "
            f"writes {kept} of its own answers (mean state {mean}, a random direction as far {random})."
        )


def _largest(rows: pd.DataFrame, family: str, control: str) -> dict[Any, Any]:
    chosen = rows[(rows["family"] == family) & (rows["control"] == control)]
    return chosen.iloc[int(chosen["r2"].argmax())].to_dict()


def _r2(row: Any) -> str:
    return interval_text(read_interval(row, "r2"))
