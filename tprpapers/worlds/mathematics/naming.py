"""Names, agreement and decoding of all heads in one resumable run, kept as tables in a folder.

A part of the run is the clusterings of all heads of a site, or a field that all clusterings are compared with.
"""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprpapers.worlds.mathematics import naming_targets
from tprpapers.worlds.mathematics.field_agreement import agreement
from tprpapers.worlds.mathematics.polarity import (
    count_questions,
    decode_polarity,
    score_ones,
    summarize_clusterings,
)
from tprprobe.analyses.clustering.kmeans import run_all
from tprprobe.analyses.kinds import NAMES
from tprprobe.analyses.naming.name_counts import TRAINED, compare_names, count_by_model
from tprprobe.analyses.naming.names import Gold, decide, list_held_out, read_gold, score_candidates
from tprprobe.analyses.naming.word_names import stack_tables, view_table
from tprprobe.errors import InputError
from tprprobe.evaluation.results import FILE, load_view
from tprprobe.evaluation.runner import Progress
from tprprobe.files.file_errors import as_input_error
from tprprobe.files.jsonfiles import read_json
from tprprobe.files.notebook import as_html
from tprprobe.files.runs import KeptRun, Part, Tables, join_parts, kept
from tprprobe.files.tables import columns, read_table
from tprprobe.statistics import permute_within
from tprprobe.store import Store

FORMAT = "tprprobe-names"
MANIFEST, LABELS = NAMES.file, "labels.parquet"
COLUMNS = columns(text="model vectors site", whole="k", number="layer head")  # of all tables
PART_TABLES = ("names", "agreement", "decoding", "ones")  # part by part
TABLES = (*PART_TABLES, "summary")
# fields with others from which they may follow: agreement is measured beyond these, too
CONDITIONS = (("polarity", ("kind", "place")), ("polarity", ("kind", "place", "surface")))

Clustering = tuple[naming_targets.NamingTarget, int]  # and into how many


@dataclass(frozen=True, eq=False)
class Naming:
    """The result of a run of naming: names of all heads' clusters, beside their controls.

    Every table has the columns model, vectors, site, layer, head and k; see [columns](tutorials/roles.md#columns-of-names).

    Attributes:
        names: One row per cluster.
        agreement: One row per clustering, gold field, measure and null.
        decoding: One row per clustering, subset and predictor: how well polarity is decoded.
        ones: One row per clustering and polarity: how well a cluster is the ones' place.
        summary: One row per clustering.
        facts: Facts about the questions, and ``missing``: the controls that the store does not have.

    Examples:
        >>> naming = tp.load_run("runs/names")["."]  # doctest: +SKIP
        >>> naming.clusters[["site", "head", "name"]]  # doctest: +SKIP
    """

    names: pd.DataFrame
    agreement: pd.DataFrame
    decoding: pd.DataFrame
    ones: pd.DataFrame
    summary: pd.DataFrame
    facts: dict[str, Any]

    @property
    def heads(self) -> pd.DataFrame:
        """The rows of ``summary`` of the vectors that were asked for, in the trained model."""
        return self._asked(self.summary)

    @property
    def clusters(self) -> pd.DataFrame:
        """The rows of ``names`` of the same."""
        return self._asked(self.names)

    @property
    def asked(self) -> pd.DataFrame:
        """The rows of ``names`` of the vectors that were asked for, in the trained model and its baseline models."""
        return self.names[self.names["vectors"] == self.summary["vectors"].iloc[0]]

    @property
    def comparison(self) -> str:
        """How many of ``clusters`` have a name, how many in the baseline models, and what that means, in one sentence."""
        return compare_names(count_by_model(self.asked))

    def _asked(self, table: pd.DataFrame) -> pd.DataFrame:
        kind = self.summary["vectors"].iloc[0]
        return table.loc[(table["vectors"] == kind) & (table["model"] == TRAINED)]

    def __repr__(self) -> str:
        return f"Naming({self.comparison} .clusters, .summary and other tables)"

    def _repr_html_(self) -> str:
        columns = ["site", "head", "k", "named", "clusters", "coverage", "stability"]
        note = "Controls are in .summary, the names in .clusters."
        return as_html(self.comparison, self.heads[columns], note)

    def as_dict(self) -> dict[str, object]:
        """Facts, summary and names in JSON types; what is missing is None.

        Returns:
            ``facts``, and the rows of ``summary`` and ``names``.
        """
        tables = {"summary": self.summary, "names": self.names}
        without_nan = {name: t.astype(object).where(t.notna(), None) for name, t in tables.items()}
        rows = {name: table.to_dict("records") for name, table in without_nan.items()}
        return {"facts": self.facts, **rows}


