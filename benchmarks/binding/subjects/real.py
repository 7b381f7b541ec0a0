"""Models that people use, whose truth nobody knows: shown apart from the others."""

from collections.abc import Sequence
from functools import cache, partial
from itertools import product
from pathlib import Path

import numpy as np
import torch
from torch import nn

import tprprobe as tp
from benchmarks.binding.structure import Array, Symbols
from benchmarks.binding.subject import Subject, World

LETTERS = ["<pad>", "<unk>", "</s>", *"abcdefghijklmnopqrstuvwxyz"]
NOUNS = [
    "dog",
    "cat",
    "man",
    "woman",
    "girl",
    "boy",
    "king",
    "doctor",
    "teacher",
    "lion",
    "horse",
    "farmer",
]
VERBS = ["sees", "likes", "follows", "hears", "finds", "helps", "fears", "knows"]
WORDS, SITE = 3000, "encoder.-1.hidden"


def make_speller(folder: Path, words: tuple[str, ...], seed: int) -> World:
    """The state of g2p's encoder after a word; its twin has permuted weights."""
    rng = np.random.default_rng((seed, 8))
    sequences = tuple(tuple(words[i]) for i in rng.permutation(len(words))[:WORDS])
    weights = np.load(folder / "checkpoint20.npz")
    run, twin = (partial(_spell, *_speller(weights, at)) for at in (None, seed))
    return World(sequences, run, run(sequences), None, twin)


def _speller(weights: dict[str, Array], permuted: int | None) -> tuple[nn.Embedding, nn.GRU]:
    names = ("enc_emb", "enc_w_ih", "enc_w_hh", "enc_b_ih", "enc_b_hh")
    arrays = [weights[name] for name in names]
    if permuted is not None:
        rng = np.random.default_rng(permuted)
        arrays = [rng.permutation(each.ravel()).reshape(each.shape) for each in arrays]
    tensors = [torch.from_numpy(each) for each in arrays]
    gru = nn.GRU(tensors[0].shape[1], len(tensors[2]) // 3, batch_first=True)
    gru.load_state_dict(
        dict(
            zip(
                (f"{k}_l0" for k in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")),
                tensors[1:],
                strict=True,
            )
        )
    )
    return nn.Embedding.from_pretrained(tensors[0]), gru


@torch.no_grad()
def _spell(embedding: nn.Embedding, gru: nn.GRU, sequences: Sequence[Symbols]) -> Array:
    lengths = np.array([len(s) for s in sequences])
    found = np.zeros((len(sequences), gru.hidden_size))
    for n in np.unique(lengths):
        rows = np.flatnonzero(lengths == n)
        ids = torch.tensor([[LETTERS.index(c) for c in (*sequences[i], "</s>")] for i in rows])
        found[rows] = gru(embedding(ids))[1][0].double().numpy()
    return found


def make_sentences(name: str, seed: int) -> World:
    """The mean state of "the SUBJECT VERB the OBJECT." in a sentence encoder; its twin has permuted weights."""
    rng = np.random.default_rng((seed, 9))
    every = [s for s in product(NOUNS, VERBS, NOUNS) if s[0] != s[2]]
    sequences = tuple(every[i] for i in rng.permutation(len(every)))
    run, twin = partial(_pool, name), partial(_pool, f"permuted:{name}")
    return World(sequences, run, run(sequences), None, twin)


_load = cache(tp.load_model)
_known: dict[tuple[str, Symbols], Array] = {}


@torch.no_grad()
def _pool(name: str, sequences: Sequence[Symbols]) -> Array:
    """Means over tokens, by text: what was computed is kept."""
    new = [s for s in dict.fromkeys(sequences) if (name, s) not in _known]
    model = _load(name) if new else None
    for start in range(0, len(new), 128):
        part = new[start : start + 128]
        ids = [model.vocabulary.encode(f"the {s} {v} the {o}.") for s, v, o in part]
        for n in {len(each) for each in ids}:
            rows = [i for i, each in enumerate(ids) if len(each) == n]
            with tp.capture(model, [SITE]) as acts:
                model(torch.tensor([ids[i] for i in rows]))
            pooled = next(iter(acts.values())).mean(1).double().numpy()
            _known.update({(name, part[i]): row for i, row in zip(rows, pooled, strict=True)})
    return np.stack([_known[name, s] for s in sequences])


def list_subjects(folder: Path | None) -> list[Subject]:
    """g2p on words of MiniLM's vocabulary, and MiniLM; without their folder none."""
    if folder is None:
        return []
    found = []
    vocabulary = (folder / "minilm/vocab.txt").read_text("utf-8").split()
    words = tuple(w for w in vocabulary if w.isascii() and w.isalpha() and 4 <= len(w) <= 7)
    made = partial(make_speller, folder / "g2p", words)
    found.append(
        Subject(
            "g2p", "real", "left*right", made, None, f"26 letters, {WORDS:,} × 256", reads=False
        )
    )
    made = partial(make_sentences, f"hf:{folder / 'minilm'}")
    found.append(
        Subject("MiniLM", "real", "left", made, None, "20 words, 1,056 × 384", reads=False)
    )
    return found
