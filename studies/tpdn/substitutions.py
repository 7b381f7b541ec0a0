"""The table's cells: how many sequences a model's decoder reads back from decompositions of its encodings."""

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float

from studies.tpdn.trainings import Trained, list_models
from tprpapers.worlds.sequences import TASKS
from tprprobe.analyses.decomposition import decompose
from tprprobe.analyses.decomposition.decompositions import tabulate_sequences
from tprprobe.analyses.decomposition.role_schemes import read_scheme
from tprprobe.data import load_data
from tprprobe.data.pairs import encode_pairs, encode_texts
from tprprobe.extraction import extract
from tprprobe.files.writing import held, write_file
from tprprobe.interventions.edits import patch
from tprprobe.models.answers import exact_matches
from tprprobe.models.checkpoint import read_checkpoint
from tprprobe.models.protocol import Model, require_vocabulary
from tprprobe.site.hooks import intervene

SITE, FAMILY = "encoding", "saturated"  # the most that the roles can explain
SCHEMES = ("left", "right", "left*right", "wickel", "tree", "bag")
SEQUENCES = 8_000  # of those that the model was trained on; a quarter is tested on
SCORES = "scores.csv"


class Decoder:
    """A model's decoder as :func:`decompose` takes it: which sequences come back whole from vectors."""

    def __init__(self, model: Model, task: str):
        self.model, self.answer = model, TASKS[task]

    @torch.no_grad()
    def __call__(
        self, vectors: Float[np.ndarray, "sequence d_model"], sequences: list[list[str]]
    ) -> Bool[np.ndarray, " sequence"]:
        texts = [" ".join(sequence) for sequence in sequences]
        answers = [" ".join(self.answer(sequence)) for sequence in sequences]
        pairs = encode_texts(texts, answers, require_vocabulary(self.model))
        pad = self.model.config.pad
        source, target = pairs.batch(torch.arange(len(pairs)), pad)
        with intervene(self.model, {SITE: patch(torch.as_tensor(vectors))}):
            predicted = self.model(source, target[:, :-1]).argmax(-1)
        return ((predicted == target[:, 1:]) | (target[:, 1:] == pad)).all(1).numpy()


def pair_up(roles: str, sequences: Sequence[list[str]]) -> list[list[tuple[str, str]]]:
    """The (filler, role) pairs of every sequence."""
    labels = iter(map(str, read_scheme(roles).label(tabulate_sequences(sequences))[0]))
    return [[(filler, next(labels)) for filler in sequence] for sequence in sequences]


def measure(trained: Trained, runs: Path) -> pd.DataFrame:
    """The scores of all schemes at a model's encodings, beside their controls; ``accuracy`` is its own."""
    model: Any = read_checkpoint(trained.folder(runs))
    test = encode_pairs(load_data(trained.data, split="test"), model.vocabulary)
    data = load_data(trained.data, split="train", n=SEQUENCES)
    with TemporaryDirectory() as folder:
        store = extract(model, data, [SITE], Path(folder) / "store")
        decoder = Decoder(model, trained.task)
        fit = decompose(store, SITE, list(SCHEMES), family=FAMILY, decoder=decoder)
    facts = trained._asdict() | {"accuracy": exact_matches(model, test)[0].mean()}
    return fit.scores.assign(**facts)[[*facts, *fit.scores]]


def measure_missing(runs: Path, seed: int) -> None:
    """Measures every trained model whose scores the folder lacks."""
    for trained in filter(lambda model: model.folder(runs).exists(), list_models(seed)):
        file = runs / trained.name / SCORES
        with held(file.with_suffix(".lock"), wait=False) as is_held:
            if is_held and not file.exists():
                write_file(file, measure(trained, runs).to_csv(index=False))
