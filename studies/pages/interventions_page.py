"""The page on interventions: are roles used?"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from studies.templates import fill, table
from tprpapers.claims import Evidence, find_claim, judge
from tprpapers.swaps.effect_intervals import compare_places, summarize_swaps
from tprpapers.swaps.exchanges import ALIKE, ALL, ELSEWHERE, PAIR
from tprpapers.swaps.number_pairs import HARMLESS
from tprpapers.swaps.swap_recipes import read_recipe
from tprpapers.swaps.swap_runs import EXCHANGES
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs
from tprprobe.gold import annotate
from tprprobe.interventions import run_recipe
from tprprobe.models import load_model
from tprprobe.models.answers import exact_matches
from tprprobe.models.checkpoint import UNTRAINED, read_checkpoint
from tprprobe.statistics import Interval, interval_text, read_interval, wilson

MODEL, BASELINE = "tpt-c-arithmetic", "transformer-arithmetic"
RECIPES = Path(__file__).parents[2] / "benchmarks" / "interventions"
NAMES = {"same polarity": "two of the same polarity", "sum": "two arguments of +"}
VECTORS = ("none", "question", "role", "embedding role", "filler", "key", "binding", "hidden")
SHARES = {
    "new": "counterfactual",
    "old": "original",
    "other": "other",
    "P(new)": "p_counterfactual",
    "P(old)": "p_original",
}
MAIN = ("new", "P(new)")  # are shown with their intervals
CONTROLS = (ELSEWHERE, ALIKE)
CLAIM, DECIDING = "schlag-used", "donors"
OTHER_POLARITY, SAME_POLARITY = (
    "same digit, other polarity",
    "same digit, same polarity",
)  # kinds of donors


def make_page(runs: Path) -> str:
    """The page; results that are in ``runs`` already are not computed again."""
    folder = runs / "interventions"
    tables = [_table_of("swaps", name, folder) for name in (MODEL, BASELINE)]
    swaps = pd.concat(tables, ignore_index=True)
    _table_of(DECIDING, MODEL, folder)
    moved = pd.read_parquet(folder / f"{DECIDING}-{MODEL}" / EXCHANGES)
    verdict = judge(
        find_claim(CLAIM), _evidence(compare_places(moved, OTHER_POLARITY, SAME_POLARITY))
    )
    return fill(
        Path(__file__).parent,
        "interventions.md.j2",
        verdict=verdict,
        swaps=read_recipe(RECIPES / "swaps.toml"),
        deciding=read_recipe(RECIPES / f"{DECIDING}.toml"),
        exchanged=_differences(compare_places(moved), ["role", "filler", "key", "binding"]),
        donors=_donors(summarize_swaps(moved)),
        polarity=_swaps("polarity", swaps),
        alike=_differences(compare_places(moved, PAIR, ALIKE), ["role", "filler", "binding"]),
        harmless=_harmless(swaps),
    )


def _table_of(recipe: str, model: str, folder: Path) -> pd.DataFrame:
    """The table of a recipe, computed if the folder lacks it."""
    out = folder / f"{recipe}-{model}"
    return run_recipe(RECIPES / f"{recipe}.toml", read_checkpoint(model), out, resume=out.exists())


def _evidence(deciding: pd.DataFrame) -> Evidence:
    """The evidence of donors' roles, of the other polarity against the same, all of the encoder."""
    row = _difference(deciding, MODEL)
    difference = read_interval(row, "difference")
    gates = {"discordant_exact_match": measure_discordant()}
    return Evidence({"": difference}, "question", int(row["n"]), gates)


def _difference(elsewhere: pd.DataFrame, model: str, vectors: str = "role") -> dict[Any, Any]:
    """The row of the swap of numerator and denominator, in all layers at once."""
    rows = elsewhere.query("kind == 'polarity' and vectors == @vectors and layer == -1")
    return rows[rows["model"] == model].iloc[0].to_dict()


def measure_discordant() -> Interval:
    """Exact match of the questions that have a discordant number."""
    recipe = read_recipe(RECIPES / f"{DECIDING}.toml")
    model: Any = load_model(MODEL)
    data = load_data(str(recipe.data), split=recipe.split, n=recipe.n, seed=recipe.seed)
    gold = annotate([question.source for question in data])
    discordant = gold.groupby("question")["discordant"].any().to_numpy(bool)
    right = exact_matches(model, encode_pairs(data, model.vocabulary))[0][discordant]
    return wilson(int(right.sum()), len(right))


