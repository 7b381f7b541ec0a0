"""The token table of a block of samples: one row per token of either side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import torch
from torch import Tensor

from tprprobe.data.dataset import Example
from tprprobe.data.pairs import Pairs
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.extraction.passes import decoder_inputs


def token_table(
    examples: Sequence[Example],
    pairs: Pairs,
    predictions: Sequence[str],
    correct: np.ndarray,
    first: int,
    vocabulary: Codec,
    words: Mapping[str, pd.DataFrame],
) -> pd.DataFrame:
    """side, sample (from ``first`` on), position, id, token, question, answer, prediction, …

    ``words`` are further columns by side.
    """
    of_sample = {
        "question": _category([example.source for example in examples]),
        "answer": _category([example.target for example in examples]),
        "prediction": _category(predictions),
        "correct": np.asarray(correct, bool),
        "module": _category([example.module for example in examples]),
    }
    if examples[0].document_name is not None:
        of_sample["document"] = _category([str(example.document_name) for example in examples])
    symbols = pd.Index(vocabulary.symbols)
    sides = {
        "source": (pairs.source.ids, pairs.source.offsets),
        "target": (_without_last(pairs), decoder_inputs(pairs)),
    }
    parts = []
    for side, (ids, offsets) in sides.items():
        lengths = offsets.diff().numpy()
        sample = np.repeat(np.arange(len(examples)), lengths)
        position = np.arange(len(sample)) - np.repeat(offsets[:-1].numpy(), lengths)
        table = {
            "side": pd.Categorical.from_codes(
                np.full(len(sample), list(sides).index(side)), categories=pd.Index(list(sides))
            ),
            "sample": first + sample,
            "position": position,
            "id": ids.numpy().astype(np.int32),
            "token": pd.Categorical.from_codes(ids.numpy().astype(np.int32), categories=symbols),
        }
        columns = table | {name: values[sample] for name, values in of_sample.items()}
        parts.append(pd.DataFrame(columns | dict(words.get(side, {}))))
    return pd.concat(parts, ignore_index=True)


def _category(texts: Sequence[str]) -> Any:
    codes, values = pd.factorize(np.array(texts, dtype=object))
    return pd.Categorical.from_codes(codes, categories=pd.Index(values))


def _without_last(pairs: Pairs) -> Tensor:
    keep = torch.ones(len(pairs.target.values), dtype=torch.bool)
    keep[pairs.target.offsets[1:] - 1] = False
    return pairs.target.values[keep]
