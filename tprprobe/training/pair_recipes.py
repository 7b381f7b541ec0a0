"""A recipe for a file of pairs: a vocabulary, a small TP-Transformer and a schedule that fit the data."""

from collections import Counter
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from typing import Literal

import numpy as np

from tprprobe import plugins
from tprprobe.console import quiet
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.files.writing import write_file
from tprprobe.models import load_model
from tprprobe.models.answers import describe_matches
from tprprobe.models.architectures import expand
from tprprobe.models.checkpoint import trained_data
from tprprobe.training.recipes import read_recipe

MAX_EXAMPLES = 50_000  # that are read to choose
MAX_SYMBOLS, MIN_OCCURRENCES = 1000, 20  # of a table of symbols; how often each occurs on average
MAX_CHARACTERS, MAX_CHARACTER_LENGTH = 200, 160  # of a vocabulary of characters, and of its texts
MAX_SUBWORDS, MIN_SUBWORDS, MAX_SUBWORD_LENGTH = 8000, 400, 512
MIN_LENGTH = 64  # of the table of positions: wrong answers are written up to 32 symbols
BATCH, EPOCHS, MIN_STEPS, MAX_STEPS = 64, 20, 1500, 10_000
SMALL = 20_000  # training pairs below which dropout is used
SPLITS = ("train", "dev", "test")
RECIPE = "recipe.toml"
MAX_WATCHED, MAX_TESTED = 300, 1000  # pairs that are scored during training, and after it
EVALUATIONS, PATIENCE = 30, 6  # of a run of all steps; without a better score, after which it stops

# of optimizers, the first that is installed, with its rate: sums of two numbers below 1,000 are learned by muon, not by AdamW
OPTIMIZERS = {"muon": 0.0025, "adamw": 0.001}

Units = Literal["symbols", "characters", "sub-words"]

TEMPLATE = """\
# {n_train:,} training pairs; made for {data}. Change what you like, then run `tprprobe train {path} --out FOLDER`.
name = "{name}"
batch_size = {batch}
seed = {seed}
evaluate_every = {evaluate_every}
save_every = {evaluate_every}
patience = {patience}   # evaluations without a better score on the dev pairs, after which training stops and the model of the best is kept; leave it out to take all steps
{vocabulary}
[model]
architecture = "tp-transformer"
d_model = 128
n_heads = 4
n_layers = [2, 2]
d_ff = 512
max_length = {max_length}
dropout = {dropout}

[optimizer]
name = "{optimizer}"
betas = [0.9, 0.95]
weight_decay = 0.01
clip = 1.0

[[stages]]
steps = {steps}
learning_rate = {rate}
warmup = {warmup}
decay = "cosine"
mix = [{{ data = {quoted}, split = "train" }}]

[[evaluate]]
data = {quoted}
split = "dev"
n = {n_dev}
"""


def choose_units(texts: Sequence[str]) -> Units:
    """Symbols between blanks if these are few and frequent, characters of short texts, else sub-words."""
    counts = Counter(symbol for text in texts for symbol in text.split())
    n_tokens = sum(counts.values())
    is_frequent = n_tokens >= MIN_OCCURRENCES * len(counts) and n_tokens > 2 * len(texts)
    if len(counts) <= MAX_SYMBOLS and is_frequent:
        return "symbols"
    characters = set().union(*texts)
    length = np.quantile([len(text) for text in texts], 0.99)
    if len(characters) <= MAX_CHARACTERS and length <= MAX_CHARACTER_LENGTH:
        return "characters"
    return "sub-words"


def write_recipe(data: str, path: Path, seed: int = 0, overrides: Sequence[str] = ()) -> str:
    """Writes a recipe for the pairs of a file, or of a folder with the splits train, dev and test; one line says what was chosen,
    and what ``overrides`` make of it.
    """
    with quiet():
        parts = {split: load_data(data, split=split) for split in SPLITS}
    for split, part in parts.items():
        if not len(part):
            raise InputError(f"{data}: no pairs for {split}: give more, 100 or more")
    if not parts["train"].has_targets:
        raise InputError(f"{data} has no targets: give a table with columns source and target")
    n_train = len(parts["train"])
    examples = [*islice(parts["train"], MAX_EXAMPLES)]
    texts = [text for example in examples for text in (example.source, example.target)]
    units = choose_units(texts)
    words = [len(text.split()) for text in texts]
    longest = {
        "symbols": max(words),
        "characters": max(map(len, texts)),
        "sub-words": min(3 * max(words), MAX_SUBWORD_LENGTH),
    }[units]
    if units == "sub-words":
        size = min(max(len({word for text in texts for word in text.split()}), MIN_SUBWORDS), MAX_SUBWORDS)  # fmt: skip
        lengths = f"max_source = {longest}\nmax_target = {longest}"
        vocabulary = f"\n[subwords]\nsize = {size}\n{lengths}\n"
    else:
        vocabulary = f'units = "{units}"   # of the vocabulary, which is made of all texts\n'
    steps = int(np.clip(EPOCHS * n_train // BATCH, MIN_STEPS, MAX_STEPS))
    optimizer = "muon" if "muon" in plugins.find("optimizers") else "adamw"
    text = TEMPLATE.format(
        optimizer=optimizer,
        rate=OPTIMIZERS[optimizer],
        n_train=n_train,
        n_dev=min(len(parts["dev"]), MAX_WATCHED),
        data=data,
        path=path,
        name=path.parent.name,
        batch=BATCH,
        seed=seed,
        evaluate_every=steps // EVALUATIONS,
        patience=PATIENCE,
        vocabulary=vocabulary,
        max_length=max(2 * longest, MIN_LENGTH),
        dropout=0.1 if n_train < SMALL else 0.0,
        steps=steps,
        warmup=steps // 10,
        quoted="'" + data + "'",
    )
    write_file(path, text)
    try:
        recipe = read_recipe(path, overrides)
        expand(recipe.model)  # refuses options that the architecture lacks
    except InputError:
        path.unlink()  # so that the command can be given again
        if not any(path.parent.iterdir()):
            path.parent.rmdir()
        raise
    layers = str(recipe.model["n_layers"]).strip("[]").replace(", ", " + ")
    sizes = (
        f"{len(part):,} pair{'s' * (len(part) != 1)} to {split}" for split, part in parts.items()
    )
    return (
        f"{data}: {', '.join(sizes)}; texts are cut into "
        f"{units}; {recipe.model['architecture']} of {layers} layers, width {recipe.model['d_model']}, at most "
        f"{recipe.steps:,} steps of {recipe.batch_size} pairs. Recipe: {path}"
    )


def score_pairs(folder: Path, device: str = "cpu") -> str:
    """One line: how many test pairs a trained model answers right, beside always the most frequent training target; empty of a model
    that was not trained on a split train of questions and answers.
    """
    trained = trained_data(folder)
    if not trained:
        return ""
    with quiet():
        test = load_data(trained["data"], split=trained["split"], seed=trained["seed"])[:MAX_TESTED]
        is_scored = test.has_targets and test[0].has_one_answer
        return describe_matches(load_model(folder, device=device), test) if is_scored else ""