def name_all(
    store: Store,
    patterns: str | Sequence[str],
    k: int | Sequence[int],
    raw: bool,
    seed: int,
    baseline: Store | None,
    out: str | os.PathLike[str] | None,
    resume: bool,
    progress: Progress,
    projections: int | None,
) -> Naming:
    """The names that :func:`tprprobe.analyses.naming.name_all` gives to clusters of arithmetic."""
    stores = {TRAINED: store, **store.twins} | (
        {naming_targets.BASELINE: baseline} if baseline else {}
    )
    golds = {model: read_gold(model_store) for model, model_store in stores.items()}
    ks = [k] if isinstance(k, int) else list(dict.fromkeys(k))
    settings = {"format": FORMAT, "sites": store.select(patterns), "k": ks, "raw": raw}
    settings |= {"seed": seed, "projections": projections, "tprprobe": version("tprprobe")}
    settings["stores"] = {model: of_model.fingerprint for model, of_model in stores.items()}
    with kept(out) as folder:
        run = KeptRun.open(folder, settings, resume, MANIFEST)
        if not run.is_done:
            targets = naming_targets.find_targets(store, patterns, baseline, seed, projections)
            plan = NamingPlan(targets, ks, settings["sites"], golds, raw, seed, run)
            for job in progress(plan.parts()):
                job.finish()
            tables = plan.tables()
            numbers = (tables["names"], tables["agreement"], tables["decoding"])
            tables["summary"] = summarize_clusterings(*numbers)
            origin = {
                "model_name": store.facts.model.name or "",
                "data": store.facts.data.name or "",
            }
            tables["names"] = tables["names"].assign(**origin)
            facts = count_questions(golds[TRAINED].tokens)
            facts["missing"] = naming_targets.list_missing(targets, golds)
            held_out = list_held_out(((model, gold.tokens) for model, gold in golds.items()), seed)
            files = {FILE: stack_tables(tables), LABELS: plan.labels(), **held_out}
            run.finish(files, {"facts": facts})
        return load_names(folder)


def load_names(folder: str | os.PathLike[str]) -> Naming:
    """The result of a finished run, read from its folder."""
    folder = Path(folder)
    facts = read_json(folder / MANIFEST).get("facts")
    if not isinstance(facts, dict):
        raise InputError(f"{folder / MANIFEST} has no facts: name again")
    if (folder / "names.csv").is_file():  # of version 0.3 and before
        tables = {name: _read_old(folder / f"{name}.csv") for name in TABLES}
    else:
        tables = load_view(folder, lambda run: {name: view_table(run, name) for name in TABLES})
    return Naming(**tables, facts=facts)


def _read_old(file: Path) -> pd.DataFrame:
    table = read_table(file, COLUMNS, "name again")
    with as_input_error(f"{file}: a head is no whole number", "name again"):
        return table.astype({"head": "Int64"})


