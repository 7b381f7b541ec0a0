"""The name of a cluster: the shortest conjunction of gold predicates that explains it.

Chosen on one half of the questions and scored on the other, by the measures of ``estimators.clusters.names``, with 95 % bootstrap
intervals over questions. p: for every question, how many more tokens of the cluster the predicate holds for than if the question's
labels were dealt anew, d_q; the share of random signs with which Σ ±d is as large as Σ d (Fisher 1935), however the tokens of a
question depend on each other. It is at most exp(−z²/2) with z = Σ d / √Σ d² (Efron 1969), which stands where random signs
are too few to tell. q: Benjamini and Hochberg's false discovery rate among the clusters for which a predicate was chosen; the
predicates that were not chosen need no correction, since the questions of the test had no part in the choice.
Source: schlag §5.1 names clusters by eye.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int, Shaped

from tprprobe.analyses.clustering import Clusters
from tprprobe.analyses.naming.fields import (
    Field,
    build_tokens_at_places,
    describe,
    label_words,
    list_exact,
    list_labels,
)
from tprprobe.errors import InputError
from tprprobe.estimators.clusters.names import (
    LIFT,
    PRECISION,
    Lattice,
    build_lattice,
    choose_names,
    count_by_group,
    join_lattices,
    measure_names,
)
from tprprobe.evaluation import splits
from tprprobe.gold import join
from tprprobe.gold.structure import find_structure
from tprprobe.statistics import Row, adjust, bounds, divide, replicate_totals, widen_at_border
from tprprobe.store import Store
from tprprobe.store.layout import SAMPLE
from tprprobe.store.reader import takes_paths

RATE = 0.01  # of false discoveries
REPLICATES = 1000
SHARES = ("precision", "recall", "f05")
MIN_DOCUMENTS = 10  # with a cluster, for an interval of its measures
FLIPS, AT_ONCE = 5000, 500  # draws of random signs
UNNAMED = "unnamed"
COMMON = "no label is more frequent in it than elsewhere"
NOTHING_TO_NAME_BY = "neither exact labels of words (of a treebank, or extract --labels TASK=FILE; a tagger's are not exact) nor questions of arithmetic"

Labels = Int[np.ndarray, " token"]
Questions = Shaped[np.ndarray, " token"]
Texts = splits.Sequences | None
# Of every question or in total, tokens in: cluster and predicate together, each alone, and all.
Sums = Float[np.ndarray, "count *question cluster"]


def name_clusters(
    labels: Labels, lattice: Lattice, questions: Questions, seed: int = 0, sequences: Texts = None
) -> pd.DataFrame:
    """One row per cluster: cluster, name, the measures with _low and _high, p_value, q_value, …

    `candidate` is the predicate chosen on the first half, `name` is it if it holds on the second, else `unnamed`.
    """
    return decide(score_candidates(labels, lattice, questions, seed, sequences))


def score_candidates(
    labels: Labels, lattice: Lattice, questions: Questions, seed: int = 0, sequences: Texts = None
) -> pd.DataFrame:
    """The candidate of every cluster with all its measures but q, and how many there were; none is chosen on
    ``sequences`` that it is scored on.
    """
    tested = ~splits.halve_documents(questions, seed)
    chosen_on = ~tested if sequences is None else splits.leave_out(~tested, tested, sequences)
    n_clusters = int(labels.max()) + 1
    strongest, precision = choose_names(
        lattice, lattice.kinds[chosen_on], labels[chosen_on], n_clusters
    )
    predicate_ids = np.where(precision >= PRECISION, strongest, -1)
    holds = lattice.members[predicate_ids].toarray().astype(bool)[:, lattice.kinds[tested]]
    question = np.unique(questions[tested], return_inverse=True)[1]
    sums = count_by_group(holds, labels[tested], question)
    names, lacks = np.array([*lattice.names, ""], object), predicate_ids < 0
    n_documents = (sums[1] > 0).sum(0)
    measures = {
        name: np.where(lacks, np.nan, values)
        for name, values in _with_intervals(sums, n_documents, seed).items()
    }
    columns = {"cluster": np.arange(n_clusters), "candidate": names[predicate_ids]}
    columns |= {"size": sums[1].sum(0).astype(int), "coverage": sums[1].sum(0) / sums[3].sum(0)}
    columns |= {"documents": n_documents}
    for name, values in measures.items():  # a bootstrap of few documents is no interval
        is_end = name.endswith(("_low", "_high"))
        columns[name] = np.where(is_end & (n_documents < MIN_DOCUMENTS), np.nan, values)
    columns |= {"p_value": p_values(sums, ~lacks, seed), "predicates": len(lattice.names)}
    reasons = [
        f"{name}: precision {_round_down(share)}, {PRECISION:g} needed" if name else COMMON
        for name, share in zip(names[strongest], precision, strict=True)
    ]
    columns["unnamed_because"] = np.where(lacks, reasons, "")
    return pd.DataFrame(columns)


def list_held_out(models: Iterable[tuple[str, pd.DataFrame]], seed: int) -> dict[str, pd.DataFrame]:
    """The samples that names are measured on, of every model with its tokens, as a file."""
    tables = []
    for model, tokens in models:
        chosen_on = splits.halve_documents(splits.read_provenance(tokens).documents, seed)
        tables.append(splits.list_samples(tokens, ~chosen_on, model))
    return {"held_out.csv": pd.concat(tables, ignore_index=True)}


def decide(scored: pd.DataFrame, rate: float = RATE) -> pd.DataFrame:
    """The candidates with names and q-values, corrected for the number of clusters that have a candidate, and why others have none."""
    is_tested = scored["candidate"] != ""
    q = np.ones(len(scored))
    q[is_tested] = adjust(scored.loc[is_tested, "p_value"].to_numpy())
    holds = (q <= rate) & (scored["precision"] >= PRECISION) & (scored["lift"] >= LIFT)
    table = scored.assign(q_value=q)
    table.insert(1, "name", scored["candidate"].where(holds, UNNAMED))
    reasons = [_explain_unnamed(row) for row in table.to_dict("records")]
    table = table.drop(columns="unnamed_because")
    table.insert(2, "unnamed_because", reasons)
    return table


def _explain_unnamed(row: Row) -> str:
    """A cluster's strongest candidate, and what it lacks; empty if the cluster has a name."""
    if row["name"] != UNNAMED:
        return ""
    candidate, n_documents = row["candidate"], row["documents"]
    if n_documents < 2:
        tokens = "its held-out tokens are of one document" if n_documents else "no held-out tokens"
        return f"{candidate or 'no label'}: {tokens}"
    if not candidate:
        return row["unnamed_because"]
    if row["precision"] < PRECISION:
        return f"{candidate}: precision {_round_down(row['precision'])}, {PRECISION:g} needed"
    if row["lift"] < LIFT:
        return f"{candidate}: lift {_round_down(row['lift'])}, {LIFT:g} needed"
    q = max(row["q_value"], 1.01 * RATE)  # three digits never write the limit itself
    return f"{candidate}: in {n_documents} documents, not certain (q {q:#.3g}, {RATE:g} needed)"


