"""``python -m benchmarks.binding.explained FILE.svg``: how alike two states are, by what their sequences share; a picture of the docs."""

import sys
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np

from benchmarks.binding.structure import Array

N_SEQUENCES, LENGTH, N_WORDS, WIDTH = 1200, 4, 12, 64
SHARED = ("no word", "a word,\nother place", "a word,\nsame place")
COLOR = "#3f51b5"


def make_states(rng: np.random.Generator, words: Array, binds: bool) -> Array:
    """Sums of word vectors, with vectors of (word, place) or without, and noise, of variance 1 in all."""
    states = rng.normal(size=(N_WORDS, WIDTH))[words].sum(1)
    if binds:
        table = rng.normal(size=(N_WORDS, LENGTH, WIDTH))
        states += table[words, np.arange(LENGTH)].sum(1)
    states += 0.5 * states.std() * rng.normal(size=states.shape)
    states -= states.mean(0)
    return states / np.sqrt((states**2).sum(1).mean())


def compare_pairs(words: Array, states: Array) -> list[Array]:
    """The inner products of the states of two sequences that share no word, or one at another place or the same place."""
    same_place = (words[:, None] == words[None]).sum(2)
    counts = np.stack([(words == word).sum(1) for word in range(N_WORDS)], 1)
    shared = np.minimum(counts[:, None], counts[None]).sum(2)
    products, later = states @ states.T, np.triu(np.ones(shared.shape, bool), 1)
    kinds = (shared == 0, (shared == 1) & (same_place == 0), (shared == 1) & (same_place == 1))
    return [products[kind & later] for kind in kinds]


def draw(file: Path, seed: int = 0) -> None:
    """Two panels: states that bind nothing, and states that bind."""
    rng = np.random.default_rng(seed)
    words = np.array([rng.choice(N_WORDS, LENGTH, replace=False) for _ in range(N_SEQUENCES)])
    titles = {False: "State = sum of words", True: "State = sum of words and of bindings"}
    plt.rcParams.update({"svg.hashsalt": "tprprobe", "svg.fonttype": "none"})
    figure, axes = plt.subplots(1, 2, figsize=(7.2, 2.8), sharey=True, layout="constrained")
    for axis, (binds, title) in zip(axes, titles.items(), strict=True):
        means = [products.mean() for products in compare_pairs(words, make_states(rng, words, binds))]  # fmt: skip
        axis.plot(means, "o-", color=COLOR)
        axis.axhline(0, color="0.8", linewidth=0.8, zorder=0)
        axis.set_xticks(range(len(SHARED)), SHARED)
        axis.set_xlim(-0.4, 2.4)
        axis.set_title(title, fontsize=10)
        step = "bindings" if binds else "no step: nothing is bound"
        axis.annotate(step, (1.5, np.mean(means[1:])), (1.5, -0.28), ha="center", color=COLOR,
                      arrowprops={"arrowstyle": "-", "color": COLOR, "linewidth": 0.6})  # fmt: skip
        axis.spines[["top", "right"]].set_visible(False)
    axes[0].set_ylabel("mean inner product of two states\n(1: a state with itself)", fontsize=8)
    figure.supxlabel("what the two sequences share", fontsize=9)
    figure.savefig(file, metadata={"Date": None})


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