@dataclass(frozen=True, eq=False)
class NamingPlan:
    """Vectors to cluster, numbers of clusters, and the run that has the parts; ``golds`` is the gold structure of every model's
    store. Labels of the ``asked_sites`` are also named and decoded after they are shuffled within questions.
    """

    targets: Sequence[naming_targets.NamingTarget]
    ks: Sequence[int]
    asked_sites: Sequence[str]
    golds: Mapping[str, Gold]
    raw: bool
    seed: int
    run: KeptRun

    def parts(self) -> list[Part]:
        """All parts, in an order in which each finds what it needs."""
        compared = [
            self.run.part(
                ".".join([model, field, *conditions]),
                partial(self._compare, model, field, conditions),
            )
            for model, gold in self.golds.items()
            for field, conditions in (*((str(name), ()) for name in gold.described), *CONDITIONS)
        ]
        return [*(part for part, _ in self._clustered), *compared]

    def tables(self) -> dict[str, pd.DataFrame]:
        """The PART_TABLES tables, from all parts once they are finished; names are corrected in families."""
        tables = {name: join_parts(self.parts(), name) for name in PART_TABLES}
        families = tables["names"].groupby(["model", "vectors"], sort=False)
        tables["names"] = pd.concat([decide(names) for _, names in families], ignore_index=True)
        return tables

    def labels(self) -> pd.DataFrame:
        """The cluster of every token, one column per clustering of the site's own vectors."""
        labels = {
            f"{target.source.site} {target.head} {k}": labels
            for (target, k), labels in self._labels.items()
            if self._is_asked(target)
        }
        return pd.DataFrame(labels)

    def _is_asked(self, target: naming_targets.NamingTarget) -> bool:
        is_trained = target.model == TRAINED and target.vectors != naming_targets.RANDOM
        return is_trained and target.source.site in self.asked_sites

    @cached_property
    def _clustered(self) -> list[tuple[Part, list[Clustering]]]:
        """The parts that cluster, with their clusterings: those of all heads of a site together, as small files take time."""
        clusterings: dict[str, list[Clustering]] = {}
        for target, k in product(self.targets, self.ks):
            name = f"{target.model}.{target.source.site}.{target.vectors}"
            clusterings.setdefault(name, []).append((target, k))
        return [
            (self.run.part(name, partial(self._cluster_all, group)), group)
            for name, group in clusterings.items()
        ]

    @cached_property
    def _labels(self) -> dict[Clustering, Int[np.ndarray, " token"]]:
        labels: dict[Clustering, Int[np.ndarray, " token"]] = {}
        for part, clusterings in self._clustered:
            labels |= zip(clusterings, part.read("labels").to_numpy().T, strict=True)
        return labels

    def _cluster_all(self, clusterings: Sequence[Clustering]) -> Tables:
        tables = [self._cluster(*clustering) for clustering in clusterings]
        joined = {name: pd.concat([t[name] for t in tables]) for name in tables[0]}
        labels = {str(i): table["labels"]["label"] for i, table in enumerate(tables)}
        return joined | {"labels": pd.DataFrame(labels)}

    def _cluster(self, target: naming_targets.NamingTarget, k: int) -> Tables:
        clusters, runs = run_all(target.source, k, self.seed, self.raw)
        place = {**target.place, "k": k}
        tables = self._read(clusters.labels, runs, place | {"stability": clusters.stability})
        if self._is_asked(target):
            rng = np.random.default_rng(self.seed)
            order = permute_within(self.golds[TRAINED].questions, rng)
            shuffled = self._read(
                clusters.labels[order], runs[:, order], place | {"vectors": naming_targets.SHUFFLED}
            )
            tables = {name: pd.concat([tables[name], shuffled[name]]) for name in tables}
        described = clusters.summary.loc[tables["names"]["cluster"]]
        further = described[["recovery", "distinctive"]].assign(commonest=described["top"])
        columns = {name: column.to_numpy() for name, column in further.items()}
        names = tables["names"].assign(unit="characters", **columns)
        return {**tables, "names": names, "labels": pd.DataFrame({"label": clusters.labels})}

    def _read(
        self,
        labels: Int[np.ndarray, " token"],
        runs: Int[np.ndarray, "run token"],
        place: Mapping[str, object],
    ) -> Tables:
        """The candidates of the best run's clusters, and what those of all runs tell of polarity."""
        gold, runs = self.golds[str(place["model"])], runs.astype(int)
        groups = gold.questions, self.seed, gold.origin.sequences
        names = score_candidates(labels.astype(int), gold.lattice, *groups)
        clustering = (runs, gold.tokens, gold.questions, self.seed)
        tables = {"names": names, "decoding": decode_polarity(*clustering)}
        tables["ones"] = score_ones(*clustering)
        return {name: _placed(table, [place] * len(table)) for name, table in tables.items()}

    def _compare(self, model: str, field: str, conditions: Sequence[str]) -> Tables:
        gold = self.golds[model]
        clusterings = [clustering for clustering in self._labels if clustering[0].model == model]
        labels = np.stack([self._labels[clustering] for clustering in clusterings], 1)
        nulls = {"question": gold.questions, "character": pd.factorize(gold.tokens["token"])[0]}
        if conditions:
            nulls = {"given": np.zeros(len(labels), int), "question": gold.questions}
        table = agreement(labels, gold.described, field, nulls, conditions, seed=self.seed)
        if table.empty:
            return {}
        places = [{**target.place, "k": k} for target, k in clusterings]
        rows = [places[i] for i in table.pop("clustering")]
        return {"agreement": _placed(table, rows)}


def _placed(table: pd.DataFrame, places: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    columns: dict[str, Any] = {name: [place[name] for place in places] for name in places[0]}
    columns["head"] = pd.array(columns["head"], "Int64")
    return pd.DataFrame(columns | dict(table.items()))
