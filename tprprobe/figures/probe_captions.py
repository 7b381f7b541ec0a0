"""What tables and figures of probes say below: what scores and marks are, on how many targets and documents they rest."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing import rows as probe_rows
from tprprobe.errors import InputError
from tprprobe.figures.labels import CONTROLS
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import FEWEST_GROUPS

PLAIN = ("encoder", "layers")  # the only stack of a model, which no title names
ALL_HEADS = -1  # as head; where it is missing, too
ENDS = ("", "_low", "_high")
NAMES = {name: CONTROLS[name] for name in ("majority", "identity")}
UNREAD = " (no control here: the probed state precedes the word)"
TITLES = {"pos": "POS", "upos": "UPOS", "dep": "DEP", "srl": "SRL", "nel": "NEL"}
NEEDED = {"task", "site", "f1", *(f"f1{end}" for end in ENDS)}  # columns of a table of probes
BRACKETS = ", in brackets the 95 % interval over {}"
CAPTION = "{} in percent on held-out documents{}{}.{}"
MARKED = f"\n{probe_rows.BEYOND}: beyond every control (paired, Holm)."
RANKED = f"best: the best layer; {probe_rows.ALIKE}: not distinguished from it (paired, Holm)"
LEARNED = " of the training documents"  # of the most frequent label
UNALIKE = "Models whose probes learned from different numbers of targets cannot be compared."
ALIKE = 0.02  # share of targets that whole samples make more or fewer


def describe_probes(probes: pd.DataFrame, rows: pd.DataFrame, origins: Sequence[str]) -> str:
    """The caption of the table."""
    ranks, controls = _rank(probes, rows), probe_rows.explain_controls(rows["control_name"])
    lines = [*origins, *ranks, *[f"{RANKED}."] * bool(ranks), *controls]
    cells = BRACKETS.format(_count_documents(probes))
    caption = write_caption(probes, rows, cells, "".join(f"\n{line}" for line in lines))
    return caption + _describe_targets(rows)


def write_notes(probes: pd.DataFrame, rows: pd.DataFrame, origins: Sequence[str]) -> str:
    """The lines below the figure."""
    titled_rows, ranks = rows.assign(task=rows["task"].map(title_of)), _rank(probes, rows)
    counts = probe_rows.count_by_task(titled_rows, "n_train")
    facts = [f"Shaded: 95 % intervals over {_count_documents(probes)}.", *origins]
    facts += [f"Targets {probe_rows.LEARNED_FROM}: {', '.join(counts)}."] * bool(counts)
    facts += [UNALIKE] * _is_unalike(rows)
    return "\n".join([" ".join(facts), *ranks])


def _count_documents(probes: pd.DataFrame) -> str:
    """On how many documents intervals rest, and that fewer have none."""
    real = _take_real(probes)
    is_few = bool((real.get("documents", pd.Series(dtype=float)) < FEWEST_GROUPS).any())
    few = f" (no interval of fewer than {FEWEST_GROUPS})" * is_few
    return f"{probe_rows.count_documents(real)}documents{few}"


def _take_real(probes: pd.DataFrame) -> pd.DataFrame:
    return probes[probes["control"] == "real"].assign(task=lambda real: real["task"].map(title_of))


def _rank(probes: pd.DataFrame, rows: pd.DataFrame) -> list[str]:
    """Which layers are best, a line a task and vector, whose only stack is not named."""
    stacks = "|".join(PLAIN) if {*rows["place"]} <= {*PLAIN} else ""
    ranks = probe_rows.rank_layers(_take_real(probes))
    names = [re.sub(rf", ({stacks})\.", ", ", name) if stacks else name for name in ranks]
    return [f"{name}: {clause}." for name, clause in zip(names, ranks.values(), strict=True)]


def _is_unalike(rows: pd.DataFrame) -> bool:
    """Whether models learned a task from different numbers of targets."""
    counts = rows.groupby(["task", "model"])["n_train"].max().groupby("task")
    return bool((counts.min() < (1 - ALIKE) * counts.max()).any())


def write_caption(probes: pd.DataFrame, rows: pd.DataFrame, cells: str, note: str) -> str:
    """What scores, marks and controls are; ``cells`` says what else a cell has."""
    probes, score = fill_columns(probes), rows.attrs["label"]
    marked = MARKED if rows["beats_controls"].notna().any() else ""
    seeds = ", mean over seeds" * (probes.get("seed", pd.Series(dtype=int)).nunique() > 1)
    predicted = "\nIn a decoder the state that predicts a word is probed."
    at_tokens = {*probes.loc[probes["is_at_token"], "task"]}
    predicted *= any(
        side_of(place) == "target" and task not in at_tokens
        for task, place in rows[["task", "place"]].to_numpy()
    )
    opening = CAPTION.format(score[0].upper() + score[1:], seeds, cells, predicted)
    warnings = _warn_of_fewer_targets(probes) + f"\n{UNALIKE}" * _is_unalike(rows)
    return f"{opening}{note}{marked}{warnings}"


def _describe_targets(rows: pd.DataFrame) -> str:
    """From how many targets of every task, side and model probes learned, and what rules without vectors score."""
    lines: dict[tuple[str, str], list[str]] = {}  # the models that a line is of
    keys = ["task", rows["place"].map(side_of), "model"]
    for (task, side, model), points in rows.groupby(keys, sort=False):
        n_train, n_test = (int(points[name].max()) for name in ("n_train", "n_test"))
        learned = f"{n_test:,} targets tested, {n_train:,} {probe_rows.LEARNED_FROM}"
        facts = [learned] * bool(n_train)
        facts += [
            f"{NAMES[row['control']]}{LEARNED * (row['control'] == 'majority')} {100 * row['f1']:.1f}{UNREAD * is_unread(row)}"
            for row in rows.attrs["baselines"]
            if (row["task"], row["side"], row["model"]) == (task, side, model)
        ]
        if facts:
            line = f"\n{title_of(str(task))} ({side}", f"): {', '.join(facts)}."
            lines.setdefault(line, []).append(f", {model}")
    n_models = rows["model"].nunique()
    return "".join(
        start + "".join(models) * (len(models) < n_models) + end
        for (start, end), models in lines.items()
    )


def is_unread(row: Mapping[str, Any]) -> bool:
    """True for the rule that knows a word, beside a decoder's states that have not read it."""
    return (row["side"], row["control"], row["is_at_token"]) == ("target", "identity", False)


