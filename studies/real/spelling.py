"""Question c: which roles does the pronunciation of words use? Fits, the search, twins, and the estimates."""

from functools import partial
from pathlib import Path

import pandas as pd
import torch

from studies.real.outcomes import estimate, publish
from studies.real.pronunciation import encode_words, pronounce, read_pronouncer
from studies.real.spelling_roles import (
    SYLLABLES,
    choose_tested,
    measure_seed,
    pick_fit,
    subtract_fits,
    subtract_irregular,
    summarize,
    summarize_surgery,
)
from studies.real.spelling_search import search_scheme
from studies.real.spelling_twins import measure_twins, summarize_twins
from studies.real.words import Words, read_forms
from tprprobe.files.runs import Part
from tprprobe.statistics import bootstrap_mean, read_interval

SEEDS = (0, 1)


def estimate_all(rows: pd.DataFrame, surgery: pd.DataFrame, twins: pd.DataFrame) -> pd.DataFrame:
    """The estimates of the predictions on question c, by seed."""
    estimates = []
    for seed, seed_rows in rows.groupby("seed"):
        both_ends, wickel = pick_fit(seed_rows, "left*right"), pick_fit(seed_rows, "wickel")
        operated = surgery[(surgery["seed"] == seed) & (surgery["roles"] == "wickel")]
        exact = operated[operated["edit"] == "exchange"]
        values = {
            "c-both-ends": subtract_fits(both_ends, pick_fit(seed_rows, "left")),
            "c-neighbors": subtract_fits(wickel, both_ends),
            "c-syllables": subtract_fits(
                pick_fit(seed_rows, SYLLABLES), pick_fit(seed_rows, "left")
            ),
            "c-systematic": subtract_fits(
                pick_fit(seed_rows, "left*right", "factored"), both_ends, 0.9
            ),
            "c-surgery": bootstrap_mean(exact["exact"].to_numpy(float), exact["lemma"].to_numpy()),
            "c-regular": subtract_irregular(wickel),
        }
        estimates += [estimate(name, int(str(seed)), value) for name, value in values.items()]
    untrained = twins[twins["twin"] == "untrained"]
    for _, row in untrained.iterrows():
        estimates.append(
            estimate("c-untrained", int(row["seed"]), read_interval(row, "difference"))
        )
    return pd.DataFrame(estimates)


def measure(model_folder: Path, treebank: Path, runs: Path) -> pd.DataFrame:
    """Measures what is missing, writes the tables of question c, and returns its estimates."""
    torch.set_num_threads(1)
    model = read_pronouncer(model_folder)
    forms, lemmas = read_forms(treebank)
    words = Words(forms, lemmas, pronounce(model, forms))
    states = encode_words(model, forms).astype(float)
    tables = [measure_seed(model, words, states, runs, seed) for seed in SEEDS]
    rows, surgery = (
        pd.concat([t[name] for t in tables], ignore_index=True) for name in ("words", "surgery")
    )
    twins = measure_twins(model, words, states, runs)
    searches = []
    for seed in SEEDS:
        out, tested = runs / f"search-{seed}-vectors", choose_tested(words, seed)
        make = partial(search_scheme, words, states, tested, out, seed)
        searches.append(Part(runs / f"search-{seed}", make))
        searches[-1].finish()
    publish("spelling-fits", [summarize(rows)])
    publish("spelling-search", [job.read("schemes") for job in searches])
    publish("spelling-surgery", [summarize_surgery(surgery)])
    summary = publish("spelling-twins", [summarize_twins(twins)])
    return publish("spelling-estimates", [estimate_all(rows, surgery, summary)])
