"""Views of a run's results: a row a probe, and the lines that a command prints."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.evaluation.controls import BASELINES, CONTROLS, REAL
from tprprobe.evaluation.intervals import LEVEL
from tprprobe.evaluation.results import BEHIND, FILE, NUMBERS, Results, load_results
from tprprobe.evaluation.runner import SCORE
from tprprobe.files.notebook import as_html
from tprprobe.files.tables import read_table
from tprprobe.statistics import FEWEST_GROUPS, interval_text, read_interval

PROBE = ["task", "side", "site", "layer", "head", "seed", "control", "probe"]
PROBE += ["n_train", "labels", "lost", "validations"]
SCORES = [
    f"{metric}{end}" for metric in ("f1", "macro_f1", "accuracy") for end in ("", "_low", "_high")
]
COLUMNS = (*PROBE, *SCORES, "precision", "recall", "n_test", "documents")
ENDS = ("selectivity", "prefix_selectivity", "beyond_identity")
INFORMATION = ("codelength", "compression", "information", "added")
BEST = ("best_control", "best_control_f1", "beats_controls", "beyond")  # the last two are one
ROWS, REMEDY = "rows.parquet", "make it again with `tprprobe probe`"  # of runs of 0.3 and before
INTEGERS = ("n_train", "labels", "lost", "n_test", "documents")
P_BEHIND = "p_behind"
FEW = 10_000  # targets, below which layers were seen to change their order (docs/probing.md)
LEARNED_FROM = "in the first training set"  # one of several that cross-fitting makes
REORDERED, TIE = "with more targets, layers may change their order", "(a tie)"
OF_ALL = ("static", "previous", *BASELINES)  # controls that every vector is compared with
MEASURE = "measure"
BEYOND, BEHIND_BEST, ALIKE = "*", "behind best", "≈"  # a mark, a column, a mark in it
NOTE = f"in percent, [95 % interval] of these probes on new documents; {BEYOND}: beyond every control (paired, Holm)"
BEHIND_NOTE = f"; {BEHIND_BEST}: how much the best layer is better (paired); {ALIKE}: not distinguished from it (by p after Holm; its interval is not corrected)"


class Rows(pd.DataFrame):
    """The rows of a run; printed they have the columns that are read first, what is made of them is a plain table."""

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def _shown(self) -> tuple[pd.DataFrame, str]:
        metric = find_metric(self)
        scores = [metric, f"{metric}_low", f"{metric}_high"]
        names = ["task", "side", "site", "head", "control", *scores, "best_control", "beats_controls"]  # fmt: skip
        table = self[[name for name in names if name in self]].dropna(axis=1, how="all")
        return table, f"[{len(self)} rows; {len(self.columns)} columns, see .columns]"

    def __repr__(self) -> str:
        table, note = self._shown()
        return f"{table.to_string(max_rows=60, na_rep='', float_format='{:.3f}'.format)}\n\n{note}"

    def _repr_html_(self) -> str:
        table, note = self._shown()
        return as_html("", table, note)


def list_rows(results: Results) -> pd.DataFrame:
    """One row a probe: its scores with intervals, and the strongest control of real labels."""
    wide, table = results.wide(), results.table
    metric = "f1" if "f1" in wide else SCORE
    f1 = table[table["metric"] == metric].reset_index(drop=True)  # one a row of the view
    rivals = f1["rival"].replace("", None)
    beats_controls = (f1["p"] < LEVEL).astype(object).where(rivals.notna(), None)
    rows = wide.assign(
        control=wide["control"].replace("", REAL),
        probe=wide["estimator"].replace("", None),
        n_test=f1["n"].astype(int),
        documents=f1["n_groups"],
        best_control=rivals,
        best_control_f1=f1["rival_value"],
        beats_controls=beats_controls,
        beyond=beats_controls,  # until 0.5: elsewhere `beyond` is a difference
    )
    score = [SCORE, f"{SCORE}_low", f"{SCORE}_high"] if metric == SCORE else []
    subsets = [name for name in wide if str(name).startswith("f1_") and name not in COLUMNS]
    information = [name for name in INFORMATION if name in wide]
    columns = [*COLUMNS, *score, *subsets, *ENDS, *information, *BEST]
    if BEHIND in wide:
        names = [name for name in table if name in wide and name not in NUMBERS]
        p_values = table.loc[table["metric"] == BEHIND, [*names, "p"]]
        rows[P_BEHIND] = wide[names].merge(p_values, "left")["p"]
        columns += [BEHIND, f"{BEHIND}_low", f"{BEHIND}_high", P_BEHIND]
    rows = rows.reindex(columns=columns)
    return rows.astype(dict.fromkeys(INTEGERS, int) | {"validations": "Int64"})


def load_rows(folder: str | os.PathLike[str]) -> pd.DataFrame:
    """The rows of a run, from its results; of a run of version 0.3 and before, its table."""
    if (Path(folder) / FILE).is_file():
        return Rows(list_rows(load_results(folder)))
    rows = read_table(Path(folder) / ROWS, {}, REMEDY)
    return rows.assign(beats_controls=rows.get("beyond"))


def find_metric(rows: pd.DataFrame) -> str:
    """The column of the main score: ``f1``, or ``score`` of estimators that predict nothing."""
    return SCORE if SCORE in rows and rows["f1"].isna().all() else "f1"


def name_score(rows: pd.DataFrame) -> str:
    """``accuracy`` where every target has one label and every label counts, as micro-F1 then is accuracy; else ``micro-F1``."""
    if find_metric(rows) == SCORE:
        return SCORE
    scored = rows.dropna(subset=["f1", "accuracy"])
    return "accuracy" if np.allclose(scored["f1"], scored["accuracy"]) else "micro-F1"


def name_control(control: object) -> str:
    """A control as people call it in a table."""
    return {"control": "control task", "static": CONTROLS["static"]}.get(str(control), str(control))


def print_rows(rows: pd.DataFrame) -> str:
    """What the command prints of a run: its table, and what its numbers are."""
    table = screen(rows)
    lines = [NOTE + BEHIND_NOTE * (BEHIND_BEST in table), table.to_string(index=False)]
    return "\n".join([*lines, *explain_controls(rows["best_control"]), describe_basis(rows)])


def screen(rows: pd.DataFrame) -> pd.DataFrame:
    """A line per task, vector, head and layer of the real labels: the score with its interval and name (accuracy or micro-F1:
    the column's, or where tasks differ ``measure``), a mark, how far it is behind the best layer, the strongest control, the macro F1.
    """
    lines = pd.DataFrame(list(_lines(rows[rows["control"] == REAL])))
    if lines[MEASURE].nunique() == 1:
        lines = lines.rename(columns={"score": lines[MEASURE].iloc[0]})
    for column in ("head", "probe", BEHIND_BEST, MEASURE):
        if lines[column].nunique() < 2:
            lines = lines.drop(columns=column)
    return lines


def explain_controls(names: Iterable[str]) -> list[str]:
    """A line that says what the controls of these names are; none where there are none."""
    listed_controls = {name_control(name): CONTROLS[name] for name in names if name in CONTROLS}
    meanings = [f"{name} = {text}" for name, text in listed_controls.items() if name != text]
    return [f"Controls: {', '.join(meanings)}."] if meanings else []


def describe_basis(rows: pd.DataFrame) -> str:
    """On how many documents intervals and tests rest, and how many targets were learned from and tested."""
    real = rows[rows["control"] == REAL]
    has_layers = BEHIND in real and bool(real[BEHIND].notna().any())
    counts: Any = real.groupby("task", sort=False)[["n_test", "n_train"]].max().reset_index()
    targets = [
        f"{', '.join(tasks)}: {n_test:,} targets tested, {n_train:,} {LEARNED_FROM}"
        f"{f'; {REORDERED}' if has_layers and 0 < n_train < FEW else ''}"
        for (n_test, n_train), tasks in counts.groupby(["n_test", "n_train"], sort=False)["task"]
    ]
    basis = f"every interval and p-value rests on {count_documents(real)}documents"
    if (real["documents"] < FEWEST_GROUPS).any():
        basis += f" (no interval of fewer than {FEWEST_GROUPS})"
    return "\n".join([basis, *targets])


def count_documents(real: pd.DataFrame) -> str:
    """On how many documents the scores of rows rest, by task where tasks differ, and a blank; nothing where rows do not say."""
    counts = count_by_task(real, "documents")
    sizes = {count.partition(" ")[0] for count in counts}
    return "".join(f"{size} " for size in sizes) if len(sizes) < 2 else f"{', '.join(counts)} "


def count_by_task(rows: pd.DataFrame, column: str) -> list[str]:
    """The numbers of a column, such as ``400 (rel)``; of models where those of a task differ."""
    table = rows.assign(model=rows.get("model", "")).reindex(columns=["task", "model", column])
    table = table[table[column] > 0].astype({"model": str})
    is_alike = table.groupby("task")[column].transform("nunique") < 2
    task_names = table["task"] + (", " + table["model"]).where(table["model"] != "", "")
    names = table["task"].where(is_alike, task_names)
    ends = table.groupby(names, sort=False)[column].agg(["min", "max"])
    spans = ("–".join(dict.fromkeys(f"{n:,.0f}" for n in pair)) for pair in ends.to_numpy())
    return [f"{span} ({name})" for name, span in zip(ends.index, spans, strict=True)]


def _lines(real: pd.DataFrame) -> Iterator[dict[str, str]]:
    vectors = real["site"].map(name_vector)
    order = {vector: place for place, vector in enumerate(vectors.unique())}
    ordered = real.assign(vector=vectors, order=vectors.map(order))
    ordered = ordered.sort_values(["task", "probe", "order", "layer"], kind="stable")
    metric = find_metric(real)
    names = {task: name_score(rows) for task, rows in real.groupby("task")}
    for _, row in ordered.iterrows():
        best = row["best_control"]
        best_f1 = "" if pd.isna(best) else f"{100 * row['best_control_f1']:.1f}"
        yield {
            "task": str(row["task"]),
            "probe": str(row["probe"]),
            "vector": str(row["vector"]),
            "layer": "" if pd.isna(row["layer"]) else str(row["layer"]),
            "head": "" if pd.isna(row["head"]) else str(row["head"]),
            "score": interval_text(read_interval(row, metric), ".1f", 100),
            MEASURE: names[row["task"]],
            "": BEYOND if row["beats_controls"] is True else "",
            BEHIND_BEST: _write_behind(row),
            "strongest control": best_f1 and f"{best_f1} {name_control(best)}",
            **_macro(row),
            "learned from": f"{row['n_train']:,}",
        }


def _macro(row: pd.Series) -> dict[str, str]:
    """Macro F1, which runs of version 0.3 and before lack."""
    if "macro_f1" not in row or pd.isna(row["macro_f1"]):
        return {}
    return {"macro F1": interval_text(read_interval(row, "macro_f1"), ".1f", 100)}


def name_vector(site: object) -> str:
    """A site without its layer."""
    return re.sub(r"\.\d+(?=\.|$)", "", str(site))


def _write_behind(row: pd.Series) -> str:
    """How much the best layer is better than that of a row; empty where there are no other layers."""
    if pd.isna(row.get(BEHIND)):
        return ""
    if row[BEHIND] == 0:
        return "best"
    mark = "" if row[P_BEHIND] < LEVEL else f"{ALIKE} "
    return mark + interval_text(read_interval(row, BEHIND), ".1f", 100)


def rank_layers(rows: pd.DataFrame) -> dict[str, str]:
    """A clause for every task and vector of several layers: which layer is best, and which are not distinguished from it by the
    paired test (Holm); of a head none.
    """
    if BEHIND not in rows:
        return {}
    ranked = rows[rows[BEHIND].notna() & rows["head"].isna()]
    names = [name for name in ("model", "probe") if name in rows and ranked[name].nunique() > 1]
    vectors = ranked.assign(vector=ranked["site"].map(name_vector)).sort_values("layer")
    return {
        ", ".join(map(str, key)): compare_with_best(layers)
        for key, layers in vectors.groupby(["task", *names, "vector"], sort=False)
    }


def compare_with_best(layers: pd.DataFrame) -> str:
    """The clause of the rows of one vector's layers."""
    behind = layers.groupby("layer")[BEHIND].mean()
    best = behind.index[behind == behind.min()].tolist()
    other_layers = layers[~layers["layer"].isin(best)]
    ties = f" {TIE}" * (len(best) > 1)
    alike = other_layers.loc[other_layers[P_BEHIND] >= LEVEL, "layer"].unique().tolist()
    rival = "them" if ties else f"layer {best[0]:g}"
    n = other_layers["layer"].nunique()
    others = "the other layer read is" if n == 1 else f"the {n} other layers read are"
    if len(alike) == n:
        clause = f"{others} not distinguished from {rival}"
    elif len(alike):
        clause = f"{_join_layers(alike)} not distinguished from {rival}"
    else:
        clause = f"{others} worse"
    clause = f"; {clause}" if len(other_layers) else ""
    return f"{_join_layers(best)} best{ties}{clause}"


def _join_layers(layers: Sequence[object]) -> str:
    """``layer 3 is`` or ``layers 3, 4 and 5 are``."""
    *earlier, final = map("{:g}".format, layers)
    return f"layers {', '.join(earlier)} and {final} are" if earlier else f"layer {final} is"
