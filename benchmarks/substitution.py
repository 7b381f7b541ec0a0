"""``python -m benchmarks.substitution DATA``: how many pronunciations can a sum of bindings preserve?

g2p's vectors of new words are replaced by sums V[f, r] over letters, whose V is fitted in four ways: to the vectors of other words,
through tanh (the network's numbers lie between -1 and 1), to the tested words as well, or by training V through the
decoder, on what it says of other words. The third and the last say where the ceiling is.
"""

from pathlib import Path
from typing import Annotated

import numpy as np
import torch
import typer
from torch.nn import functional
from torch.nn.utils.rnn import pad_sequence

from benchmarks.binding.structure import Array
from studies.real.pronunciation import (
    FIRST_PHONEME,
    PHONEMES,
    Pronouncer,
    Spelling,
    encode_words,
    pronounce,
    read_pronouncer,
    speak,
)
from studies.real.spelling_roles import BY_FORM, choose_tested, fit_roles, pair_up
from studies.real.words import Words, read_forms
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.statistics import bootstrap_mean, interval_text

EPOCHS, BATCH, RATE = 6, 128, 2e-3
NEAREST = 0.999  # to 1 that a number of a vector counts as
SCHEMES = {
    "left": BY_FORM["left"],
    "left*right": BY_FORM["left*right"],
    "left+after": BY_FORM["left+after"],
    "left*right+after": lambda form: [
        f"{place}+next {after}"
        for place, after in zip(BY_FORM["left*right"](form), f"{form}#"[1:], strict=True)
    ],
}
Bindings = list[list[tuple[str, str]]]


def measure(model: Pronouncer, words: Words, scheme: str, seed: int) -> dict[str, str]:
    """The share of tested words whose whole pronunciation stays, by way of fitting, with intervals over lemmas."""
    states = encode_words(model, words.forms).astype(float)
    tested, roles = choose_tested(words, seed), [SCHEMES[scheme](form) for form in words.forms]
    rows, pairs = np.flatnonzero(tested), pair_up(words.forms, roles)
    options = roles, "saturated", seed
    bounded = np.arctanh(np.clip(states, -NEAREST, NEAREST))
    fit = fit_roles(words, states, tested, *options)
    tested_pairs = [pairs[i] for i in rows]
    encoded = {
        "fitted": fit.encode(tested_pairs),
        "through tanh": np.tanh(fit_roles(words, bounded, tested, *options).encode(tested_pairs)),
        "to these words, too": fit_roles(words, states, tested & False, *options).encode(tested_pairs),
        "by the decoder": train(model, words, pairs, tested, fit),
    }  # fmt: skip
    shares = {}
    for way, vectors in encoded.items():
        spoken = speak(model, vectors)
        is_same = [text == words.sounds[i] for text, i in zip(spoken, rows, strict=True)]
        interval = bootstrap_mean(np.array(is_same, float), words.groups[rows])
        shares[way] = interval_text(interval, ".3f")
    return shares


def train(
    model: Pronouncer, words: Words, pairs: Bindings, tested: Array, fit: TPDecomposition
) -> Array:
    """The sums for tested words after V is trained, from the fit on, to make the decoder say what it says of others."""
    numbers = {pair: i for i, pair in enumerate(sorted({p for word in pairs for p in word}))}
    ids = [torch.tensor([numbers[pair] for pair in word]) for word in pairs]
    sounds = [_number(sound) for sound in words.sounds]
    bias = torch.tensor(fit.intercept_).float().requires_grad_()
    table = torch.tensor(fit.encode([[pair] for pair in numbers]) - fit.intercept_).float()
    optimizer = torch.optim.Adam([bias, table.requires_grad_()], RATE)
    rng, rows = np.random.default_rng(0), np.flatnonzero(~tested)

    def add_up(batch: Array) -> torch.Tensor:
        starts = torch.tensor(np.cumsum([0, *(len(ids[i]) for i in batch[:-1])]))
        return functional.embedding_bag(torch.cat([ids[i] for i in batch]), table, starts, mode="sum") + bias  # fmt: skip

    for epoch in range(EPOCHS):
        optimizer.param_groups[0]["lr"] = RATE * (1 - epoch / EPOCHS)
        order = rng.permutation(rows)
        for batch in np.split(order, range(BATCH, len(order), BATCH)):
            target = pad_sequence([sounds[i] for i in batch], batch_first=True, padding_value=-1)
            logits = model.decode(add_up(batch), target[:, :-1])
            loss = functional.cross_entropy(logits.flatten(0, 1), target[:, 1:].flatten(), ignore_index=-1)  # fmt: skip
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
    return add_up(np.flatnonzero(tested)).detach().numpy()


def _number(sound: str) -> torch.Tensor:
    """The ids of phonemes, between those of the start and of the end."""
    start, end = (FIRST_PHONEME + PHONEMES.index(symbol) for symbol in ("<s>", "</s>"))
    return torch.tensor([start, *Spelling().encode(sound), end])


def main(
    data: Annotated[Path, typer.Argument(help="The folder of the English Web Treebank.")],
    model_folder: Annotated[Path, typer.Option("--model")] = Path("models/real/g2p"),
    seed: Annotated[int, typer.Option(help="Which fifth of the lemmas is tested.")] = 0,
) -> None:
    """Measure what sums of bindings preserve, and what they could."""
    torch.set_num_threads(1)
    model = read_pronouncer(model_folder).requires_grad_(False)
    forms, lemmas = read_forms(data)
    words = Words(forms, lemmas, pronounce(model, forms))
    for scheme in SCHEMES:
        typer.echo(f"{scheme}: {measure(model, words, scheme, seed)}")


if __name__ == "__main__":
    typer.run(main)
