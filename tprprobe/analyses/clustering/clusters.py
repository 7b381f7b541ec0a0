"""Clusters: labels, centers and a summary, in memory and in a folder."""

import json
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from jaxtyping import Float, Float32, Int, Int32, Shaped
from scipy.special import entr

from tprprobe.analyses.kinds import CLUSTERS
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE, join_tables, melt
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.notebook import as_html
from tprprobe.files.settings import Document, parse
from tprprobe.files.tables import columns, read_table
from tprprobe.files.writing import write_folder
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store
from tprprobe.store.token_texts import is_special, sign

FORMAT, VERSION = "tprprobe-clusters", 1
RUNS = CLUSTERS.file
TABLE, LABELS = "clusters.parquet", "labels.parquet"
REMEDY = "cluster again"
SUMMARY = columns(
    text="site top", whole="run cluster size", number="share mean_position entropy"
) | {"center": object}
MEASURES = ("size", "share", "mean_position", "entropy")
ESTIMATOR = "k-means"
SHARES = re.compile(r"(\S+)(?= (\d+)%)")  # tokens of a cluster's summary
N_TOP = 5  # words of a cluster in its summary
BETWEEN = " · "  # of its distinctive tokens
STABLE, RECOVERED = 0.5, 0.6  # least agreement of starts; recovery of a cluster (Hennig 2007)


class _Run(Document):
    site: str
    head: int | None
    k: int
    seed: int
    raw: bool
    n_seeds: int
    inertia: float
    stability: float
    mean: list[float]
    scale: list[float]


class _Document(Document):
    runs: list[_Run]


SCALARS = [name for name in _Run.model_fields if name not in ("mean", "scale")]


@dataclass(frozen=True, eq=False)
class Clusters:
    """Clusters of the vectors of a site, numbered by falling size.

    Attributes:
        site: The site.
        head: The head; None: all heads.
        k: The number of clusters.
        seed: The seed of random choices.
        raw: Whether vectors were not standardized.
        n_seeds: The number of runs of k-means, of which this is the best.
        inertia: The sum of squared distances to the centers, in the clustered space.
        stability: The mean adjusted Rand index between the runs.
        labels: The cluster of every token on the site's side.
        centers: The centers in the clustered space, (vector − ``mean``) / ``scale``.
        mean: What is subtracted from every vector.
        scale: What every dimension is divided by.
        summary: One row per cluster; see [columns](tutorials/roles.md#columns-of-clusters).

    Examples:
        >>> roles.assign(store.read(roles.site, rows=slice(0, 3), head=0)).shape
        (3,)
        >>> roles.size == len(roles.labels)
        True
    """

    site: str
    head: int | None
    k: int
    seed: int
    raw: bool
    n_seeds: int
    inertia: float
    stability: float
    labels: Int32[np.ndarray, "token"]
    centers: Float32[np.ndarray, "cluster width"]
    mean: Float32[np.ndarray, "width"]
    scale: Float32[np.ndarray, "width"]
    summary: pd.DataFrame

    @property
    def size(self) -> int:
        """The number of vectors that were clustered."""
        return int(self.summary["size"].sum())

    def assign(self, vectors: Float[np.ndarray, "row width"]) -> Int32[np.ndarray, "row"]:
        """The nearest cluster of vectors of the same site, in this store or another.

        Args:
            vectors: Vectors as :meth:`Store.read` gives them.

        Returns:
            The numbers of the clusters.
        """
        # heavy: not for those who read results
        from sklearn.metrics import pairwise_distances_argmin

        scaled = (vectors - self.mean) / self.scale
        return pairwise_distances_argmin(scaled, self.centers).astype(np.int32)

    @property
    def place(self) -> str:
        """Site and head in words."""
        return self.site if self.head is None else f"{self.site}, head {self.head}"

    def __repr__(self) -> str:
        return f"Clusters({self.k} of {len(self.labels):,} vectors at {self.place}; stability {self.stability:.2f})"

    def _repr_html_(self) -> str:
        vectors = "raw" if self.raw else "standardized"
        note = f"{vectors} vectors; agreement of {self.n_seeds} seeds (ARI) {self.stability:.2f}"
        return as_html(f"{self.k} clusters of {self.place}", self.summary, note)

    def as_dict(self) -> dict[str, object]:
        """Settings, measures and the summary, in JSON types; no labels and no centers.

        Returns:
            The values by name; ``clusters`` are the rows of the summary.
        """
        clusters = json.loads(str(self.summary.to_json(orient="records")))
        return {key: getattr(self, key) for key in SCALARS} | {"clusters": clusters}


