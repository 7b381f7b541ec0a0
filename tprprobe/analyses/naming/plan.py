"""The steps of a run of naming: one a clustering, and one a field that all are compared with."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product

import numpy as np
import pandas as pd
from jaxtyping import Int

from tprprobe.analyses.clustering.kmeans import run_all
from tprprobe.analyses.naming.names import Gold, decide, score_candidates
from tprprobe.analyses.naming.partition_agreement import agreement, conditional_agreement
from tprprobe.analyses.naming.polarity import decode_polarity, score_ones
from tprprobe.analyses.naming.vector_sets import RANDOM, SHUFFLED, TRAINED, NamingTarget
from tprprobe.files.runs import KeptRun, Part, Tables, join_parts
from tprprobe.statistics import permute_within

SEEDS = 3  # of k-means
GIVEN = (("kind", "place"), ("kind", "place", "surface"))  # beside which polarity must say more
TABLES = ("names", "agreement", "decoding", "ones")

Clustering = tuple[NamingTarget, int]  # and into how many


@dataclass(frozen=True, eq=False)
class NamingPlan:
    """The plan of a run of naming: vectors to cluster, numbers of clusters, and the run that has the parts.

    ``golds`` has the gold structure of every model's store; labels of the vectors that are ``meant``
    are also named and decoded after they are shuffled within questions.
    """

    targets: Sequence[NamingTarget]
    ks: Sequence[int]
    meant: Sequence[str]
    golds: Mapping[str, Gold]
    raw: bool
    seed: int
    run: KeptRun

    def parts(self) -> list[Part]:
        """All parts, in an order in which each finds what it needs."""
        compared = [
            self.run.part(f"{model}.{field}", partial(self._compare, model, field))
            for model, gold in self.golds.items()
            for field in (*map(str, gold.described), *map(" ".join, GIVEN))
        ]
        return [*self._clustered.values(), *compared]

    def tables(self) -> dict[str, pd.DataFrame]:
        """The TABLES, from all parts once they are finished; names are corrected in families."""
        found = {name: join_parts(self.parts(), name) for name in TABLES}
        families = found["names"].groupby(["model", "vectors"], sort=False)
        found["names"] = pd.concat([decide(each) for _, each in families], ignore_index=True)
        return found

    def labels(self) -> pd.DataFrame:
        """The cluster of every token, one column per clustering of the site's own vectors."""
        return pd.DataFrame(
            {
                f"{target.source.site} {target.head} {k}": labels
                for (target, k), labels in self._labels.items()
                if self._is_meant(target)
            }
        )

    def _is_meant(self, target: NamingTarget) -> bool:
        own = target.model == TRAINED and target.vectors != RANDOM
        return own and target.source.site in self.meant

    @cached_property
    def _clustered(self) -> dict[Clustering, Part]:
        """The part of every clustering."""
        return {
            (of, k): self.run.part(
                f"{of.model}.{of.source.site}.{of.vectors}.{of.head}.{k}",
                partial(self._cluster, of, k),
            )
            for of, k in product(self.targets, self.ks)
        }

    @cached_property
    def _labels(self) -> dict[Clustering, Int[np.ndarray, " token"]]:
        """The labels of all clusterings, once these are found."""
        parts = self._clustered.items()
        return {each: part.read("labels")["label"].to_numpy() for each, part in parts}

    def _cluster(self, target: NamingTarget, k: int) -> Tables:
        """The labels of one clustering, and what can be said of it alone."""
        found, runs = run_all(target.source, k, self.seed, self.raw, SEEDS)
        place = {**target.place, "k": k}
        tables = self._read(found.labels, runs, place | {"stability": found.stability})
        if self._is_meant(target):
            rng = np.random.default_rng(self.seed)
            order = permute_within(self.golds[TRAINED].questions, rng)
            shuffled = self._read(
                found.labels[order], runs[:, order], place | {"vectors": SHUFFLED}
            )
            tables = {name: pd.concat([tables[name], shuffled[name]]) for name in tables}
        return {**tables, "labels": pd.DataFrame({"label": found.labels})}

    def _read(
        self,
        labels: Int[np.ndarray, " token"],
        runs: Int[np.ndarray, "run token"],
        place: Mapping[str, object],
    ) -> Tables:
        """The candidates of the best run's clusters, and what those of all runs tell of polarity."""
        gold = self.golds[str(place["model"])]
        runs = runs.astype(int)
        found = {
            "names": score_candidates(labels.astype(int), gold.lattice, gold.questions, self.seed),
            "decoding": decode_polarity(runs, gold.tokens, gold.questions, self.seed),
            "ones": score_ones(runs, gold.tokens, gold.questions, self.seed),
        }
        return {name: _placed(table, [place] * len(table)) for name, table in found.items()}

    def _compare(self, model: str, field: str) -> Tables:
        """The agreement of all clusterings of a model with one field, or with polarity given other fields."""
        gold = self.golds[model]
        clusterings = [each for each in self._clustered if each[0].model == model]
        labels = np.stack([self._labels[each] for each in clusterings], 1)
        nulls = {"question": gold.questions}
        if field in gold.described:
            nulls["character"] = gold.characters
            found = agreement(labels, gold.described.loc[:, [field]], nulls, seed=self.seed)
        else:
            nulls = {"given": np.zeros(len(labels), int), **nulls}
            found = conditional_agreement(
                labels, gold.described, "polarity", field.split(), nulls, seed=self.seed
            )
        if found.empty:
            return {}
        places = [{**target.place, "k": k} for target, k in clusterings]
        at = [places[i] for i in found.pop("clustering")]
        return {"agreement": _placed(found, at)}


def _placed(table: pd.DataFrame, places: Sequence[Mapping[str, object]]) -> pd.DataFrame:
    """The table, with the columns in front that identify the vectors."""
    columns = pd.DataFrame(places).astype({"head": "Int64"}, errors="ignore")
    return pd.concat([columns, table], axis=1)
