"""From a checkpoint to findings, ours beside what one would put together today: a Markdown table.

    python benchmarks/workflow.py [--reports 100] [--epochs 6] [--nnsight]

Both sides read the roles, fillers, TPRs and states of the encoder of tpt-d-english on generated reports;
cluster the roles of every head (k-means, k = 20, 10 seeds, and how far these agree); reconstruct every
layer's input from each head's values, all heads and four random projections (ridge, 11 penalties, 5
folds); and train edge probes for parts of speech of every vector, with a control task, for as many epochs.
Ours is `tp.extract`, `cluster_all`, `tp.reconstruct` and `tp.probe`; it also writes the model's summaries,
learning curves, intervals and subsets, and the vectors to disk. The other side has hooks (or nnsight's
traces), scikit-learn's KMeans and Ridge in loops, and a loop over probes (Tenney et al.'s, as jiant trains
them one by one), with all vectors in memory and the words' labels given. jiant has no vectors in memory: it runs the
model for every batch of every probe. That row adds so many passes, of which one is timed.

Each side runs in a process of its own, one thread; seconds are processor time, imports not included,
memory is the peak of the process.
"""

import argparse
import multiprocessing
import resource
import tempfile
import time
import warnings
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from scipy.linalg import LinAlgWarning
from sklearn.cluster import KMeans
from sklearn.linear_model import Ridge
from sklearn.metrics import adjusted_rand_score
from torch import Tensor, nn

import tprprobe as tp
from tprprobe.analyses.clustering import cluster_all
from tprprobe.analyses.probing import Schedule
from tprprobe.data.pairs import encode_pairs
from tprprobe.estimators.affine import STRENGTHS
from tprprobe.estimators.probes.spans import HIDDEN

MODEL, DATA, TASK = "tpt-d-english", "english", "pos"
K, SEEDS, FOLDS, PROJECTIONS = 20, 10, 5, 4
BATCH, READ = 16, 32  # samples of a probe's batch, and of a pass
PROBED = ("filler", "role", "tpr", "hidden")
KINDS = ("input", "value", *PROBED)  # as they are computed: nnsight wants that order
Vectors = dict[str, np.ndarray]
Found = dict[str, float]


class Clock:
    """Processor seconds by stage."""

    def __init__(self):
        self.seconds: Found = {}
        self.last = time.process_time()

    def stop(self, stage: str) -> None:
        now = time.process_time()
        self.seconds[stage], self.last = now - self.last, now


def ours(reports: int, epochs: int, folder: str) -> Found:
    """The seconds of every stage of ours, and the mean F1 of the probes."""
    model, data = tp.load_model(MODEL), tp.load_data(DATA, split="test", n=reports)
    clock = Clock()
    sites = [f"encoder.*.{kind}" for kind in KINDS]
    store = tp.extract(model, data, sites, f"{folder}/store", attention_samples=0, control=False)
    clock.stop("capture")
    cluster_all(store, "encoder.*.self.role", k=K, n_seeds=SEEDS)
    clock.stop("clusters")
    tp.reconstruct(store)
    clock.stop("reconstruction")
    asked: dict[str, Any] = {"sites": [f"encoder.*.{kind}" for kind in PROBED]}
    asked |= {
        "controls": ["control"],
        "schedule": Schedule(limit=epochs, stop=epochs),
        "information": False,
    }
    rows = tp.probe(store, TASK, estimator="span-conv", **asked)
    clock.stop("probes")
    return clock.seconds | {"f1": float(rows[rows["control"] == "real"]["f1"].mean())}


def combined(reports: int, epochs: int, tracing: bool, words: pd.DataFrame) -> Found:
    """The same of the other side; ``words`` are the source tokens with their word and its label."""
    model, data = tp.load_model(MODEL), tp.load_data(DATA, split="test", n=reports)
    clock = Clock()
    vectors = (trace if tracing else hook)(model, data)
    clock.stop("capture")
    for site in sorted(each for each in vectors if each.endswith(".role")):
        for head in range(vectors[site].shape[1]):
            cluster_head(vectors[site][:, head])
    clock.stop("clusters")
    questions = words["sample"].to_numpy()
    for layer in sorted(each.split(".")[1] for each in vectors if each.endswith("self.input")):
        z, values = (vectors[f"encoder.{layer}.self.{kind}"] for kind in ("input", "value"))
        reconstruct_layer(z, values, questions)
    clock.stop("reconstruction")
    probed = [site for site in vectors if site.rpartition(".")[2] in PROBED]
    scores = [probe_site(vectors[site], words, epochs, c) for site in probed for c in (False, True)]
    clock.stop("probes")
    with torch.no_grad():
        read_all(model, data)
    clock.stop("a pass")
    clock.seconds["passes"] = len(probed) * 2 * epochs
    return clock.seconds | {"f1": float(np.mean(scores[::2]))}


