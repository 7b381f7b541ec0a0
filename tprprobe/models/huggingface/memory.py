"""What a model of transformers keeps of texts while it writes behind them, and its caches."""

import copy
import inspect
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor
from transformers import Cache, DynamicCache, EncoderDecoderCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

# transformers' names of the argument: from 5.24 on, and before
CACHES = ("cache", "past_key_values")


@dataclass(frozen=True)
class Memory:
    """A source and what was written behind it: a decoder's cache and logits, an encoder's states, or the logits of masks."""

    ids: Tensor
    mask: Tensor
    logits: Any = None
    states: Tensor | None = None
    cache: Cache | None = None
    length: int = 0

    def __getitem__(self, rows: slice | Tensor) -> "Memory":
        rows = torch.arange(len(self.ids), device=self.ids.device)[rows]
        values = {name: v[rows] for name, v in vars(self).items() if isinstance(v, Tensor)}
        cache = None if self.cache is None else _rows_of(self.cache, rows)
        return replace(self, **values, cache=cache)


def find_cache(module: PreTrainedModel) -> str:
    """The argument by which a decoder goes on from keys and values alone; "" if it must read the whole text again (Mamba)."""
    parameters = inspect.signature(module.forward).parameters
    name = next((argument for argument in CACHES if argument in parameters), "")
    layers = DynamicCache(config=module.config).layers if name else []
    only = all(isinstance(x, DynamicLayer) and "Linear" not in type(x).__name__ for x in layers)
    return name if only else ""


def copied(cache: Cache) -> Cache:
    """A cache that can be continued while this one stays: a layer's tensors are never changed in place."""
    duplicate = copy.copy(cache)
    duplicate.layers = [copy.copy(layer) for layer in cache.layers]
    return duplicate


def _rows_of(cache: Cache, rows: Tensor) -> Cache:
    if isinstance(cache, EncoderDecoderCache):
        caches = (cache.self_attention_cache, cache.cross_attention_cache)
        selected = EncoderDecoderCache(*(_rows_of(half, rows) for half in caches))
        selected.is_updated = dict(cache.is_updated)
        return selected
    selected = copied(cache)
    selected.batch_select_indices(rows)
    return selected