def summarize(labels: Int[np.ndarray, "token"], tokens: pd.DataFrame, k: int) -> pd.DataFrame:
    """One row per cluster: size, share, commonest and distinctive tokens, mean position, entropy of tokens (bits)."""
    codes, words = pd.factorize(tokens["token"].astype(str).to_numpy(object))
    shares = [_share_words(codes[labels == cluster]) for cluster in range(k)]
    sizes = np.bincount(labels, minlength=k)
    summary = {
        "size": sizes,
        "share": sizes / len(labels),
        "top": [_commonest(words[word_ids[:N_TOP]], values[:N_TOP]) for word_ids, values in shares],
        "distinctive": list_distinctive(labels, codes, words, k),
        "mean_position": tokens["position"].groupby(labels).mean(),
        "entropy": [entr(s).sum() / np.log(2) if len(s) else np.nan for _, s in shares],
    }
    return pd.DataFrame(summary, index=pd.RangeIndex(k, name="cluster")).reset_index()


def _share_words(
    codes: Int[np.ndarray, " token"],
) -> tuple[Int[np.ndarray, " word"], Float[np.ndarray, " word"]]:
    """The words of a cluster with their shares, commonest first, ties as they first appear."""
    word_ids, first_rows, counts = np.unique(codes, return_index=True, return_counts=True)
    order = np.lexsort((first_rows, -counts))
    return word_ids[order], counts[order] / max(1, len(codes))


def list_distinctive(
    labels: Int[np.ndarray, " token"],
    codes: Int[np.ndarray, " token"],
    words: Shaped[np.ndarray, " word"],
    k: int,
) -> list[str]:
    """The tokens of every cluster that raise its likelihood most: by n log(lift), where lift is how many times as many they are as
    they would be if tokens were in clusters by chance.

    Source: Dunning 1993, the terms of the likelihood ratio.
    """
    cells, counts = np.unique(labels.astype(int) * len(words) + codes, return_counts=True)
    clusters, word_ids = np.divmod(cells, len(words))
    expected = np.bincount(labels)[clusters] * np.bincount(codes)[word_ids] / len(labels)
    scores = counts * np.log(counts / expected)
    order = np.lexsort((word_ids, -scores))
    best = ([i for i in order[clusters[order] == n][:N_TOP] if scores[i] > 0] for n in range(k))
    return [BETWEEN.join(sign(words[word_ids[i]]).strip() for i in row) for row in best]


def list_tokens(top: str) -> str:
    """The most frequent tokens of a cluster's summary, made visible; marked if half of all or more are special, as [CLS] is."""
    special = sum(int(share) for token, share in SHARES.findall(top) if is_special(token))
    mark = "special: " if special >= 50 else ""
    return mark + SHARES.sub(lambda match: sign(match[0]), top)


def _commonest(words: Shaped[np.ndarray, " word"], shares: Float[np.ndarray, " word"]) -> str:
    pairs = zip(words, shares, strict=True)
    return ", ".join(f"{'␣' if word == ' ' else word} {share:.0%}" for word, share in pairs)


