"""The demo: a trained TP-Transformer answers fresh questions, and its roles are looked at."""

import re
import shutil
from pathlib import Path
from typing import Any

import pandas as pd
from matplotlib.figure import Figure

from tprprobe import figures
from tprprobe.clustering import Clusters, cluster, cluster_all, save_clusters
from tprprobe.console import stderr, track
from tprprobe.data import load_data
from tprprobe.errors import InputError
from tprprobe.evaluation import exact_match
from tprprobe.extraction import extract
from tprprobe.models.checkpoint import load_model
from tprprobe.report import Section, write_report
from tprprobe.sitenames import select
from tprprobe.store import Store

CHECKPOINT = "tpt-c-arithmetic"
DATA, SPLIT, N, SEED = "mathematics:arithmetic__mixed", "small-test", 128, 1
ROLES, ATTENTION, HEAD, K = "encoder.-1.self.role", "encoder.-1.self.attention", 0, 20
SITES = [
    "encoder.*.self.role",
    "encoder.*.self.value",
    "encoder.*.self.attention",
    "encoder.*.hidden",
]
DIVISION = re.compile(r"/\(?-?\d")
SHOWN = 4  # right and wrong answers that are printed, of each
MARK = ".tprprobe-demo"  # a folder with this file is an earlier demo's, and replaced


def run_demo(out: Path) -> Path:
    """The report of a fresh run in ``out``, which replaces that of an earlier demo.

    Raises:
        InputError: ``out`` holds something else.
    """
    model: Any = load_model(CHECKPOINT)
    _clear(out)
    data = load_data(DATA, split=SPLIT, n=N, seed=SEED)
    store = extract(model, data, SITES, out / "store", attention_samples=N)
    answered = store.tokens.query("side == 'target' and position == 0")
    found = exact_match(answered)
    low, high = found["exact_match_interval"]
    lead = (
        f"{CHECKPOINT} answered {found['exact_match']:.1%} of {N} held-out questions right "
        f"(95 % interval {low:.1%} to {high:.1%})."
    )
    samples = pd.concat([_some(answered, True), _some(answered, False)])
    stderr.print(samples.to_string(index=False), markup=False, highlight=False)
    stderr.print(lead)
    heads = cluster_all(store, ROLES, lambda all_: track(all_, "clustering", len(all_)), k=K)
    save_clusters(heads, out / "clusters")
    raw = cluster(store, ROLES, HEAD, k=K, raw=True)
    drawn = _draw(store, heads[HEAD], raw, answered)
    for name, figure in drawn.items():
        figures.save(figure, out / f"{name}.pdf")
    return write_report(
        out, "Roles of a trained TP-Transformer", lead, _sections(samples, heads, drawn)
    )


def _clear(out: Path) -> None:
    if out.exists() and any(out.iterdir()) and not (out / MARK).is_file():
        raise InputError(f"{out} is not empty and no earlier demo: give another --out")
    shutil.rmtree(out, ignore_errors=True)
    out.mkdir(parents=True)
    (out / MARK).touch()


def _some(answered: pd.DataFrame, correct: bool) -> pd.DataFrame:
    """The first answers that are right, or wrong."""
    rows = answered[answered["correct"].astype(bool) == correct].head(SHOWN)
    table = pd.DataFrame(rows[["question", "answer", "prediction"]])
    return table.assign(correct="right" if correct else "wrong")


def _draw(
    store: Store, standardised: Clusters, raw: Clusters, answered: pd.DataFrame
) -> dict[str, Figure]:
    """The figures by file name; attention is of the first right question that has a division."""
    (site,) = select(ATTENTION, store.sites)
    samples = zip(answered["sample"], answered["question"], answered["correct"], strict=True)
    divided = [number for number, question, right in samples if right and DIVISION.search(question)]
    drawn: dict[str, Figure] = {
        "schlag-fig2": figures.role_clusters(store, raw),
        "role-clusters-standardised": figures.role_clusters(store, standardised),
    }
    if divided:
        drawn["schlag-fig3"] = figures.attention_rows(store, site, divided[0], HEAD)
    return drawn


def _sections(
    samples: pd.DataFrame, heads: list[Clusters], drawn: dict[str, Figure]
) -> list[Section]:
    stability = pd.DataFrame(
        {
            "head": [result.head for result in heads],
            "stability (ARI of seeds)": [result.stability for result in heads],
        }
    )
    captions = {
        "schlag-fig2": f"schlag Fig 2: head {HEAD}, raw vectors as in the paper.",
        "role-clusters-standardised": "The same with each dimension standardised.",
        "schlag-fig3": "schlag Fig 3: what the digits behind a division bar attend to.",
    }
    shown = {captions[name]: figure for name, figure in drawn.items()}
    roles = {caption: shown[caption] for caption in shown if "Fig 3" not in caption}
    return [
        Section(
            "Answers",
            "The questions are fresh and held out: their text was never trained on. The card of the "
            "checkpoint has its exact match on every module and split.",
            tables=[samples],
        ),
        Section(
            "Role clusters of the last encoder layer",
            f"k-means (k = {K}) on the role vectors of {N} questions. Raw vectors have an arbitrary scale in "
            "each dimension (the network computes the same for any), so the second figure standardises "
            "them. What a cluster means is not claimed here: it needs names chosen on one half of the "
            "questions and scored on the other, beside queries, keys, values and the untrained twin, "
            "whose vectors are in store/untrained.",
            figures=roles,
            tables=[stability, heads[HEAD].summary],
        ),
        Section(
            "Attention",
            "One head's attention from the digits behind a division bar, in percent.",
            figures={caption: shown[caption] for caption in shown if "Fig 3" in caption},
        ),
    ]
