"""Pools: the encoded examples of a training mix, batched without end and resumable at any batch."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import chain, islice
from pathlib import Path

import torch
from torch import Tensor

from tprprobe.console import quiet
from tprprobe.data import load_data
from tprprobe.data.batching import buckets
from tprprobe.data.dataset import Dataset
from tprprobe.data.pairs import Pairs, encode_mix, encode_pairs
from tprprobe.data.vocabularies.characters import SPECIALS, SymbolTable, Vocabulary, characters
from tprprobe.data.vocabularies.codecs import Codec
from tprprobe.data.vocabularies.subwords import load_subwords, train_subwords
from tprprobe.errors import InputError
from tprprobe.models.answers import CAPTIONS, find_scores
from tprprobe.training.recipes import Mix, Recipe


@dataclass
class Pool:
    """The examples of a stage on the device, each repeated as often as its mix says."""

    pairs: Pairs
    indices: Tensor
    lengths: Tensor

    @classmethod
    def load(cls, mixes: list[Mix], vocabulary: Codec, device: torch.device) -> "Pool":
        pairs = encode_mix(map(open_mix, mixes), vocabulary)
        starts = torch.tensor([0, *pairs.parts]).cumsum(0)
        mix_sizes = zip(pairs.parts, starts, mixes, strict=False)
        repeated = [torch.arange(n).add(start).repeat(mix.repeat) for n, start, mix in mix_sizes]
        indices = torch.cat(repeated)
        lengths = (pairs.source.lengths + pairs.target.lengths)[indices]
        return cls(pairs.to(device), indices, lengths)

    def batches(self, batch_size: int, seed: int, start: int) -> Iterator[Tensor]:
        """Shuffled length-bucketed batches without end, from batch number ``start``."""
        epoch, skipped = 0, 0
        while True:
            epoch_batches = buckets(self.lengths, batch_size, seed, epoch)
            for batch in epoch_batches[max(0, start - skipped) :]:
                yield self.indices[batch]
            epoch, skipped = epoch + 1, skipped + len(epoch_batches)


def make_codec(recipe: Recipe) -> Codec:
    """The vocabulary of a recipe, else the symbols that its data name, else the characters of the Mathematics Dataset."""
    settings = recipe.subwords
    if recipe.words is not None:
        datasets = map(_reopen, recipe.stages[0].mix)
        return find_scores(CAPTIONS).codec.of(datasets, recipe.words.threshold)
    if recipe.units is not None:
        return _collect_units(recipe)
    if settings is None:
        symbols = _reopen(recipe.stages[0].mix[0]).symbols
        return SymbolTable(SPECIALS + symbols) if symbols else characters()
    if settings.file:
        codec = load_subwords(settings.file)
        return replace(codec, max_source=settings.max_source, max_target=settings.max_target)
    examples = islice(_reopen(recipe.stages[0].mix[0]), settings.texts // 2)
    texts = chain.from_iterable((example.source, example.target) for example in examples)
    return train_subwords(texts, settings.size, settings.max_source, settings.max_target)


def _collect_units(recipe: Recipe) -> SymbolTable | Vocabulary:
    """The vocabulary of all texts of the mixes; of files, those that are tested on are among them."""
    mixes = [mix.model_copy(update={"n": None}) for mix in recipe.mixes]
    files = {mix.data: mix for mix in mixes if Path(mix.data).exists()}
    tested = (data for mix in files.values() for data in _find_tested(mix))
    examples = chain.from_iterable([*map(_reopen, mixes), *tested])
    texts = (text for example in examples for text in (example.source, example.target))
    is_spaced = recipe.units == "symbols"
    units = set().union(*(text.split() if is_spaced else text for text in texts))
    return (SymbolTable if is_spaced else Vocabulary)(SPECIALS + tuple(sorted(units)))


def _find_tested(mix: Mix) -> list[Dataset]:
    try:
        return [_reopen(mix.model_copy(update={"split": "test"}))]
    except InputError:  # the file has no such split
        return []


def load_pairs(mix: Mix, vocabulary: Codec) -> Pairs:
    return encode_pairs(_reopen(mix), vocabulary)


def open_mix(mix: Mix) -> Dataset:
    return load_data(mix.data, split=mix.split, n=mix.n, seed=mix.seed, workers=os.cpu_count() or 1)


def _reopen(mix: Mix) -> Dataset:
    with quiet():
        return open_mix(mix)
