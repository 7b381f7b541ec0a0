"""Models that people use, whose truth nobody knows: shown apart from the others."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import nn

import tprprobe as tp
from benchmarks.binding.structure import Array, Symbols
from benchmarks.binding.subject import Subject, World, by_length, permute

LETTERS = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
NOUNS = ["dog", "cat", "man", "woman", "girl", "boy", "king", "doctor", "teacher", "lion", "horse"]
NOUNS += ["farmer"]
VERBS = ["sees", "likes", "follows", "hears", "finds", "helps", "fears", "knows"]
WORDS, SITE = 3000, "encoder.-1.hidden"


def make_speller(folder: Path, seed: int) -> World:
    """The state of g2p's encoder after a word of MiniLM's vocabulary; its twin has permuted weights."""
    listed = (folder / "minilm/vocab.txt").read_text("utf-8").split()
    words = [w for w in listed if w.isascii() and w.isalpha() and 4 <= len(w) <= 7]
    rng = np.random.default_rng((seed, 8))
    sequences = tuple(tuple(words[i]) for i in rng.permutation(len(words))[:WORDS])
    weights = np.load(folder / "g2p/checkpoint20.npz")
    run, twin = (partial(_spell, *_speller(weights, permutation)) for permutation in (None, seed))
    return World(sequences, run, run(sequences), None, twin)


def _speller(weights: dict[str, Array], permuted: int | None) -> tuple[nn.Embedding, nn.GRU]:
    kinds = [(kind, direction) for kind in ("weight", "bias") for direction in ("ih", "hh")]
    names = {f"{kind}_{direction}_l0": f"enc_{kind[0]}_{direction}" for kind, direction in kinds}
    embedding = nn.Embedding.from_pretrained(torch.from_numpy(weights["enc_emb"]))
    gru = nn.GRU(embedding.embedding_dim, len(weights["enc_b_hh"]) // 3, batch_first=True)
    gru.load_state_dict({to: torch.from_numpy(weights[name]) for to, name in names.items()})
    if permuted is not None:
        permute(embedding, permuted)
        permute(gru, permuted)
    return embedding, gru


@torch.no_grad()
def _spell(embedding: nn.Embedding, gru: nn.GRU, sequences: Sequence[Symbols]) -> Array:
    def encode(words: list[Symbols]) -> Array:
        ids = [[LETTERS.index(c) for c in (*word, "</s>")] for word in words]
        return gru(embedding(torch.tensor(ids)))[1][0].double().numpy()

    return by_length(sequences, encode)


def make_sentences(name: str, seed: int) -> World:
    """The mean state of "the SUBJECT VERB the OBJECT." in a sentence encoder; its twin has permuted weights."""
    rng = np.random.default_rng((seed, 9))
    every = [s for s in product(NOUNS, VERBS, NOUNS) if s[0] != s[2]]
    sequences = tuple(every[i] for i in rng.permutation(len(every)))
    run, twin = partial(_pool, name), partial(_pool, f"permuted:{name}")
    return World(sequences, run, run(sequences), None, twin)


_load = cache(tp.load_model)
_pooled: dict[tuple[str, Symbols], Array] = {}


@torch.no_grad()
def _pool(name: str, sequences: Sequence[Symbols]) -> Array:
    """Means over tokens, by text: what was computed is kept."""
    unseen = [s for s in dict.fromkeys(sequences) if (name, s) not in _pooled]
    model: Any = _load(name) if unseen else None
    for start in range(0, len(unseen), 128):
        batch = unseen[start : start + 128]
        ids = [model.vocabulary.encode(f"the {s} {v} the {o}.") for s, v, o in batch]
        for n in {len(row_ids) for row_ids in ids}:
            rows = [i for i, row_ids in enumerate(ids) if len(row_ids) == n]
            with tp.capture(model, [SITE]) as acts:
                model(torch.tensor([ids[i] for i in rows]))
            pooled = next(iter(acts.values())).mean(1).double().numpy()
            _pooled.update({(name, batch[i]): row for i, row in zip(rows, pooled, strict=True)})
    return np.stack([_pooled[name, s] for s in sequences])


def list_subjects(folder: Path) -> list[Subject]:
    """g2p and MiniLM, which lie in the folder."""
    makers = partial(make_speller, folder), partial(make_sentences, f"hf:{folder / 'minilm'}")
    g2p = Subject("g2p", "real", "left*right", makers[0], None, f"26 letters, {WORDS:,} × 256", needs="--real")  # fmt: skip
    minilm = Subject("MiniLM", "real", "left", makers[1], None, "20 words, 1,056 × 384", needs="--real")  # fmt: skip
    return [g2p, minilm]
