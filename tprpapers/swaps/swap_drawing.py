"""Answers after the vectors of two numbers were exchanged, as shares by exchange."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import pandas as pd

from tprpapers.kinds import SWAPS
from tprprobe.figures.catalogue import Input, Maker
from tprprobe.figures.catalogue.loaders import load_tables
from tprprobe.figures.scenes import Shares

TITLES = {
    "polarity": "numerator ↔ denominator",
    "argument": "first ↔ second argument of −",
    "place": "units ↔ tens digit",
    "same polarity": "same polarity (must not change)",
    "agent": "agent ↔ patient",
    "sum": "arguments of + (must not change)",
}
PARTS = {
    "counterfactual": "the predicted new answer",
    "other": "another answer",
    "original": "the old answer",
}
ORDER = ("none", "question", "role", "embedding role", "filler", "key", "binding", "hidden")
CONTROLS = ("same polarity", "sum")  # exchanges after which the answer stays
NOTE, LINES = (
    "Pairs of questions that {} answers both{}.",
    "; lines: 95 % intervals over questions, of ten or more",
)
PLACES = {  # controls, by where the vectors come from
    "elsewhere": "elsewhere: the same vectors exchanged at two other symbols, as far apart",
    "alike": "alike: at another pair of the question with the same surface form",
}


def swap_shares(swaps: pd.DataFrame, kinds: Sequence[str] | None = None) -> Shares:
    """A panel per kind of swap, a bar per exchange: the shares of the predicted, another and the old answer.

    ``swaps`` has the rows of ``summarize_swaps``; drawn are swaps whose two questions the model
    answers (how many, by model, is in parentheses), whole layers, all heads. The line is the 95 %
    interval of the first share. Without ``kinds`` all that should change an answer.
    """
    rows = swaps[(swaps["subset"] == "answered") & (swaps["head"] == -1)]
    present = [kind for kind in TITLES if kind in {*rows["kind"]} - {*CONTROLS}]
    kinds = kinds or present or list(rows["kind"].unique())
    exchanges = order_exchanges(rows)
    models = list(dict.fromkeys(model for model, *_ in exchanges))
    names = [label_exchange(*exchange) for exchange in exchanges]
    if len(models) == 1:
        names = [name.removeprefix(f"{models[0]}: ") for name in names]
    tables = [
        _list_parts(rows[rows["kind"] == kind], kind, exchanges).assign(name=names * len(PARTS))
        for kind in kinds
    ]
    places = {place for *_, place in exchanges}
    shares = pd.concat(tables, ignore_index=True)
    lines = LINES * bool(shares["low"].notna().any())
    note = NOTE.format(models[0] if len(models) == 1 else "the model", lines)
    whole = rows[rows["layer"] == -1]
    for place in filter(places.__contains__, PLACES):
        counts = whole[whole["at"] == place].groupby("kind")["n"].max().reindex([*kinds]).fillna(0)
        note += f"\n{PLACES[place]} (n = {', '.join(f'{n:.0f}' for n in counts)})"
    return Shares(shares, "share of answers", note=note)


def _list_parts(rows: pd.DataFrame, kind: str, exchanges: list[Any]) -> pd.DataFrame:
    """The shares of the three answers after every exchange of a kind; the predicted one has an interval."""
    counts = ", ".join(map(str, rows.loc[rows["vectors"] == "none", "n"])) or "no"
    shares = rows.set_index(["model", "vectors", "layer", "at"])
    shares = shares.reindex(pd.MultiIndex.from_tuples(exchanges))
    shares = shares.assign(panel=f"{TITLES.get(kind, kind)}\n(n = {counts})", sure=True)
    bounds = shares[["counterfactual_low", "counterfactual_high"]].to_numpy(float)
    parts = [shares.assign(part=part, value=shares[column]) for column, part in PARTS.items()]
    parts[0][["low", "high"]] = bounds
    drawn = ["panel", "part", "value", "low", "high", "sure"]
    return pd.concat(parts, ignore_index=True)[drawn]


def order_exchanges(rows: pd.DataFrame) -> list[tuple[str, str, int, str]]:
    """The exchanges by model: none and the question first, then all layers, then one by one."""
    keys = rows[["model", "vectors", "layer", "at"]].drop_duplicates()
    models = {name: i for i, name in enumerate(rows["model"].drop_duplicates())}
    is_pair = keys["at"] == "pair"
    is_drawn = (keys["layer"] == -1) | ((keys["vectors"] != "binding") & is_pair)
    keys = keys[is_drawn & (is_pair | keys["vectors"].isin(["role", "filler"]))]

    def rank(exchange: Any) -> tuple[Any, ...]:
        model, vectors, layer, place = exchange
        return models[model], ORDER.index(vectors), place != "pair", place, layer

    return sorted(keys.itertuples(index=False, name=None), key=rank)


def label_exchange(model: str, vectors: str, layer: int, place: str) -> str:
    names = {
        "none": "no exchange",
        "question": "the new question itself",
        "hidden": "hidden states",
    }
    label = names.get(vectors, f"{vectors}s")
    if vectors not in ("none", "question", "embedding role"):
        label += ", all layers" if layer == -1 else f", layer {layer}"
    return f"{model}: {label}{'' if place == 'pair' else f', {place}'}"


TEXT = "swaps: give --ckpt with folders of `intervene --out`"
SWAPPED = {"swaps": Input(TEXT, partial(load_tables, kind=SWAPS), SWAPS.find_finished)}
SWAP = Maker(swap_shares, inputs=SWAPPED)
