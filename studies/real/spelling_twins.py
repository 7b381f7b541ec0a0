"""Question c, controls: how well the roles of letters explain the states of networks that learned nothing."""

from functools import partial
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from studies.real.pronunciation import Pronouncer, encode_words
from studies.real.spelling_roles import States, choose_tested, error_sums, fit_roles, label, pair_up
from studies.real.words import Words
from tprprobe.files.runs import Part, join_parts
from tprprobe.statistics import bootstrap

N_TWINS = 5  # networks with random weights


def measure_twin(
    model: Pronouncer, words: Words, states: States, seed: int
) -> dict[str, pd.DataFrame]:
    """A row a tested word: errors of left*right at a twin's states and at the trained ones."""
    roles, tested = label(words, "left*right"), choose_tested(words, seed)
    pairs = [p for p, t in zip(pair_up(words.forms, roles), tested, strict=True) if t]
    rows: dict[str, Any] = {"seed": seed, "lemma": words.groups[tested]}
    twin_states = encode_words(start_anew(model, seed), words.forms)
    for name, vectors in (("", states), ("twin_", twin_states)):
        fit = fit_roles(words, vectors, tested, roles, "saturated", seed)
        rows[f"{name}error"] = ((vectors[tested] - fit.encode(pairs)) ** 2).sum(1)
        rows[f"{name}total"] = ((vectors[tested] - vectors[~tested].mean(0)) ** 2).sum(1)
    return {"words": pd.DataFrame(rows)}


def measure_twins(model: Pronouncer, words: Words, states: States, runs: Path) -> pd.DataFrame:
    """The rows of all twins."""
    jobs = []
    for seed in range(N_TWINS):
        measured = partial(measure_twin, model, words, states, seed)
        jobs.append(Part(runs / f"twin-untrained-{seed}", measured))
        jobs[-1].finish()
    return join_parts(jobs, "words")


def start_anew(module: Pronouncer, seed: int) -> Pronouncer:
    """The network with torch's random weights."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Pronouncer(module.letters.embedding_dim, module.encoder.hidden_size).eval()


def summarize_twins(rows: pd.DataFrame) -> pd.DataFrame:
    """A row a twin: R² of the trained network and of the twin, and their difference."""
    table_rows = []
    for seed, twin_rows in rows.groupby("seed", sort=False):
        sums = error_sums(twin_rows, "twin_error", "twin_total", "error", "total")
        gap = bootstrap(sums, lambda t: t[:, 2] / t[:, 3] - t[:, 0] / t[:, 1])
        r2 = 1 - sums.sum(0)[[0, 2]] / sums.sum(0)[[1, 3]]
        columns = {"twin": "untrained", "seed": seed}
        table_rows.append(columns | {"r2_twin": r2[0], "r2": r2[1]} | gap.columns("difference"))
    return pd.DataFrame(table_rows)
