"""Captions that ``tprprobe eval --out`` scored, from paths; and what their scores say of the claims."""

from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Annotated, Any

import pandas as pd
from pydantic import Field

from tprpapers.claims import Evidence, Verdict, find_claim, judge
from tprpapers.scoring.captions.toolkit import (
    METEOR,
    CaptionScores,
    compare_captions,
    compare_lengths,
    score_rows,
)
from tprpapers.scoring.meteor import meteor_missing
from tprpapers.study.comparisons import over_seeds
from tprprobe.errors import InputError
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.settings import Document, parse
from tprprobe.files.tables import columns, read_table
from tprprobe.statistics import Interval, read_interval

RIVALS = ("tpgn", "cnn-lstm")
CAPTIONS = columns(text="image prediction") | {"references": object}
KEYS = {"model", "data", "split", "n", "scores"}


def load_captioned(sources: Iterable[Any]) -> list[dict[str, Any]]:
    """The evaluations of captions in some folders or files, each with the ``terms`` of its lines.

    Raises:
        InputError: a source holds none.
    """
    return [evaluation for source in sources for evaluation in _evaluated(Path(source))]


def _evaluated(path: Path) -> list[dict[str, Any]]:
    files = sorted(path.glob("*.json")) if path.is_dir() else [path]
    evaluations = [
        content | {"terms": score_lines(file)} for file in files if (content := read_scores(file))
    ]
    if not evaluations:
        raise InputError(
            f"{path} holds no scores of captions: make them with `tprprobe paper huang` or `tprprobe eval --out FOLDER`"
        )
    return evaluations


class _Score(Document):
    value: float | None
    low: float | None
    high: float | None
    n: int


class _Captioned(Document):
    model: str
    data: str
    split: str
    n: int
    scores: Annotated[dict[str, _Score], Field(min_length=1)]


def read_scores(file: Path) -> dict[str, Any] | None:
    """The evaluation of captions in a file; None if the file is something else.

    Raises:
        InputError: it is damaged.
    """
    try:
        content = read_json(file)
    except InputError:
        return None
    return parse(_Captioned, content, file).model_dump() if content.keys() >= KEYS else None


def score_lines(file: Path) -> CaptionScores | None:
    """The scores of the captions that stand beside an evaluation (.jsonl); None if none do."""
    lines = file.with_suffix(".jsonl")
    if not lines.is_file():
        return None
    rows = read_table(lines, CAPTIONS, "evaluate again")
    if not all(isinstance(text, list) and text for text in rows["references"]):
        raise InputError(f"{lines}: references are lists of texts: evaluate again")
    texts = [*rows["prediction"], *chain.from_iterable(rows["references"])]
    if not all(isinstance(text, str) for text in texts):
        raise InputError(f"{lines}: a caption or a reference is no text: evaluate again")
    return score_rows(rows, meteor_missing() is None)


def find_rivals(captioned: list[dict[str, Any]]) -> list[tuple[str, CaptionScores, CaptionScores]]:
    """The pairs of a TPGN and a CNN-LSTM that captioned the same images: their data, and their scores."""
    scored = [evaluation for evaluation in captioned if evaluation["terms"] is not None]
    return [
        (f"{tpgn['data']}, {tpgn['split']}", tpgn["terms"], lstm["terms"])
        for tpgn in scored
        for lstm in scored
        if (tpgn.get("architecture"), lstm.get("architecture")) == RIVALS
        and all(tpgn[key] == lstm[key] for key in ("data", "split", "n"))
    ]


def judge_scores(tpgns: Sequence[CaptionScores], lstms: Sequence[CaptionScores]) -> list[Verdict]:
    """The verdicts on the scores of TPGNs and CNN-LSTMs, one of each a seed: each metric, and BLEU-n
    by n.

    Intervals are over images and, of several seeds, over seeds; a verdict says how many there are.
    """
    cases = {"huang-table1": compare_captions, "huang-bleu-n": compare_lengths}
    return [
        judge(find_claim(name), Evidence(_cases(compare, tpgns, lstms), "model seed", len(tpgns)))
        for name, compare in cases.items()
    ]


def _cases(
    compare: Callable[[CaptionScores, CaptionScores], pd.DataFrame],
    tpgns: Sequence[CaptionScores],
    lstms: Sequence[CaptionScores],
) -> dict[str, Interval]:
    """The intervals of differences by metric of the paper's Table 1; Java's METEOR has no interval."""
    tables = [
        compare(tpgn, lstm).set_index("metric").drop(["ROUGE-L", METEOR], errors="ignore")
        for tpgn, lstm in zip(tpgns, lstms, strict=True)
    ]
    images = int(tables[0]["n"].iloc[0])
    return {
        str(name): over_seeds(
            [read_interval(table.loc[name], "difference") for table in tables], images
        )
        for name in tables[0].index
    }
