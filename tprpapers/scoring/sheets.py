"""Blind sheets for people: two models' summaries side by side, and a separate key to them.

A sheet is a CSV file that any spreadsheet opens; `key_of(sheet)` is the JSON file beside it that
tells the seed, the two models, and where each stands in every row. Nothing in a sheet tells it.
"""

import csv
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from pydantic import model_validator

from tprprobe.errors import InputError, unknown
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse
from tprprobe.files.writing import write_file

SIDES = ("A", "B")
SHOWN_COLUMNS = ("item", "source", *SIDES)
# Source: jiang §4. Votes are A, B or tie; of facts, whether the reference has one that the source
# has not, and whether A and B have such a fact of the reference: yes or no.
QUESTIONS = {
    "votes": ("grammar", "saliency", "overall"),
    "facts": ("unsupported in reference", "the same in A", "the same in B"),
}


class _Key(Document):
    models: tuple[str, str]
    seed: int
    rows: list[int]
    swapped: list[bool]

    @model_validator(mode="after")
    def _whole(self) -> "_Key":
        if len(self.rows) != len(self.swapped):
            raise ValueError("rows and swapped are not of one length")
        return self


def key_of(sheet: str | Path) -> Path:
    """The file that says which model is A and which is B in every row of a sheet."""
    return Path(sheet).with_suffix(".key.json")


def draw_sheet(
    rows_a: pd.DataFrame,
    rows_b: pd.DataFrame,
    names: tuple[str, str],
    kind: str = "votes",
    n: int = 120,
    seed: int = 0,
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """n random documents with both summaries in random order, empty cells to fill, and the key.

    A sheet of votes leaves out documents of which both models wrote the same: there is nothing to
    choose. A sheet of facts shows the reference, too.
    Raises: InputError for an unknown kind, models of different documents, or too few of these.
    """
    if kind not in QUESTIONS:
        raise unknown("kind of sheet", kind, QUESTIONS)
    if not rows_a["source"].equals(rows_b["source"]):
        raise InputError("two models are compared on the same documents; evaluate both on the same")
    is_same = (rows_a["prediction"] == rows_b["prediction"]).to_numpy() & (kind == "votes")
    offered = np.flatnonzero(~is_same)
    if n > len(offered):
        raise InputError(
            f"n = {n} of {len(offered)} documents that can be asked about; ask for fewer"
        )
    rng = np.random.default_rng(seed)
    drawn_rows = rng.permutation(offered)[:n]
    swapped = rng.random(n) < 0.5
    pairs = [(rows_a["prediction"].iloc[i], rows_b["prediction"].iloc[i]) for i in drawn_rows]
    sides = [pair[::-1] if swap else pair for pair, swap in zip(pairs, swapped, strict=True)]
    sheet = pd.DataFrame(sides, columns=list(SIDES))
    if kind == "facts":
        sheet.insert(0, "reference", rows_a["target"].iloc[drawn_rows].to_numpy())
    sheet.insert(0, "source", rows_a["source"].iloc[drawn_rows].to_numpy())
    sheet.insert(0, "item", np.arange(1, n + 1))
    key = {"models": list(names), "seed": seed, "rows": drawn_rows.tolist()}
    return sheet.assign(**dict.fromkeys(QUESTIONS[kind], "")), key | {"swapped": swapped.tolist()}


def write_sheet(sheet: pd.DataFrame, key: dict[str, Any], path: str | Path) -> Path:
    """The CSV file, with its key beside it."""
    path = Path(path)
    write_file(key_of(path), json.dumps(key, indent=1) + "\n")
    text = sheet.to_csv(index=False, quoting=csv.QUOTE_NONNUMERIC)
    return write_file(path, text)


def read_sheet(path: str | Path) -> tuple[pd.DataFrame, dict[str, Any]]:
    """A filled sheet and its key.

    Raises: InputError if one of them is missing, damaged, or they have not the same rows.
    """
    path = Path(path)
    key = parse(_Key, read_json(key_of(path)), key_of(path)).model_dump()
    if not path.is_file():
        raise InputError(f"no {path}; a sheet and its .key.json stand together")
    with as_input_error(f"{path} is damaged"):
        sheet = pd.read_csv(path, dtype=str, keep_default_na=False)
    lacking = [name for name in SHOWN_COLUMNS if name not in sheet]
    if lacking or len(sheet) != len(key["rows"]):
        raise InputError(
            f"{path} lacks {', '.join(lacking) or 'rows'}; fill in the sheet as written"
        )
    items = sheet["item"].str.strip()
    if set(items) != {str(item) for item in range(1, len(sheet) + 1)}:
        raise InputError(
            f"{path}: its items are not 1 to {len(sheet)}; fill in the sheet as written"
        )
    order = np.argsort(items.astype(int).to_numpy())  # people sort what they fill in
    return sheet.iloc[order].reset_index(drop=True), key


def holds_votes(path: str | Path) -> bool:
    """True for a sheet of votes."""
    sheet, _ = read_sheet(path)
    return set(QUESTIONS["votes"]) <= set(sheet)


def read_answers(
    sheet: pd.DataFrame, question: str, values: Mapping[str, float], path: str | Path
) -> Float[np.ndarray, " document"]:
    """The value of each answer to a question, NaN where there is none.

    Raises: InputError if the sheet lacks the question, or for an answer that has no value.
    """
    if question not in sheet:
        raise InputError(f"{path} has no column {question!r}; it is a sheet of another kind")
    answers: Any = sheet[question].str.strip()
    value_by_answer = {**values, "": np.nan}
    for item, answer in zip(sheet["item"], answers, strict=True):
        if answer.lower() not in value_by_answer:
            accepted = ", ".join(values)
            raise InputError(
                f"{path}, item {item}: {question} is {answer!r}; write {accepted} or nothing"
            )
    return np.array([value_by_answer[answer.lower()] for answer in answers])