def save_clusters(
    results: Sequence[Clusters], folder: str | os.PathLike[str], store: Store
) -> Path:
    """The new folder with the clusters of a store: clusters.json, and clusters and labels as Parquet tables."""
    runs = [{key: getattr(result, key) for key in SCALARS} for result in results]
    for run, result in zip(runs, results, strict=True):
        run |= {"mean": result.mean.tolist(), "scale": result.scale.tolist()}
    tables = [result.summary.assign(center=list(result.centers)) for result in results]
    labels = [pd.DataFrame({"row": range(len(r.labels)), "label": r.labels}) for r in results]
    header = {"format": FORMAT, "version": VERSION, "stores": [store.fingerprint]}
    document = json.dumps(header | {"runs": runs}, indent=1)
    joined = {TABLE: _join(tables, results), LABELS: _join(labels, results)}
    joined[FILE] = list_results(results).to_parquet(index=False)
    return write_folder(folder, {RUNS: f"{document}\n", **joined})


def list_results(results: Sequence[Clusters]) -> pd.DataFrame:
    """The long table of clusters: agreement and inertia of a clustering, and the numbers of every cluster."""
    numbers = ("site", "head", "k", "seed", "stability", "inertia")
    places = [{n: getattr(r, n) for n in numbers} | {"layer": layer_of(r.site)} for r in results]
    clusters = [r.summary.assign(**place) for r, place in zip(results, places, strict=True)]
    names = {name: name for name in ("site", "layer", "head", "k", "seed")}
    of_runs = melt(pd.DataFrame(places), names, ("stability", "inertia"))
    names |= {"cluster": "cluster"}
    of_clusters = melt(pd.concat(clusters, ignore_index=True), names, MEASURES)
    return join_tables([of_runs, of_clusters]).assign(estimator=ESTIMATOR)


def _join(tables: Sequence[pd.DataFrame], results: Sequence[Clusters]) -> bytes:
    numbered = [
        table.assign(run=i, site=run.site, head=pd.array([run.head] * len(table), "Int64"))
        for i, (table, run) in enumerate(zip(tables, results, strict=True))
    ]
    return pd.concat(numbered, ignore_index=True).to_parquet(index=False)


def load_clusters(folder: str | os.PathLike[str]) -> list[Clusters]:
    """The clusters that :func:`save_clusters` wrote."""
    folder = Path(folder)
    document = read_json(folder / RUNS)
    if (document.get("format"), document.get("version")) != (FORMAT, VERSION):
        raise InputError(f"{folder} holds no clusters of version {VERSION}: cluster again")
    runs = parse(_Document, document, folder / RUNS).runs
    tables = read_table(folder / TABLE, SUMMARY, REMEDY)
    labels = read_table(folder / LABELS, columns(whole="run row label"), REMEDY)
    return [
        _restore(run, tables.loc[tables["run"] == i], labels.loc[labels["run"] == i], folder)
        for i, run in enumerate(runs)
    ]


def _restore(run: _Run, table: pd.DataFrame, labels: pd.DataFrame, folder: Path) -> Clusters:
    mean, scale = (np.array(numbers, np.float32) for numbers in (run.mean, run.scale))
    try:
        centers = np.stack([np.asarray(numbers, np.float32) for numbers in table["center"]])
    except (ValueError, TypeError) as error:
        raise InputError(f"{folder / TABLE}: centers of unlike lengths: {REMEDY}") from error
    label, n = labels["label"].to_numpy(np.int32), len(centers)
    if centers.ndim != 2 or not len(mean) == len(scale) == centers.shape[1]:
        raise InputError(f"{folder}: {RUNS} and {TABLE} are not of the same clusters: {REMEDY}")
    if len(label) and not 0 <= label.min() <= label.max() < n:
        raise InputError(f"{folder / LABELS} has labels that are not among {n} clusters: {REMEDY}")
    repeated = ["center", "run", "site", "head"]
    summary = table.drop(columns=repeated, errors="ignore").reset_index(drop=True)
    return Clusters(
        **{name: getattr(run, name) for name in SCALARS},
        labels=label, centers=centers, mean=mean, scale=scale, summary=summary,
    )  # fmt: skip
