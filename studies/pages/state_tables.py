"""Tables of decomposed states that the page's sections share: measured once, kept, and told row by row."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.console import stderr
from tprprobe.files.writing import write_file
from tprprobe.interventions.decomposed_states import DECOMPOSITION, MEAN, RANDOM, REMAINDER
from tprprobe.models import load_model
from tprprobe.models.protocol import Model, require_model
from tprprobe.statistics import interval_text, read_interval

KEPT = Path(__file__).parents[1] / "decomposed-models"  # tables that were measured before
STEPS = (
    ("fillers", "bag", "r2"),
    ("+ roles", "additive", "gain"),
    ("+ bindings", "factored", "gain"),
    ("of which learnt", "factored", "learnt"),
    ("R²", "factored", "r2"),
    ("withheld pairs", "factored", "r2_withheld"),
)
CONTROLS = ("shuffled roles", "shuffled fillers", "random vectors", "pca", "untrained")
KEYS = ["model", "site", "roles"]
MEASURES = ("accuracy", "agreement", "probability")


def measure_once(
    name: str,
    parts: Sequence[str],
    runs: Path,
    measure: Callable[[Model], Iterable[pd.DataFrame]],
    checkpoint: str | Path | None = None,
) -> dict[str, pd.DataFrame]:
    """The tables of a model: those that the study keeps, else measured and kept in a folder."""
    folder = KEPT if (KEPT / f"scores-{name}.csv").is_file() else runs
    files = {part: folder / f"{part}-{name}.csv" for part in parts}
    if not all(file.is_file() for file in files.values()):
        stderr.print(f"{name} …")
        model: Any = require_model(load_model(checkpoint or name), "whose states are decomposed")
        for part, measured in zip(files, measure(model), strict=True):
            write_file(files[part], measured.to_csv(index=False))
    return {
        part: pd.read_csv(
            file, dtype={"rank": str, "rank_withheld": str}, keep_default_na=False, na_values=[""]
        ).fillna({"family": "", "control": "", "rank": ""} if part == "scores" else {})
        for part, file in files.items()
    }


def score_rows(scores: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row a model, site and scheme: the steps from fillers to bindings, and the controls of the last one."""
    groups: Any = scores.groupby(KEYS, sort=False)
    for (model, site, roles), rows in groups:
        real = rows[rows["control"] == ""].set_index("family")
        yield (
            {"model": model, "site": site, "roles": roles, "rank": real.loc["factored", "rank"]}
            | {title: _interval(real, family, name) for title, family, name in STEPS}
            | {control: _of(rows, control) for control in CONTROLS}
        )


def _interval(real: pd.DataFrame, family: str, name: str) -> str:
    rows = real[real.index == family].to_dict("records")
    if not rows or not np.isfinite(rows[0].get(name, np.nan)):
        return "–"
    return interval_text(read_interval(rows[0], name))


def _of(rows: pd.DataFrame, control: str) -> str:
    family = "" if control == "pca" else "factored"
    of = rows[(rows["family"] == family) & (rows["control"] == control)]
    return "–" if of.empty else f"{of.iloc[0]['r2']:.3f}"


def count_gains(scores: pd.DataFrame) -> dict[str, Any]:
    """How many pairs of a site and a scheme have a gain whose interval lies above 0 (of bindings, of learnt bindings,
    of roles), and the largest gain of bindings.
    """
    real = scores[scores["control"] == ""]
    bound = real[(real["family"] == "factored") & real["gain"].notna()]
    added = real[real["family"] == "additive"]
    best: Any = bound.iloc[int(bound["gain"].argmax())]
    return {
        "pairs": len(bound),
        "bindings": int((bound["gain_low"] > 0).sum()),
        "learnt": int((bound["learnt_low"] > 0).sum()),
        "added": int((added["gain_low"] > 0).sum()),
        "largest": interval_text(read_interval(best, "gain")),
        "largest_at": f"`{best['model']}`, {best['site']}, `{best['roles']}`",
    }


def largest(rows: pd.DataFrame, family: str, control: str) -> dict[Any, Any]:
    """The row of the scheme that explains most, of a family and a control."""
    chosen = rows[(rows["family"] == family) & (rows["control"] == control)]
    return chosen.iloc[[int(chosen["r2"].argmax())]].to_dict("records")[0]


def r2_text(row: Any) -> str:
    """R² with its interval."""
    return interval_text(read_interval(row, "r2"))


def agreement_texts(replaced: pd.DataFrame) -> list[str]:
    """The share of its own answers that a model keeps at a site: with decomposed states, with their mean, moved
    as far in a random direction, and with all but the decomposition."""
    rows = {row["edit"]: row for row in replaced.to_dict("records")}
    return [
        interval_text(read_interval(rows[edit], "agreement"))
        for edit in (DECOMPOSITION, MEAN, RANDOM, REMAINDER)
    ]


def replaced_rows(replaced: pd.DataFrame) -> Iterator[dict[str, str]]:
    """A row a model, site and way to replace its states: what becomes of its answers."""
    for row in replaced.to_dict("records"):
        yield {"model": row["model"], "site": row["site"], "roles": row["roles"]} | {
            "states": row["edit"],
            "n": str(row["n"]),
            **{name: interval_text(read_interval(row, name)) for name in MEASURES if name in row},
        }
