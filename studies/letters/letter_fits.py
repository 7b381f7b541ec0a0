"""Fits to the states of models of letters: which sequences are read back, by architecture, task, scheme and seed."""

import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import torch
from jaxtyping import Bool, Float

from studies.letters.letter_models import LetterModel, list_models
from studies.tpdn.substitutions import SITE, Decoder, pair_up
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.data import load_data
from tprprobe.extraction import extract
from tprprobe.files.locks import held
from tprprobe.files.writing import write_file
from tprprobe.interventions.edits import patch
from tprprobe.interventions.placement import Edit
from tprprobe.models.checkpoint import read_checkpoint

FITS = Path(__file__).with_name("fits.csv")
SCHEMES = ("left", "right", "left*right", "tree", "bag")
SEEDS, SEQUENCES, FITTED = (
    10,
    8_000,
    6_000,
)  # of the sequences a model was trained on; a seed draws which are fitted
FAMILY, SCORES = "saturated", "fits.csv"

Sequences = list[list[str]]


class TokenDecoder(Decoder):
    """The same of a model whose decoder sees the states of all tokens: vectors are these, sequence by sequence."""

    def __init__(self, model: Any, task: str, site: str):
        super().__init__(model, task)
        self.site = site

    def place(self, vectors: Float[np.ndarray, "token d_model"], sequences: Sequences) -> Edit:
        lengths = np.array([len(each) for each in sequences])
        there = np.arange(lengths.max()) < lengths[:, None]
        values = np.zeros((*there.shape, vectors.shape[1]), np.float32)
        values[there] = vectors
        return patch(torch.as_tensor(values), positions=torch.as_tensor(there))


def measure(model: LetterModel, runs: Path) -> pd.DataFrame:
    """A row a scheme and seed: R² and substitution on the sequences that are not fitted, ``itself`` (the share that
    is read back from the states themselves) and ``seconds`` of the processor that the fit took.
    """
    network: Any = read_checkpoint(model.folder(runs))
    data = load_data(model.data, split="train", n=SEQUENCES)
    with TemporaryDirectory() as folder:
        store = extract(network, data, [model.site], Path(folder) / "store")
        vectors = store.read(model.site).astype(float)
    sequences = [each.source.split() for each in data]
    whole = model.site == SITE
    decoder = (
        Decoder(network, model.task) if whole else TokenDecoder(network, model.task, model.site)
    )
    ends = np.arange(len(sequences)) + 1 if whole else np.cumsum([len(each) for each in sequences])
    groups = np.repeat(np.arange(len(sequences)), np.diff(ends, prepend=0))
    chosen = [np.random.default_rng(s).permutation(SEQUENCES) < FITTED for s in range(SEEDS)]
    asked = [
        [each for each, of in zip(sequences, fitted, strict=True) if not of] for fitted in chosen
    ]
    itself = [
        _share(decoder, vectors[~fitted[groups]], those)
        for fitted, those in zip(chosen, asked, strict=True)
    ]
    rows = []
    for roles in SCHEMES:
        pairs = pair_up(roles, sequences)
        units = pairs if whole else [[pair] for each in pairs for pair in each]
        for seed, fitted in enumerate(chosen):
            found = _fit(units, vectors, fitted[groups], seed)
            read = _share(decoder, found.pop("encoded"), asked[seed])
            about = model._asdict() | {"roles": roles, "seed": seed, "n": len(asked[seed])}
            rows.append(about | {"substitution": read, "itself": itself[seed]} | found)
    return pd.DataFrame(rows)


def _share(decoder: Decoder, vectors: np.ndarray, sequences: Sequences) -> float:
    found: Bool[np.ndarray, " sequence"] = decoder(vectors, sequences)
    return float(found.mean())


def _fit(
    units: list[list[tuple[str, str]]],
    vectors: Float[np.ndarray, "unit d_model"],
    fitted: Bool[np.ndarray, " unit"],
    seed: int,
) -> dict[str, Any]:
    """A fit to some units: what it gives to the others, its R² there, and the processor time that it took."""
    given, asked = (
        [u for u, of in zip(units, fitted == want, strict=True) if of] for want in (True, False)
    )
    start = time.process_time()
    fit = TPDecomposition(family=FAMILY, random_state=seed).fit(given, vectors[fitted])
    seconds = time.process_time() - start
    encoded = fit.encode(asked)
    errors = np.sum((vectors[~fitted] - encoded) ** 2)
    whole = np.sum((vectors[~fitted] - vectors[fitted].mean(0)) ** 2)
    return {"encoded": encoded, "r2": float(1 - errors / whole), "seconds": seconds}


def measure_missing(runs: Path) -> None:
    """Measures every trained model whose fits the folder lacks."""
    for model in filter(lambda each: each.folder(runs).exists(), list_models()):
        file = runs / model.name / SCORES
        with held(file.with_suffix(".lock"), wait=False) as mine:
            if mine and not file.exists():
                write_file(file, measure(model, runs).to_csv(index=False))


def collect_fits(runs: Path) -> pd.DataFrame:
    """The fits to all models of a folder that are measured."""
    files = [runs / model.name / SCORES for model in list_models()]
    return pd.concat([pd.read_csv(file) for file in files if file.is_file()], ignore_index=True)
