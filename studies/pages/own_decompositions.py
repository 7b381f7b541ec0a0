"""The shipped models' own states as sums of bindings: how much, of which roles, and whether they are used."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from studies.pages.state_tables import (
    count_gains,
    measure_once,
    replaced_rows,
    score_rows,
)
from studies.templates import fill, table
from tprpapers.swaps.effect_intervals import summarize_swaps
from tprpapers.swaps.exchanges import measure_swaps
from tprpapers.swaps.number_pairs import find_swaps
from tprpapers.swaps.surgical_swaps import DIRECTION, ROLE, SURGERY, measure_surgeries
from tprpapers.swaps.swap_drawing import way_label
from tprprobe.analyses.decomposition import Decomposition, decompose
from tprprobe.data import load_data
from tprprobe.data.dataset import Dataset
from tprprobe.extraction import extract
from tprprobe.interventions.decomposed_states import (
    AS_MUCH,
    DECOMPOSITION,
    MEAN,
    RANDOM,
    REMAINDER,
    substitute,
)
from tprprobe.models.checkpoint import default_data
from tprprobe.models.protocol import Model
from tprprobe.statistics import interval_text, read_interval

FIT, ASKED, SWAPPED = 300, 100, 600  # examples fitted to; further ones that models are run on
KINDS = ("argument", "polarity")


@dataclass(frozen=True)
class OwnStates:
    """Sites of a shipped model and the schemes that its vectors are decomposed by; states are replaced by
    the first scheme's."""

    model: str
    sites: tuple[str, ...]
    roles: tuple[str, ...]
    scope: str = "self"
    generated: bool = False

    @property
    def is_arithmetic(self) -> bool:
        return self.model.endswith("arithmetic")


LAYERS = ("encoder.0.hidden", "encoder.2.hidden")
OWN = (
    OwnStates("tpt-c-arithmetic", LAYERS, ("expression", "left")),
    OwnStates("transformer-arithmetic", LAYERS, ("expression", "left")),
    OwnStates("tpgn-scenes", ("sentence.tpr",), ("left", "POS"), "before", True),
)  # fmt: skip


def summarize_own(runs: Path) -> str:
    """The section; what ``studies/decomposed-models`` or the folder has of it already is not measured again."""
    scores, replaced, surgery = _collect(runs)
    return fill(
        Path(__file__).parent,
        "own_decompositions.md.j2",
        fit=FIT,
        asked=ASKED,
        swapped=SWAPPED,
        scores=table(list(score_rows(scores))),
        replaced=table(list(replaced_rows(replaced))),
        surgery=table(list(_surgery_rows(surgery))),
        **_plainly(scores, replaced, surgery),
    )


def answer_own(runs: Path) -> dict[str, Any]:
    """The numbers of the section's first sentences."""
    return _plainly(*_collect(runs))


def _collect(runs: Path) -> list[pd.DataFrame]:
    """The tables of all models: scores, states replaced, surgery."""
    found: dict[str, list[pd.DataFrame]] = {"scores": [], "replaced": [], "surgery": []}
    for own in OWN:
        for name, measured in _measure(own, runs).items():
            found[name].append(measured.assign(model=own.model))
    return [pd.concat(each, ignore_index=True) for each in found.values()]


# ---- measuring --------------------------------------------------------------------------------------


def _measure(own: OwnStates, runs: Path) -> dict[str, pd.DataFrame]:
    parts = ["scores", "replaced", *(["surgery"] if own.is_arithmetic else [])]
    return measure_once(own.model, parts, runs, lambda model: _run(model, own))


def _run(model: Model, own: OwnStates) -> Iterator[pd.DataFrame]:
    data, split = default_data(model)
    examples = load_data(data, split=split, n=FIT + (SWAPPED if own.is_arithmetic else ASKED))
    fitted, asked = examples[:FIT], examples[FIT:]
    with TemporaryDirectory(prefix="tprprobe-own-") as folder:
        fits = list(_decompose(model, own, fitted, Path(folder) / "store"))
    yield pd.concat([fit.scores for fit in fits], ignore_index=True)
    some = asked[: ASKED if own.is_arithmetic else ASKED // 2]
    replaced = [substitute(model, some, fit).assign(site=fit.site) for fit in fits]
    yield pd.concat(replaced, ignore_index=True).assign(roles=fits[0].scheme.name)
    if own.is_arithmetic:
        swaps = find_swaps([each.source for each in asked], KINDS)
        rows = [measure_swaps(model, swaps, []), measure_surgeries(model, swaps, fits)]
        yield summarize_swaps(pd.concat(rows, ignore_index=True).assign(model=model.name))


def _decompose(model: Model, own: OwnStates, data: Dataset, out: Path) -> Iterator[Decomposition]:
    """The decompositions of every site by all schemes."""
    target: Any = "generated" if own.generated else "reference"
    store = extract(model, data, own.sites, out, 0, target)
    for site in store.sites:
        yield decompose(store, site, own.roles, scope=own.scope)


# ---- telling ----------------------------------------------------------------------------------------


KEPT_BY = (("kept", DECOMPOSITION), ("mean", MEAN), ("random", RANDOM),
           ("rest", REMAINDER), ("as_much", AS_MUCH))  # fmt: skip


def _surgery_rows(surgery: pd.DataFrame) -> Iterator[dict[str, str]]:
    for row in _answered(surgery).to_dict("records"):
        way = (row["vectors"], row["layer"], row["at"])
        yield {"model": row["model"], "kind": row["kind"], "n": str(row["n"])} | {
            "what is done": way_label(row["model"], *way).partition(": ")[2],
            "answer of the exchanged question": interval_text(read_interval(row, "counterfactual")),
            "old answer": interval_text(read_interval(row, "original")),
        }


def _answered(surgery: pd.DataFrame) -> pd.DataFrame:
    return surgery[(surgery["subset"] == "answered")]


def _plainly(scores: pd.DataFrame, replaced: pd.DataFrame, surgery: pd.DataFrame) -> dict[str, Any]:
    """The numbers of the three sentences that the section begins with."""
    own = scores[(scores["control"] == "") & (scores["family"] == "factored")]
    of: Callable[[str, str], pd.Series] = lambda edit, name: replaced.loc[  # noqa: E731
        replaced["edit"] == edit, name
    ]
    exchanged = _answered(surgery).set_index(["layer", "at"])["counterfactual"]
    first, *_, last = sorted({layer for layer, _ in exchanged.index if layer >= 0})
    return {
        "low": own["r2"].min(),
        "high": own["r2"].max(),
        **count_gains(scores),
        **{
            key: (of(edit, "agreement").min(), of(edit, "agreement").max())
            for key, edit in KEPT_BY
        },
        **{
            name: (exchanged.loc[layer, at].min(), exchanged.loc[layer, at].max())
            for name, layer, at in (
                ("first_layer", first, SURGERY), ("last_layer", last, SURGERY),
                ("turned", first, DIRECTION), ("displaced", first, ROLE),
            )
        },
    }  # fmt: skip
