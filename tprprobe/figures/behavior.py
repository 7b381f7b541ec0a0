"""What a model expects next after two words' states are edited, layer by layer, beside controls."""

from typing import Any

import numpy as np
import pandas as pd

from tprprobe.figures.labels import site_label
from tprprobe.figures.scenes import LEVEL, Grid, Lines
from tprprobe.statistics import measured, write_interval

LEVELS = {"none": "unedited", "other text": "the other text itself"}
CONTROLS = ("identity", "mean", "random direction", "wrong role", "wrong position")
DOING = {
    "exchange": "Exchanging",
    "substitute": "Substituting",
    "surgery": "Surgery on",
    "erase": "Erasing",
}
COLUMNS = (
    "difference: log p(other answer) − log p(answer), the mean over pairs; agrees: how often the next word is the other text's; kl: from the other text's answers; "
    "beyond: its change beyond that of the strongest control (against); p: paired sign test, corrected (Holm)."
)
EDIT_ITSELF, ALPHA = "the edit itself", 0.05
ANSWERS = {"p_other": "the other text's answer", "p_answer": "the text's own answer"}


def behavior_scene(behaviors: pd.DataFrame) -> Grid:
    """A row per edit and kind of site: the two answers against each other, and their probabilities, by layer.

    ``behaviors`` has the rows of :func:`tprprobe.interventions.behavior.measure_pairs`. Bands are 95 %
    intervals over items; filled marks differ from the strongest control (Holm, 5 %).
    """
    kinds = behaviors["site"].map(kind_of)
    is_edit = behaviors["control"].eq("") & ~behaviors["edit"].isin((*LEVELS, "any"))
    pairs = zip(behaviors.loc[is_edit, "edit"], kinds[is_edit], strict=True)
    pictures = [
        picture(behaviors, behaviors[kinds.eq(kind)], edit, kind)
        for edit, kind in dict.fromkeys(pairs)
        for picture in (_contrast_lines, _answer_lines)
    ]
    return Grid(pictures, 2, note="\n".join(_notes(behaviors)))


def kind_of(site: str) -> str:
    """What a site holds: its last part; what the first layer reads stands at the left of the hidden states."""
    last_part = site.rpartition(".")[2]
    return "hidden" if last_part == "embedding" else last_part


def contrast_rows(rows: pd.DataFrame, edit: str, score: str = "difference") -> pd.DataFrame:
    """The rows of lines: an edit, then its controls, by layer; filled where the edit is beyond its strongest control."""
    of_any = rows["edit"].eq("any") & rows["control"].ne("")  # controls of every edit
    rows = rows[(rows["edit"].eq(edit) | of_any) & rows[score].notna()]
    names = rows["control"].replace({"": EDIT_ITSELF, "real": EDIT_ITSELF})
    lines = measured(rows, score, panel=edit, line=names, x=rows["layer"], sure=_is_beyond(rows))
    return lines.sort_values(["line", "x"], key=_rank, kind="stable")


def _is_beyond(rows: pd.DataFrame) -> pd.Series:
    """Whether an edit is beyond its strongest control."""
    tests = rows.reindex(columns=["beyond", "p"])
    return tests["beyond"].gt(0) & tests["p"].lt(ALPHA)


def _rank(column: pd.Series) -> pd.Series:
    order = {name: i for i, name in enumerate((EDIT_ITSELF, *CONTROLS))}
    return column.map(order).fillna(len(order)) if column.name == "line" else column


def _contrast_lines(behaviors: pd.DataFrame, rows: pd.DataFrame, edit: str, kind: str) -> Lines:
    """The log-odds of the other answer after the edit and after its controls."""
    levels = [
        (edit, label, behaviors.loc[behaviors["edit"].eq(name), "difference"].iloc[0])
        for name, label in LEVELS.items()
    ]
    return Lines(
        contrast_rows(rows, edit), label="log-odds of the other answer", percent=False,
        levels=pd.DataFrame(levels, columns=LEVEL), title=f"{edit}, {kind}",
    )  # fmt: skip


