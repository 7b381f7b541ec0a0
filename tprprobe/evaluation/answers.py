"""The long table of a model's answers."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from tprprobe.evaluation.results import FILE, join_tables, load_results, number, tabulate
from tprprobe.files.locks import alone
from tprprobe.files.runs import write_table
from tprprobe.statistics import Interval, read_interval

NAMES = ("model", "task", "split")  # of an evaluation: a folder holds several


def save_answers(summary: Mapping[str, Any], names: tuple[str, str, str], folder: Path) -> None:
    """Writes the numbers of an evaluation to the long table of a folder, in place of those of the same ``names``: model,
    data and split.
    """
    table = tabulate(dict(zip(NAMES, names, strict=True)) | row for row in list_numbers(summary))
    with alone(folder):
        if (folder / FILE).is_file():
            previous = load_results(folder).table
            is_other = (previous[[*NAMES]].astype(str) != [*map(str, names)]).any(axis=1)
            table = join_tables([previous[is_other], table])
        write_table(folder / FILE, table)


def list_numbers(summary: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of a summary: the scores of texts, or exact match, of all questions (module "") and of each module."""
    for metric, row in summary.get("scores", {}).items():
        if row["n"]:
            yield number(metric, read_interval(row), module="", n=row["n"])
    if "modules" in summary:
        for module, row in {"": summary, **summary["modules"]}.items():
            interval = Interval(row["exact_match"], *row["exact_match_interval"])
            yield number("exact_match", interval, module=module, n=row["n"])