def side_of(place: str) -> str:
    return "target" if place.startswith("decoder") else "source"


def title_of(task: str) -> str:
    return TITLES.get(task, task)


def _warn_of_fewer_targets(probes: pd.DataFrame) -> str:
    """Which controls learned from fewer targets than the probes of real labels."""
    by_control = probes.groupby(["task", "side", "control"], sort=False)["n_train"]
    counts: Any = by_control.max().dropna()
    warnings = [
        f"{title_of(task)} {control} {int(n):,} of {int(counts[task, side, 'real']):,}"
        for (task, side, control), n in counts.items()
        if n < (1 - ALIKE) * counts[task, side, "real"]
    ]
    return f"\nLearned from fewer targets: {', '.join(warnings)}." if warnings else ""


def fill_columns(probes: pd.DataFrame) -> pd.DataFrame:
    """Rows of probes, also of one's own, with the columns that may be missing."""
    if lacking := NEEDED - {*probes}:
        raise InputError(
            f"the table of probes has no column {', '.join(sorted(lacking))}: it needs {', '.join(sorted(NEEDED))}, and may have "
            "layer, head, control and others (`tprprobe docs columns`)"
        )
    sites: Any = probes["site"].astype(str)
    is_target = sites.str.startswith("decoder")
    absent = {"head": ALL_HEADS, "is_at_token": False, "layer": sites.map(layer_of), "control": ""}
    absent |= {"side": np.where(is_target, "target", "source"), "n_train": 0, "n_test": 0}
    absent |= {"beats_controls": probes.get("beyond")}  # of version 0.4 and before
    probes = probes.assign(**{name: cells for name, cells in absent.items() if name not in probes})
    return probes.assign(control=probes["control"].fillna("").replace("", "real"))
