"""What a person reads of a run of probes: a line per vector, its score beside its best control."""

from collections.abc import Iterator

import pandas as pd

from tprprobe.statistics import interval_text, read_interval

BEYOND = "*"
NOTE = f"F1 in percent with its 95 % interval over documents; {BEYOND}: beyond every control (paired, Holm)"


def screen(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per task, vector, head and layer of the real labels, from the rows of a run.

    Columns: task, vector, layer, head (where heads were probed), F1 with its interval, the mark, the
    best control beside it, and where several kinds of probe stand in the rows, the kind.
    """
    real = rows[rows["control"] == "real"]
    shown = pd.DataFrame(list(_lines(real)))
    for column in ("head", "probe"):
        if shown[column].nunique() < 2:
            shown = shown.drop(columns=column)
    return shown


def _lines(real: pd.DataFrame) -> Iterator[dict[str, str]]:
    order = dict(zip(dict.fromkeys(real["site"].map(_vector)), range(len(real)), strict=False))
    placed = real.assign(vector=real["site"].map(_vector))
    placed = placed.assign(order=placed["vector"].map(order))
    for _, row in placed.sort_values(["task", "probe", "order", "layer"], kind="stable").iterrows():
        best = row["best_control"]
        beside = "" if pd.isna(best) else f"{100 * row['best_control_f1']:.1f} {best}"
        yield {
            "task": str(row["task"]),
            "probe": str(row["probe"]),
            "vector": str(row["vector"]),
            "layer": "" if pd.isna(row["layer"]) else str(row["layer"]),
            "head": "" if pd.isna(row["head"]) else str(row["head"]),
            "F1": interval_text(read_interval(row, "f1"), ".1f", 100),
            "": BEYOND if row["beyond"] is True else "",
            "best control": beside,
        }


def _vector(site: str) -> str:
    """A site without its layer: ``encoder.0.self.role`` is ``encoder.self.role``."""
    return ".".join(part for part in str(site).split(".") if not part.isdigit())


def worth_refining(rows: pd.DataFrame) -> list[str]:
    """The sites that a run found beyond every control in some task, in their order."""
    found = rows[(rows["control"] == "real") & (rows["beyond"] == True)]  # noqa: E712
    return list(dict.fromkeys(found["site"]))
