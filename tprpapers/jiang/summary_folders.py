"""Summaries that ``tprprobe eval --out`` scored, and sheets that people filled in, from paths."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from tprpapers.jiang.summary_tables import count_matches
from tprpapers.scoring import (
    BASELINES,
    baseline_rows,
    compare_matches,
    count_votes,
    draw_sheet,
    read_facts,
    score_summaries,
    write_sheet,
)
from tprpapers.scoring.sheets import holds_votes
from tprpapers.worlds.english.reportsets import is_english
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse
from tprprobe.files.tables import columns, read_table

Source = str | os.PathLike[str]
TEXTS = ("source", "target", "prediction")
SCORED = columns(text=" ".join(TEXTS), number="rouge1 rouge2 rougeL")


def load_summaries(sources: Iterable[Source]) -> pd.DataFrame:
    """One row per model and document: model, data, document (its number), texts and scores.

    The baselines of every data set stand behind its models, scored in the same way.
    Raises:
        InputError: a source holds no summaries.
    """
    tables = [table for source in sources for table in _evaluated(Path(source))]
    evaluations = pd.concat(tables, ignore_index=True)
    for data, of_data in evaluations.groupby("data", sort=False):
        model = of_data["model"].iloc[0]
        texts = of_data.loc[of_data["model"] == model, ["data", "document", *TEXTS]]
        english = is_english(str(data).split(",")[0])
        for name in BASELINES:
            rows = baseline_rows(texts, name)
            tables.append(rows.assign(model=name).join(score_summaries(rows, english)))
    return pd.concat(tables, ignore_index=True)


def _evaluated(path: Path) -> list[pd.DataFrame]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path.with_suffix(".json")]
    evaluations = [_rows(file) for file in files if file.with_suffix(".jsonl").is_file()]
    if not evaluations:
        raise InputError(
            f"{path} holds no summaries: make them with `tprprobe paper jiang` or `tprprobe eval --out FOLDER` of documents"
        )
    return evaluations


def find_scored(folders: Sequence[Path]) -> dict[str, list[Path]]:
    """The evaluations of summaries and the sheets of votes in some folders."""
    keys = [file for folder in folders for file in sorted(folder.glob("*.key.json"))]
    sheets = [file.with_name(file.name.replace(".key.json", ".csv")) for file in keys]
    scored = [
        folder
        for folder in folders
        if any(file.with_suffix(".jsonl").is_file() for file in folder.glob("*.json"))
    ]
    votes = [sheet for sheet in sheets if sheet.is_file() and holds_votes(sheet)]
    return {"summaries": scored, "matches": scored, "votes": votes}


class _About(Document):
    model: str
    data: str
    split: str


def _rows(file: Path) -> pd.DataFrame:
    evaluation = parse(_About, read_json(file), file)
    rows = read_table(file.with_suffix(".jsonl"), SCORED, "evaluate again")
    if rows[list(TEXTS)].isna().any(axis=None):
        raise InputError(f"{file.with_suffix('.jsonl')} lacks texts: evaluate again")
    for name in rows.columns.difference(list(TEXTS)):
        try:
            rows[name].astype(float)
        except (ValueError, TypeError) as error:
            raise InputError(
                f"{file.with_suffix('.jsonl')}: {name!r} holds other things than numbers: evaluate again"
            ) from error
    data = f"{evaluation.data}, {evaluation.split}"
    return rows.assign(model=evaluation.model, data=data, document=range(len(rows)))


def load_votes(sources: Iterable[Source]) -> pd.DataFrame:
    """The votes of filled sheets, counted (:func:`tprpapers.scoring.count_votes`)."""
    return count_votes([os.fspath(source) for source in sources])


def load_matches(sources: Iterable[Source]) -> list[dict[str, Any]]:
    """Unsupported facts that two models wrote: counted from filled sheets (CSV), or by the proxy."""
    sheets = [source for source in map(Path, sources) if source.suffix == ".csv"]
    evaluations = [source for source in map(Path, sources) if source.suffix != ".csv"]
    return [
        *map(_judged, sheets),
        *(count_matches(load_summaries(evaluations)) if evaluations else []),
    ]


def _judged(sheet: Path) -> dict[str, Any]:
    models, matches_a, matches_b = read_facts(sheet)
    return {"models": models, "data": sheet.name} | compare_matches(matches_a, matches_b)


def make_sheet(
    source_a: Source,
    source_b: Source,
    out: Source,
    kind: str = "votes",
    n: int = 120,
    seed: int = 0,
) -> Path:
    """A blind sheet of two evaluations of the same documents, and its key beside it.

    Raises:
        InputError: one of them holds not one model's summaries, or :func:`draw_sheet` refuses.
    """
    rows = [_only(source) for source in (source_a, source_b)]
    names = str(rows[0]["model"].iloc[0]), str(rows[1]["model"].iloc[0])
    return write_sheet(*draw_sheet(rows[0], rows[1], names, kind, n, seed), Path(out))


def _only(source: Source) -> pd.DataFrame:
    evaluations = _evaluated(Path(source))
    if len(evaluations) != 1:
        raise InputError(f"{source} holds {len(evaluations)} evaluations; give the .json of one")
    return evaluations[0]
