"""Exact match: a question is answered when every symbol of its answer is right."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Int
from scipy.stats import binomtest
from torch import Tensor

from tprprobe.console import track
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_texts
from tprprobe.errors import InputError
from tprprobe.models.decoding import generate
from tprprobe.vocabulary import Vocabulary

EVALUATED_AT_ONCE = 2048  # questions


def by_length(pairs: Pairs, batch_size: int) -> Iterator[Tensor]:
    """All indices in batches of like length, each batch with at most ``batch_size``."""
    lengths = pairs.source.lengths * 64 + pairs.target.lengths
    yield from torch.argsort(lengths, stable=True).split(batch_size)


@torch.no_grad()
def exact_matches(
    model: Any, pairs: Pairs, batch_size: int = 256
) -> tuple[Bool[np.ndarray, "sample"], Int[np.ndarray, "sample out"]]:
    """Which targets are predicted whole, and the predicted symbols, by teacher forcing.

    An argmax that is right up to the end symbol is what greedy decoding writes (induction on the
    prefix), so this equals exact match under greedy decoding; behind the first wrong symbol the
    prediction is only the greedy one's beginning.
    """
    pad, device = model.config.pad, next(model.parameters()).device
    correct = np.zeros(len(pairs), bool)
    predicted = np.full((len(pairs), int(pairs.target.lengths.max()) - 1), pad)
    for indices in by_length(pairs, batch_size):
        source, target = (ids.to(device) for ids in pairs.batch(indices, pad))
        best = model(source, target[:, :-1]).argmax(-1)
        right = (best == target[:, 1:]) | (target[:, 1:] == pad)
        correct[indices.numpy(force=True)] = right.all(1).numpy(force=True)
        predicted[indices.numpy(force=True), : best.shape[1]] = best.numpy(force=True)
    return correct, predicted


@torch.no_grad()
def answers(
    model: Any, pairs: Pairs, vocabulary: Vocabulary, decode: bool = True
) -> tuple[list[str], Bool[np.ndarray, "sample"]]:
    """The greedy answer to every source, and whether it is the target.

    Right answers are known from teacher forcing; only the others are decoded (without ``decode``
    they are empty). A module that is not one of ours cannot decode: none of its answers is right.
    """
    texts = [
        vocabulary.decode(pairs.target.values[start:end].tolist())
        for start, end in zip(pairs.target.offsets[:-1], pairs.target.offsets[1:], strict=True)
    ]
    if not hasattr(model, "decode"):
        return [""] * len(texts), np.zeros(len(texts), bool)
    correct, _ = exact_matches(model, pairs)
    device = next(model.parameters()).device
    wrong = torch.from_numpy(np.flatnonzero(~correct))
    if not decode:
        return [text if right else "" for text, right in zip(texts, correct, strict=True)], correct
    for indices in wrong.split(256):
        source = pairs.source.padded(indices, vocabulary.pad).to(device)
        for sample, ids in zip(indices.tolist(), generate(model, source).tolist(), strict=True):
            texts[sample] = vocabulary.decode(ids)
    return texts, correct


def evaluate(model: Any, data: Dataset, vocabulary: Vocabulary | None = None) -> pd.DataFrame:
    """One row a question: module, question, answer, prediction, correct.

    Raises:
        InputError: the model's vocabulary is unknown, or a text cannot be encoded.
    """
    vocabulary = vocabulary or model.vocabulary
    if vocabulary is None:
        raise InputError("this model's vocabulary is unknown: convert it again with --vocab FILE")
    model.eval()
    parts = []
    blocks = data.examples(EVALUATED_AT_ONCE)
    for some in track(blocks, f"answering {data.name}", -(-len(data) // EVALUATED_AT_ONCE)):
        pairs = encode_texts([e.source for e in some], [e.target for e in some], vocabulary)
        predicted, correct = answers(model, pairs, vocabulary)
        parts.append(
            pd.DataFrame(
                {
                    "module": [getattr(example, "module", data.name) for example in some],
                    "question": [example.source for example in some],
                    "answer": [example.target for example in some],
                    "prediction": predicted,
                    "correct": correct,
                }
            )
        )
    return pd.concat(parts, ignore_index=True)


def exact_match(rows: pd.DataFrame) -> dict[str, Any]:
    """The share of right answers, its Wilson 95 % interval and the number of questions."""
    n, right = len(rows), int(rows["correct"].to_numpy().sum())
    low, high = binomtest(right, n).proportion_ci(method="wilson")
    return {"exact_match": right / n, "exact_match_interval": [low, high], "n": n}


def save_evaluation(rows: pd.DataFrame, model: Any, data: Dataset, out: str | Path) -> Path:
    """The folder with every prediction (Parquet) and the summary (JSON), for figures and tables."""
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    stem = f"{model.name}.{data.name}.{data.split}".replace(":", "-").replace("/", "-")
    about = {
        "model": model.name,
        "parameters": sum(parameter.numel() for parameter in model.parameters()),
        "data": data.name,
        "split": data.split,
        "seed": data.seed,
    }
    rows.to_parquet(folder / f"{stem}.parquet")
    path = folder / f"{stem}.json"
    path.write_text(json.dumps({**about, **summarize(rows)}, indent=1) + "\n")
    return path


def summarize(rows: pd.DataFrame) -> dict[str, Any]:
    """Exact match over all questions, and of each module."""
    modules = {str(name): exact_match(part) for name, part in rows.groupby("module", sort=True)}
    return {**exact_match(rows), "modules": modules}