def read_all(model: Any, data: Any) -> list[Tensor]:
    """The rows of every batch, each after a pass of the model."""
    pairs, read = encode_pairs(data, model.vocabulary), []
    for start in range(0, len(data), READ):
        source, target = pairs.batch(torch.arange(start, min(start + READ, len(data))), 0)
        model(source, target[:, :-1])
        read.append(source)
    return read


def hook(model: Any, data: Any) -> Vectors:
    """The vectors of every token, by hooks of torch."""
    kept: dict[str, list[Tensor]] = {}
    modules = dict(model.named_modules())
    names = [s for s in modules if s.startswith("encoder.") and s.rpartition(".")[2] in KINDS]
    hooks = [
        modules[name].register_forward_hook(
            lambda _module, _inputs, output, name=name: kept.setdefault(name, []).append(output)
        )
        for name in names
    ]
    with torch.no_grad():
        read = read_all(model, data)
    for each in hooks:
        each.remove()
    return unpadded(kept, read)


def trace(model: Any, data: Any) -> Vectors:
    """The same by nnsight, batch by batch."""
    from nnsight import NNsight  # pyright: ignore[reportMissingImports]

    traced, pairs = NNsight(model), encode_pairs(data, model.vocabulary)
    kept: dict[str, list[Tensor]] = {}
    read = []
    layers = range(len(model.encoder))
    for start in range(0, len(data), READ):
        source, target = pairs.batch(torch.arange(start, min(start + READ, len(data))), 0)
        with torch.no_grad(), traced.trace(source, target[:, :-1]):
            for layer in layers:
                attention = traced.encoder[layer].self
                for kind in KINDS:
                    if kind == "hidden":
                        found = traced.encoder[layer].hidden.output.save()
                        kept.setdefault(f"encoder.{layer}.hidden", []).append(found)
                    else:
                        name = {"input": "E_input"}.get(
                            kind, kind
                        )  # nnsight's own `input` is taken
                        found = getattr(attention, name).output.save()
                        kept.setdefault(f"encoder.{layer}.self.{kind}", []).append(found)
        read.append(source)
    return unpadded(kept, read)


def unpadded(kept: dict[str, list[Tensor]], read: list[Tensor]) -> Vectors:
    """One array a site, the pads left out."""
    return {
        name: torch.cat([x[source != 0] for x, source in zip(parts, read, strict=True)]).numpy()
        for name, parts in kept.items()
    }


def cluster_head(vectors: np.ndarray) -> float:
    """The agreement of the seeds' clusters."""
    scaled = (vectors - vectors.mean(0)) / vectors.std(0)
    means: list[Any] = [KMeans(K, random_state=seed) for seed in range(SEEDS)]  # one start each
    labels = [each.fit(scaled).labels_ for each in means]
    return float(np.mean([adjusted_rand_score(*pair) for pair in combinations(labels, 2)]))


def reconstruct_layer(z: np.ndarray, values: np.ndarray, questions: np.ndarray) -> None:
    """Cross-validated ridge regressions of z on values of heads, of all, and on projections of z."""
    rng = np.random.default_rng(0)
    maps = rng.normal(size=(PROJECTIONS, z.shape[1], values.shape[2])) / np.sqrt(z.shape[1])
    inputs = [values[:, head] for head in range(values.shape[1])]
    inputs += [values.reshape(len(values), -1), *(z @ each for each in maps)]
    folds = rng.permutation(questions.max() + 1)[questions] % (FOLDS + 1)
    for v, strength, fold in product(inputs, STRENGTHS, range(FOLDS)):
        train, test = (folds != fold) & (folds != FOLDS), folds == fold
        alpha = strength * np.square(v[train] - v[train].mean(0)).sum() / v.shape[1]
        with warnings.catch_warnings():  # of small penalties
            warnings.simplefilter("ignore", LinAlgWarning)
            Ridge(alpha).fit(v[train], z[train]).predict(v[test])


class EdgeProbe(nn.Module):
    """Projection, self-attentive pooling of a word's tokens, and a classifier (Tenney et al. 2019)."""

    def __init__(self, width: int, labels: int):
        super().__init__()
        self.project, self.attend = nn.Linear(width, HIDDEN), nn.Linear(HIDDEN, 1)
        self.classify = nn.Sequential(
            nn.Linear(HIDDEN, HIDDEN),
            nn.Tanh(),
            nn.LayerNorm(HIDDEN),
            nn.Dropout(0.3),
            nn.Linear(HIDDEN, labels),
        )

    def forward(self, states: Tensor, words: Tensor, n: int) -> Tensor:
        """The logits of n words from the states of their tokens."""
        projected = self.project(states)
        weight = self.attend(projected).exp()
        total = weight.new_zeros(n, 1).index_add(0, words, weight)
        pooled = projected.new_zeros(n, HIDDEN).index_add(
            0, words, weight / total[words] * projected
        )
        return self.classify(pooled)


