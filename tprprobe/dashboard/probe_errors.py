"""What trained probes mistake for what on held-out documents, and examples of it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from tprprobe.analyses.probing import load_probe
from tprprobe.analyses.probing.labelled_words import TEST, read_corpus
from tprprobe.dashboard.plots import plot_grid
from tprprobe.dashboard.safe_text import visible
from tprprobe.dashboard.sentence import Statement
from tprprobe.dashboard.view import View
from tprprobe.errors import InputError
from tprprobe.figures.dots import count_squares
from tprprobe.files.hub import CONFIG
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import SETTINGS
from tprprobe.gold.labels import WORD
from tprprobe.store import Store

SAVED = "probes"
MOST, ERRORS = 16, 200  # labels of the matrix, the commonest; errors that are listed


@dataclass(frozen=True)
class TrainedProbe:
    """The folder of a trained probe, its F1, and the seed by which documents were held out of its training."""

    folder: Path
    f1: float
    seed: int


def list_probes(folders: Mapping[str, Path], task: str) -> dict[str, TrainedProbe]:
    """The trained probes of a task of these runs, by the site that they read; of runs that test on the store itself."""
    found = {}
    for run in folders.values():
        about = read_json(run / SETTINGS)
        for folder in sorted((run / SAVED).glob("*")) if about.get("test") is None else ():
            probe = read_json(folder / CONFIG)
            if _is_of(probe, task):
                f1 = float(probe.get("metrics", {}).get("f1", np.nan))
                found[str(probe["site"])] = TrainedProbe(folder, f1, int(about["settings"]["seed"]))
    return found


def _is_of(about: Mapping, task: str) -> bool:
    of = about.get("task")
    return (of.get("name") if isinstance(of, dict) else of) == task


def best(saved: Mapping[str, TrainedProbe]) -> int:
    """The place of the probe with the highest F1."""
    return int(np.argmax([np.nan_to_num(each.f1, nan=-1) for each in saved.values()]))


def predict_held_out(store: Store, trained: TrainedProbe) -> pd.DataFrame:
    """The predictions of a probe on documents that it was not trained on: sample, span1, span2, label, predicted,
    probability.

    Raises:
        InputError: the store has none of these documents.
    """
    probe = load_probe(trained.folder)
    corpus = read_corpus(store, store.tokens, probe.side, [probe.task], trained.seed)
    found = probe.predict(
        store
    )  # of the first of the run's turns, whose test documents it did not see
    is_tested = corpus.splits[0][found["sample"].to_numpy()] == TEST
    found = found[is_tested & (found["label"].astype(str) != "")]
    if found.empty:
        raise InputError(f"{trained.folder.name}: none of its held-out documents is in this store")
    return found.reset_index(drop=True)


def count_confusions(found: pd.DataFrame) -> pd.DataFrame:
    """How often every label (rows, the commonest) is predicted as every other (columns)."""
    common = found["label"].value_counts().index[:MOST]
    shown = found[found["label"].isin(common)]
    predicted = shown["predicted"].where(shown["predicted"].isin(common), "other")
    return (
        pd.crosstab(shown["label"], predicted)
        .reindex(index=common)
        .reindex(columns=[*common, "other"], fill_value=0)
    )


def show_confusions(found: pd.DataFrame, task: str, dark: bool = False) -> View:
    """The confusions as a matrix: of every label the shares of what is predicted."""
    counts = count_confusions(found)
    shares = counts.to_numpy() / np.maximum(counts.to_numpy().sum(1, keepdims=True), 1)
    texts = np.where(shares >= 0.05, np.char.mod("%.0f", 100 * shares), "")
    told = np.array(
        [
            [
                f"{100 * shares[at]:.1f} % ({counts.to_numpy()[at]})"
                for at in np.ndindex(shares.shape)
            ]
        ],
        object,
    ).reshape(shares.shape)
    names = (f"{task} label", "predicted")
    chart = plot_grid(shares, [*counts.index], [*counts.columns], dark, texts, told, names)
    title = f"What a probe of {task} predicts for every label, held out"
    table = counts.reset_index(names="label")
    note = f"percent of a row; the {len(counts)} commonest of {found['label'].nunique()} labels"
    return View(title, partial(count_squares, counts.to_numpy(), title, names), table, note, chart)


def list_errors(store: Store, found: pd.DataFrame) -> pd.DataFrame:
    """Wrong predictions, the surest first: the sample's words with the span in ⟨⟩, label, predicted, probability."""
    wrong = found[found["label"] != found["predicted"]].nlargest(ERRORS, "probability")
    tokens = store.tokens_of(load_side(store))
    known = tokens[(tokens[WORD] >= 0) & tokens["sample"].isin(wrong["sample"])]
    words = {
        int(str(sample)): part.groupby(WORD)["token"]
        .agg(lambda each: "".join(map(str, each)))
        .tolist()
        for sample, part in known.groupby("sample")
    }
    texts = [
        _mark(words.get(int(row["sample"]), []), str(row["span1"]))
        for row in wrong.to_dict("records")
    ]
    table = pd.DataFrame(
        {
            "in": texts,
            "label": wrong["label"].to_numpy(),
            "predicted": wrong["predicted"].to_numpy(),
        }
    )
    return table.assign(
        probability=wrong["probability"].to_numpy(), sample=wrong["sample"].to_numpy()
    )


def load_side(store: Store) -> str:
    """A site whose rows are source tokens."""
    return next(name for name, spec in store.specs.items() if spec.rows == "source")


def _mark(words: Iterable[str], span: str) -> str:
    first, last = (int(each) for each in span.strip("[)").split(","))
    signs = [f"⟨{word}⟩" if first <= i < last else word for i, word in enumerate(words)]
    near = signs[max(first - 6, 0) : last + 6]
    return visible(" ".join(near), 120)


def tell_errors(found: pd.DataFrame, task: str, site: str) -> Statement:
    """How many predictions are right, and the commonest confusion."""
    right = int((found["label"] == found["predicted"]).sum())
    text = f"{site} predicts {right:,} of {len(found):,} held-out {task} labels right ({100 * right / len(found):.1f} %)"
    wrong = found[found["label"] != found["predicted"]]
    if len(wrong):
        counts: Any = wrong.value_counts(["label", "predicted"])
        (label, predicted), n = next(iter(counts.items()))
        text += f"; commonest mistake: {label} taken for {predicted}, {n} times"
    return Statement(f"{text}.")
