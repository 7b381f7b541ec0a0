"""The token table of a block of samples: one row a token of either side."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tprprobe.data.pairs import Pairs
from tprprobe.extraction.passes import decoder_inputs
from tprprobe.vocabulary import Vocabulary


def token_table(
    examples: Sequence[Any],
    pairs: Pairs,
    predictions: Sequence[str],
    correct: np.ndarray,
    first: int,
    vocabulary: Vocabulary,
) -> pd.DataFrame:
    """side, sample (from ``first`` on), position, id, token, question, answer, prediction, …"""
    of_sample = {
        "question": _category([example.source for example in examples]),
        "answer": _category([example.target for example in examples]),
        "prediction": _category(predictions),
        "correct": np.asarray(correct, bool),
        "module": _category([getattr(example, "module", "") for example in examples]),
    }
    symbols = pd.Index(vocabulary.symbols)
    sides = {
        "source": (pairs.source.values, pairs.source.offsets),
        "target": (_without_last(pairs), decoder_inputs(pairs)),
    }
    parts = []
    for side, (ids, offsets) in sides.items():
        lengths = offsets.diff().numpy()
        sample = np.repeat(np.arange(len(examples)), lengths)
        position = np.arange(len(sample)) - np.repeat(offsets[:-1].numpy(), lengths)
        table = {
            "side": pd.Categorical.from_codes(
                np.full(len(sample), list(sides).index(side)), categories=list(sides)
            ),
            "sample": first + sample,
            "position": position,
            "id": ids.numpy().astype(np.int32),
            "token": pd.Categorical.from_codes(ids.numpy().astype(np.int32), categories=symbols),
        }
        parts.append(pd.DataFrame(table | {name: v[sample] for name, v in of_sample.items()}))
    return pd.concat(parts, ignore_index=True)


def _category(texts: Sequence[str]) -> pd.Categorical:
    codes, values = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(codes, categories=values)


def _without_last(pairs: Pairs) -> Tensor:
    keep = torch.ones(len(pairs.target.values), dtype=torch.bool)
    keep[pairs.target.offsets[1:] - 1] = False
    return pairs.target.values[keep]