def _round_down(share: float) -> str:
    """Two digits, never those of a limit that the share stays below."""
    return f"{np.floor(100 * share) / 100:.2f}"


def _with_intervals(
    sums: Sums, n_documents: Int[np.ndarray, " cluster"], seed: int
) -> dict[str, Float[np.ndarray, " cluster"]]:
    stacked = np.concatenate(sums, 1)
    values = measure_names(*np.split(stacked.sum(0, keepdims=True), 4, 1))
    replicates = measure_names(*np.split(replicate_totals(stacked, REPLICATES, seed), 4, 1))
    lows, highs = bounds(np.stack([replicates[name] for name in values], 1), len(stacked))
    columns = {}
    for (name, value), *ends in zip(values.items(), lows, highs, strict=True):
        ends = widen_at_border(np.array(ends), n_documents) if name in SHARES else ends
        columns |= {name: value[0], f"{name}_low": ends[0], f"{name}_high": ends[1]}
    return columns


def p_values(
    sums: Sums, has_candidate: Bool[np.ndarray, " cluster"], seed: int
) -> Float[np.ndarray, " cluster"]:
    """The share of random signs for which Σ ±d over questions is Σ d or more, or its bound if that is smaller."""
    joint, clustered, described, tokens = sums
    excess = joint - clustered * described / tokens
    total = excess.sum(0)
    z = np.nan_to_num(divide(total, np.sqrt(np.square(excess).sum(0))))
    p = np.where(has_candidate & (z > 0), np.exp(-0.5 * np.square(z)), 1.0)
    if (unclear := (p > 1 / FLIPS) & (p < 1)).any():
        rng, hits = np.random.default_rng(seed), np.ones(unclear.sum())
        for _ in range(FLIPS // AT_ONCE):  # Σ ±d ≥ Σ d if the sum over one sign is Σ d or more
            one_sign = rng.integers(0, 2, (AT_ONCE, len(excess)), np.int8).astype(float)
            hits += (one_sign @ excess[:, unclear] >= total[unclear] - 1e-9).sum(0)
        p[unclear] = np.minimum(p[unclear], hits / (1 + FLIPS))
    return p


@dataclass(frozen=True, eq=False)
class Gold:
    """The gold structure of a store's source tokens: as columns, in words, and as predicates."""

    tokens: pd.DataFrame
    described: pd.DataFrame
    lattice: Lattice

    @cached_property
    def origin(self) -> splits.Provenance:
        """The document and the sequence of every token."""
        return splits.read_provenance(self.tokens)

    @property
    def questions(self) -> Int[np.ndarray, " token"]:
        """The number of every token's question or document."""
        return self.origin.documents


def read_gold(store: Store) -> Gold:
    """The gold structure of the source tokens of a store of arithmetic questions."""
    tokens = store.tokens
    try:
        joined = join(tokens.loc[tokens["side"] == "source"].reset_index(drop=True))
    except InputError as error:
        raise InputError(f"{store.path} has {NOTHING_TO_NAME_BY} ({error})") from error
    if not joined["kind"].eq("op").any():  # numbers alone are no arithmetic
        raise InputError(f"{store.path} has {NOTHING_TO_NAME_BY}")
    described = find_structure().describe(joined)
    return Gold(joined, described, build_lattice(described))


def find_arithmetic(store: Store) -> Gold | None:
    """What :func:`read_gold` finds; None of other data."""
    try:
        return read_gold(store)
    except InputError:
        return None


def read_fields(store: Store, side: str) -> Gold:
    """What names the tokens of a side: the gold structure of arithmetic; of other texts places and tokens, beside labels of words."""
    labels = _read_labels(store, side, list_labels(store))
    if labels is None and side == "source" and (gold := find_arithmetic(store)):
        return gold
    tokens = store.tokens.loc[store.tokens["side"] == side].reset_index(drop=True)
    lattice = build_tokens_at_places(tokens)
    if labels is None:
        return Gold(tokens, pd.DataFrame(), lattice)
    return replace(labels, lattice=join_lattices(labels.lattice, lattice))


def _read_labels(store: Store, side: str, fields: Mapping[str, Field]) -> Gold | None:
    """The labels of the tokens of a side; None where none has one."""
    if side == SAMPLE:
        raise InputError(
            f"{store.path}: names are of tokens, and this site has one vector for every text"
        )
    tokens = store.tokens.loc[store.tokens["side"] == side].reset_index(drop=True)
    tokens = tokens.assign(**{name: label_words(tokens, name) for name in fields})
    fields = {name: field for name, field in fields.items() if tokens[name].notna().any()}
    if not fields:
        return None
    described = describe(tokens, fields)
    return Gold(tokens, described, build_lattice(described))


def read_structure(store: Store, side: str) -> Gold:
    """The exact labels of the tokens of a side; where there are none, what :func:`read_gold` finds."""
    if labels := _read_labels(store, side, list_exact(store)):
        return labels
    if side != "source":
        raise InputError(
            f"{store.path} has no labels of its {side} tokens: give a site of source tokens"
        )
    return read_gold(store)


@takes_paths
def name_roles(store: Store, roles: Clusters, seed: int = 0) -> pd.DataFrame:
    """The names of a head's clusters, chosen on half of the questions and scored on the other half.

    A name is the shortest conjunction of gold predicates that explains a cluster (`digit ∧ ones ∧ denominator`; of labelled
    words, exact or guessed, `NN ∧ nsubj ∧ ARG0`; of any text but arithmetic `place 3 from the left` and ‘token’).
    It needs a precision of 0.7, a lift of 1.5 and q of at most 1 %; else the cluster is `unnamed`.
    ``tprprobe name`` names the clusters of all heads, beside controls.

    Args:
        store: The store.
        roles: Clusters of a site of it.
        seed: Seed of the halves and of bootstrap intervals.

    Returns:
        One row per cluster; see [columns](tutorials/roles.md#columns-of-names).

    Raises:
        InputError: The clusters are of another store, of vectors of texts, or of fewer than four samples.

    Source: schlag Sec. 5.1, where clusters are named by eye.

    Examples:
        >>> tp.name_roles(store, roles)[["cluster", "name", "precision", "recall"]].shape
        (8, 4)
    """
    gold = read_fields(store, store.side(roles.site))
    if len(roles.labels) != len(gold.tokens):
        raise InputError(
            f"clusters of {len(roles.labels)} tokens, but {store.path} has {len(gold.tokens)}: "
            "give the store that they were found in"
        )
    sequences = gold.origin.sequences
    names = name_clusters(roles.labels, gold.lattice, gold.questions, seed, sequences)
    summary = roles.summary.set_index("cluster").reindex(names["cluster"])
    tokens = names.assign(commonest=summary["top"].to_numpy())
    if "recovery" in summary:  # not of version 0.4.0 and before
        tokens["recovery"] = summary["recovery"].to_numpy()
    return tokens
