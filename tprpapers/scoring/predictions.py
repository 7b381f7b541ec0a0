"""Summaries that a model writes of documents, with their scores, and the files of them."""

from typing import Any

import pandas as pd
import torch

from tprpapers.scoring import mean_scores, score_summaries
from tprpapers.scoring.extractiveness import words
from tprpapers.scoring.meteor import java_meteor, meteor_missing
from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import encode_texts
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.models.answers import Scores
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Language

READ_AT_ONCE, WRITTEN_AT_ONCE = 1024, 64  # documents
TEXTS = ("source", "target", "prediction")


@torch.no_grad()
def write_summaries(
    model: Language, sources: list[str], targets: list[str], vocabulary: Codec, **options: Any
) -> list[str]:
    """The summary that the model writes for every source; options are those of `generate`.

    Without `max_length` it is as long as the longest target that the vocabulary allows.
    """
    pairs = encode_texts(sources, targets, vocabulary)
    longest: dict[str, Any] = {"max_length": vocabulary.most[1]} if vocabulary.most else {}
    pad, device = model.config.pad, model.device
    summaries = [""] * len(sources)
    for rows in torch.argsort(pairs.source.lengths, stable=True).split(WRITTEN_AT_ONCE):
        source = pairs.source.padded(rows, pad).to(device)
        ids = generate(model, source, **(longest | options)).tolist()
        for row, sequence in zip(rows.tolist(), ids, strict=True):
            summaries[row] = vocabulary.decode(sequence)
    return summaries


def evaluate_summaries(
    model: Language, data: Dataset, vocabulary: Codec, **options: Any
) -> pd.DataFrame:
    """One row per document: source, target, prediction, and the scores of `score_summaries`."""
    tables = []
    blocks = -(-len(data) // READ_AT_ONCE)
    for texts in track(data.blocks(READ_AT_ONCE), f"summarizing {data.name}", blocks):
        summaries = write_summaries(model, *texts, vocabulary, **options)
        rows = pd.DataFrame(dict(zip(TEXTS, (*texts, summaries), strict=True)))
        tables.append(rows.join(score_summaries(rows, data.has_grammar)))
    return pd.concat(tables, ignore_index=True)


def summarize_scores(rows: pd.DataFrame) -> dict[str, Any]:
    """n, exact match with its interval, and value, low, high and n of every score.

    ``meteor_java`` is there where the COCO toolkit and Java are; it is of the corpus, no mean over
    documents, and has no interval.
    """
    scores: Any = mean_scores(rows.drop(columns=list(TEXTS))).to_dict("index")
    if meteor_missing() is None:
        predictions, targets = (rows[name].map(words).tolist() for name in ("prediction", "target"))
        value = java_meteor(predictions, [[target] for target in targets])[0]
        scores["meteor_java"] = {"value": value, "low": None, "high": None, "n": len(rows)}
    exact = scores["exact_match"]
    return {
        "n": len(rows),
        "exact_match": exact["value"],
        "exact_match_interval": [exact["low"], exact["high"]],
        "scores": {
            name: {key: None if pd.isna(value) else value for key, value in row.items()}
            for name, row in scores.items()
        },
    }


SCORES = Scores(evaluate_summaries, summarize_scores)
