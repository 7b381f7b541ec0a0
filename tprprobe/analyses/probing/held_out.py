"""What trained probes predict on documents that were held out of their training, and where they are wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pandas as pd

from tprprobe.analyses.probing import load_probe
from tprprobe.analyses.probing.labelled_words import TEST, read_corpus
from tprprobe.errors import InputError
from tprprobe.files.hub import CONFIG
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.kinds import SETTINGS
from tprprobe.gold.labels import WORD
from tprprobe.store import Store
from tprprobe.store.token_texts import join, visible

SAVED = "probes"
ERRORS, AROUND = 200, 6  # errors that are listed; words around one


@dataclass(frozen=True)
class TrainedProbe:
    """The folder of a trained probe, its F1, and the seed by which documents were held out of its training."""

    folder: Path
    f1: float
    seed: int


def list_probes(folders: Mapping[str, Path], task: str) -> dict[str, TrainedProbe]:
    """The trained probes of a task of these runs, by the site that they read, the best first; of runs that test on the store
    itself.
    """
    found = {}
    for run in folders.values():
        about = read_json(run / SETTINGS)
        for folder in sorted((run / SAVED).glob("*")) if about.get("test") is None else ():
            probe = read_json(folder / CONFIG)
            of = probe.get("task")
            if (of.get("name") if isinstance(of, dict) else of) == task:
                f1 = float(probe.get("metrics", {}).get("f1", -1))
                found[str(probe["site"])] = TrainedProbe(folder, f1, int(about["settings"]["seed"]))
    return dict(sorted(found.items(), key=lambda each: -each[1].f1))


def predict_held_out(store: Store, trained: TrainedProbe) -> pd.DataFrame:
    """The predictions of a probe on documents that it was not trained on: sample, span1, span2, label, predicted,
    probability.
    """
    probe = load_probe(trained.folder)
    corpus = read_corpus(store, store.tokens, probe.side, [probe.task], trained.seed)
    found = probe.predict(store)  # of the run's first turn: it did not see its test documents
    is_tested = corpus.splits[0][found["sample"].to_numpy()] == TEST
    found = found[is_tested & (found["label"].astype(str) != "")]
    if found.empty:
        raise InputError(f"{trained.folder.name}: none of its held-out documents is in this store")
    return found.reset_index(drop=True)


def list_errors(store: Store, found: pd.DataFrame) -> pd.DataFrame:
    """Wrong predictions, the surest first: the sample's words with the span in ⟨⟩, label, predicted, probability."""
    wrong = found[found["label"] != found["predicted"]].nlargest(ERRORS, "probability")
    tokens = store.tokens[store.tokens["side"] == "source"]
    known = tokens[(tokens[WORD] >= 0) & tokens["sample"].isin(wrong["sample"])]
    words = known.groupby(["sample", WORD])["token"].agg(join)
    places = zip(wrong["sample"], wrong["span1"].astype(str), strict=True)
    wrong = wrong.assign(**{"in": [_mark(words[at].tolist(), span) for at, span in places]})
    return wrong[["in", "label", "predicted", "probability", "sample"]]


def _mark(words: list[str], span: str) -> str:
    first, last = (int(each) for each in span.strip("[)").split(","))
    signs = [f"⟨{word}⟩" if first <= i < last else word for i, word in enumerate(words)]
    return visible(" ".join(signs[max(first - AROUND, 0) : last + AROUND]), 120)