def probe_site(vectors: np.ndarray, words: pd.DataFrame, epochs: int, control: bool) -> float:
    """F1 on a fifth of the reports of a probe that is trained on three fifths of them."""
    torch.manual_seed(0)
    known = (words["word"].notna() & (words["pos"].astype(str) != "")).to_numpy()
    states = torch.from_numpy(vectors.reshape(len(vectors), -1)[known])
    states = (states - states.mean(0)) / states.std(0)
    table = words[known].reset_index(drop=True)
    word = table.groupby(["sample", "word"], sort=False).ngroup().to_numpy()
    first = table.drop_duplicates(["sample", "word"])
    classes, names = pd.factorize(first["pos"].astype(str))
    if control:
        types = pd.factorize(first["token"].astype(str))[0]
        classes = np.random.default_rng(0).integers(len(names), size=types.max() + 1)[types]
    model = EdgeProbe(states.shape[1], len(names))
    optimizer = torch.optim.Adam(model.parameters(), lr=5e-3, amsgrad=True)
    truth = torch.from_numpy(classes)
    samples = np.unique(first["sample"])

    def logits(chosen: np.ndarray) -> tuple[Tensor, Tensor]:
        rows = np.flatnonzero(np.isin(table["sample"], chosen))
        inside, local = np.unique(word[rows], return_inverse=True)
        return model(states[rows], torch.from_numpy(local), len(inside)), truth[inside]

    for epoch in range(epochs):
        order = np.random.default_rng(epoch).permutation(samples[samples % 5 < 3])
        for start in range(0, len(order), BATCH):
            found, true = logits(order[start : start + BATCH])
            wanted = nn.functional.one_hot(true, len(names)).float()
            loss = nn.functional.binary_cross_entropy_with_logits(found, wanted)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
        model.eval()
        with torch.no_grad():
            logits(samples[samples % 5 == 3])  # validation, whose end is the last epoch's here
        model.train()
    model.eval()
    with torch.no_grad():
        found, true = logits(samples[samples % 5 == 4])
    said = found > 0
    right = said[torch.arange(len(true)), true].sum().item()
    return 2 * right / (int(said.sum()) + len(true))


def _measure(work: Callable[..., Found], given: tuple[Any, ...]) -> Found:
    torch.set_num_threads(1)
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = work(*given)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found | {"peak": peak, "held": held}


def measure(work: Callable[..., Found], *given: Any) -> Found:
    """What a side found and took, in a process of its own."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as process:
        return process.submit(_measure, work, given).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--reports", type=int, default=100)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--nnsight", action="store_true", help="capture by nnsight, not by hooks")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        mine = measure(ours, given.reports, given.epochs, folder)
        words = tp.open_store(Path(folder) / "store").tokens.query("side == 'source'")
    columns = ["sample", "word", "token", TASK]
    theirs = measure(combined, given.reports, given.epochs, given.nnsight, words[columns])
    passes = theirs["passes"] * theirs["a pass"]
    stages = ["capture", "clusters", "reconstruction", "probes"]
    rows = {stage: (theirs[stage], mine[stage]) for stage in stages}
    rows["all"] = (sum(theirs[s] for s in stages), sum(mine[s] for s in stages))
    rows["all, the model run for every batch of a probe"] = (
        rows["all"][0] + passes,
        rows["all"][1],
    )
    print(
        f"{given.reports} reports, {len(words):,} tokens, {given.epochs} epochs; mean F1 of the probes "
        f"{theirs['f1']:.3f} and ours {mine['f1']:.3f}\n"
    )
    print("| processor seconds | combined | ours | ratio |\n|---|---:|---:|---:|")
    for name, (their, my) in rows.items():
        print(f"| {name} | {their:.1f} | {my:.1f} | {their / my:.2f}× |")
    print("\n| peak memory, MB | combined | ours | ratio |\n|---|---:|---:|---:|")
    for name, less in (("the process", (0, 0)), ("beyond imports", (theirs["held"], mine["held"]))):
        their, my = theirs["peak"] - less[0], mine["peak"] - less[1]
        print(f"| {name} | {their:,.0f} | {my:,.0f} | {their / my:.2f}× |")


if __name__ == "__main__":
    main()