def _differences(elsewhere: pd.DataFrame, vectors: Sequence[str]) -> dict[str, Any]:
    """The number of swaps, the difference of the first vectors, and that of each."""
    rows = {kind: _difference(elsewhere, MODEL, kind) for kind in vectors}
    texts = {kind: interval_text(read_interval(row, "difference")) for kind, row in rows.items()}
    leading = vectors[0]
    return {"n": rows[leading]["n"], "difference": texts[leading]} | texts


# ---- tables -----------------------------------------------------------------------------------------


def _donors(swaps: pd.DataFrame) -> str:
    """The effect of roles of other questions' digits, beside the exchange of the pair's own."""
    rows = _answered(swaps, "polarity").query("vectors == 'role' and layer == -1 and head == -1")
    rows = rows.assign(order=rows["at"].isin([PAIR, *CONTROLS]))
    rows = rows.sort_values(["model", "order", "at"], ascending=[False, True, True])
    exchanged = {"pair": "the other number of the pair"}
    exchanged |= {control: f"{control}, exchanged" for control in CONTROLS}
    return table(
        [
            _cells(row) | {"exchanged": f"roles of: {exchanged.get(row['at'], row['at'])}"}
            for row in rows.to_dict("records")
        ]
    )


def _swaps(kind: str, swaps: pd.DataFrame) -> str:
    rows = _answered(swaps, kind)
    rows = rows[(rows["head"] == -1) & ((rows["at"] == "pair") | (rows["layer"] == -1))]
    rows = rows[(rows["vectors"] != "hidden") | (rows["at"] == "pair")]
    rows = rows.assign(order=rows["vectors"].map(VECTORS.index))
    rows = rows.sort_values(["model", "order", "layer", "at"], ascending=[False, True, True, False])
    twins = swaps[(swaps["kind"] == kind) & (swaps["subset"] == "all")]
    return table([_cells(row) for row in rows.to_dict("records")] + _twins(twins))


def _twins(rows: pd.DataFrame) -> list[dict[str, str]]:
    """One row per untrained twin: the least and the most that any exchange of all layers does to it."""
    edited = rows[
        rows["model"].str.startswith(UNTRAINED) & ~rows["vectors"].isin(["none", "question"])
    ]
    return [
        {
            "model": str(model),
            "exchanged": f"any of these, all layers (least to most of {len(twin_rows)})",
            "n": _reach(twin_rows["n"], "d"),
        }
        | {title: _reach(twin_rows[name], ".3f") for title, name in SHARES.items()}
        for model, twin_rows in edited.groupby("model", sort=False)
    ]


def _reach(values: pd.Series, form: str) -> str:
    """The least and the most, as one number if they are one."""
    lowest, highest = format(values.min(), form), format(values.max(), form)
    return lowest if lowest == highest else f"{lowest} to {highest}"


def _cells(row: Mapping[Any, Any]) -> dict[str, str]:
    """One kind of exchange in a table of swaps."""
    place = {"model": str(row["model"]), "exchanged": _told(row), "n": str(row["n"])}
    return place | {
        title: interval_text(read_interval(row, name)) if title in MAIN else f"{row[name]:.3f}"
        for title, name in SHARES.items()
    }


def _told(row: Mapping[Any, Any]) -> str:
    description = {"none": "nothing", "question": "(the new question itself)"}.get(row["vectors"])
    if description is None:
        layers = "" if row["vectors"] == "embedding role" else ", all layers"
        layers = f", layer {row['layer']}" if row["layer"] >= 0 else layers
        description = f"{row['vectors']}s{layers}".replace("hiddens", "hidden states")
    return description if row["at"] == PAIR else f"{description}, {row['at']}"


def _harmless(swaps: pd.DataFrame) -> str:
    table_rows = []
    for kind in HARMLESS:
        rows = _answered(swaps, kind)
        rows = rows[
            (rows["head"] == ALL) & (rows["layer"] == ALL) & (rows["vectors"] != "question")
        ]
        rows = rows.assign(order=rows["vectors"].map(VECTORS.index))
        rows = rows.sort_values(["model", "order", "at"], ascending=[False, True, False])
        table_rows += [
            {
                "swap": NAMES[kind],
                "model": str(row["model"]),
                "exchanged": _told(row),
                "n": str(row["n"]),
                "another answer": interval_text(read_interval(row, "other")),
            }
            for row in rows.to_dict("records")
        ]
    return table(table_rows)


def _answered(swaps: pd.DataFrame, kind: str) -> pd.DataFrame:
    return swaps[(swaps["subset"] == "answered") & (swaps["kind"] == kind)]