def _answer_lines(behaviors: pd.DataFrame, rows: pd.DataFrame, edit: str, kind: str) -> Lines:
    """The probabilities of both answers after the edit."""
    rows = rows[rows["edit"].eq(edit) & rows["control"].eq("")]
    lines = []
    for name, label in ANSWERS.items():
        words = rows[name.removeprefix("p_")].dropna().unique()
        line = f"{label}: {words[0]}" if len(words) else label
        points = measured(rows, name, panel=edit, line=line, x=rows["layer"], sure=True)
        lines.append(points.assign(group=EDIT_ITSELF))
    return Lines(
        pd.concat(lines), label="probability", limits=(0, None),
        title=f"{edit}, {kind}: probabilities of both answers",
    )  # fmt: skip


def _notes(behaviors: pd.DataFrame) -> list[str]:
    counts = behaviors["n"].to_numpy()
    low, high = counts.min(), counts.max()
    n = f"{low} to {high} items" if low < high else _count(high, "item")
    missing = int(np.nanmax(behaviors["missing"]))
    lines = [
        f"n = {n}{f'; trials that cannot be made: at most {missing} at a point' * (missing > 0)}."
    ]
    if behaviors.get("difference_low", pd.Series(dtype=float)).notna().any():
        lines += [
            "Bands: 95 % intervals over items. Filled: beyond the strongest control (paired sign test, Holm)."
        ]
    return lines


def describe_change(behavior: pd.DataFrame, edit: str) -> tuple[str, bool]:
    """How far an edit moves the answer at the site where it is most beyond its strongest control, and whether it is shown to."""
    rows = behavior[behavior["edit"].eq(edit) & behavior["control"].isin(["", "real"])]
    shown = rows[rows["change_low"].gt(0) & _is_beyond(rows)]
    moves = not shown.empty
    ranked = (shown if moves else rows).sort_values(["beyond", "change"], ascending=False)
    best: Any = ranked.iloc[0]
    change, beyond = (write_interval(best, name, "+.2f") for name in ("change", "beyond"))
    pairs, sites = (
        _count(n, name) for n, name in ((best["n"], "pair"), (rows["p"].count(), "site"))
    )
    test, where = "", site_label(best["site"])
    if rows["p"].count() * 0.5 ** (rows["n"].max() - 1) >= ALPHA:  # the smallest p that can be
        test = f" ({pairs}: too few for a sign test at {sites})"
    elif best["p"] >= ALPHA:
        test = f" (sign test of {pairs}, Holm over {sites}: p = {best['p']:.2g})"
    verdict = f"is not shown to move the answer{test}; most beyond the strongest control"
    verdict = "moves the answer, as" if moves else verdict
    numbers = f"over {pairs}, the log-odds of the other answer change by {change}, {beyond} beyond the strongest control"
    return f"{DOING[edit]} two words’ states {verdict} at {where}: {numbers}.", moves


def _count(n: Any, name: str) -> str:
    return f"{n} {name}{'s' * (int(n) != 1)}"


def behavior_table(behavior: pd.DataFrame) -> str:
    """Sentences and rows for a terminal: texts without an edit, then every edit, and beside it its strongest control."""
    rows = behavior[behavior["control"].eq("") & behavior["edit"].ne("any")]
    names = ["site", "edit", "n", "missing", "agrees", "difference", "kl", "p_answer", "p_other"]
    controls = ("against", "beyond", "beyond_low", "beyond_high", "p")
    names += [name for name in controls if name in rows]
    edits = rows.loc[rows["change"].notna() & ~rows["edit"].isin(LEVELS), "edit"].unique()
    lines = [describe_change(behavior, edit)[0] for edit in edits]
    table = rows[names].round(3).to_string(index=False, na_rep="")
    return "\n".join([*lines, COLUMNS, "", table])
