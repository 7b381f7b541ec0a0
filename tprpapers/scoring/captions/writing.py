"""Captions that a model writes of images, with their scores against those of people."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Shaped

from tprpapers.captions.images import Captioned, stack_features
from tprpapers.captions.words import tokenize
from tprpapers.scoring.captions.toolkit import REFERENCES, score_rows
from tprpapers.scoring.meteor import meteor_missing
from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.models.decoding.generation import generate
from tprprobe.models.protocol import Model
from tprprobe.statistics import bootstrap_mean

WRITTEN_AT_ONCE, BEAM = 256, 5  # images; huang does not say how captions are decoded


@torch.no_grad()
def write_captions(model: Model, images: Sequence[Any], words: Codec, **options: Any) -> list[str]:
    """A caption of every image, by a beam of 5 unless the options of `generate` say otherwise."""
    features = torch.from_numpy(stack_features(images)).to(model.device)
    settings: dict[str, Any] = {"beam": BEAM} | options
    ids = generate(model, features, **settings).tolist()
    return [words.decode(sequence) for sequence in ids]


def evaluate_captions(model: Model, data: Dataset, words: Codec, **options: Any) -> pd.DataFrame:
    """One row per example: image (its document), references (a list), prediction."""
    tables = []
    for images in track(
        data.examples(WRITTEN_AT_ONCE), f"captioning {data.name}", -(-len(data) // WRITTEN_AT_ONCE)
    ):
        captions = write_captions(model, images, words, **options)
        tables.append(caption_rows(images, captions))
    return pd.concat(tables, ignore_index=True)


def caption_rows(images: Sequence[Captioned], captions: Sequence[str]) -> pd.DataFrame:
    """The rows of an evaluation."""
    return pd.DataFrame(
        {
            "image": [image.document_name for image in images],
            REFERENCES: [list(image.captions) for image in images],
            "prediction": list(captions),
        }
    )


def matches(rows: pd.DataFrame) -> Shaped[np.ndarray, " example"]:
    """True for each prediction that is, word for word, one of its references."""
    return np.array(
        [
            tokenize(caption) in [tokenize(text) for text in references]
            for caption, references in zip(rows["prediction"], rows[REFERENCES], strict=True)
        ]
    )


def summarize_captions(rows: pd.DataFrame) -> dict[str, Any]:
    """n, exact match with one of the references, and value, low, high and n (images) of every score.

    METEOR is there where the COCO toolkit and Java are; it has no interval.
    """
    table = score_rows(rows, meteor_missing() is None).table().set_index("metric")
    exact = bootstrap_mean(matches(rows), rows["image"].to_numpy(str))
    return {
        "n": len(rows),
        "exact_match": exact.value,
        "exact_match_interval": [exact.low, exact.high],
        "scores": {
            str(name): {key: None if pd.isna(value) else value for key, value in row.items()}
            for name, row in table.to_dict("index").items()
        },
    }
