"""Question a: is the most used sentence encoder a bag of words?

Mean vectors of sentences that say who does what to whom in several clauses. What do words explain, where
does the exchange of agent and patient point, and what does a search engine rank first?
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy import stats

import tprprobe as tp
from studies.real.clauses import Clauses, read_clauses
from studies.real.outcomes import estimate, publish
from tprprobe.analyses.decomposition import TPDecomposition
from tprprobe.files.runs import Part
from tprprobe.statistics import Interval, bootstrap, bootstrap_mean, group_sums, read_interval

FRAME, SEEDS, TWINS = "clauses", (0, 1), 5
SITES, POOL = ("encoder.embedding", "encoder.*.hidden"), "mean"
ENDS, TESTED = 2, 3  # symbols around a sentence; one pair of persons of three is tested
SCHEMES = ("role", "place")
Vectors = Float[np.ndarray, "sentence d_model"]


def read_vectors(name: str, data: Any, out: Path, seed: int = 0) -> dict[str, Vectors]:
    """The mean vectors of sentences at every layer, by site, from a store that is made if it is not there."""
    store = tp.extract(
        tp.load_model(name, seed=seed), data, SITES, out, control=False, pool=POOL, resume=True
    )
    return {site: store.read(site).astype(float) for site in store.sites}


def measure_site(clauses: Clauses, vectors: Vectors, seed: int) -> dict[str, pd.DataFrame]:
    """Tables of one layer: fits, exchanges (a row a sentence that is tested) and searches (a row a query and
    clause).
    """
    rng = np.random.default_rng(seed)
    tested = rng.permutation(clauses.persons.max() + 1)[clauses.persons] % TESTED == 0
    return {
        "bags": _explain(clauses, vectors, tested),
        "exchanges": _exchange(clauses, vectors, tested, seed),
        "searches": _search(clauses, vectors),
    }


def _shuffled(clauses: Clauses, seed: int) -> list[list[tuple[str, str]]]:
    """The same with the two persons' roles in either order, by chance."""
    rng, pairs = np.random.default_rng(seed), []
    for words, roles in zip(clauses.words, clauses.roles(), strict=True):
        persons = [r for r in roles if r in ("agent", "patient")]
        order = iter(rng.permutation(persons))
        pairs.append(
            [
                (w, str(next(order)) if r in persons else r)
                for w, r in zip(words, roles, strict=True)
            ]
        )
    return pairs


def _explain(
    clauses: Clauses, vectors: Vectors, tested: Bool[np.ndarray, " sentence"]
) -> pd.DataFrame:
    """Errors of tested sentences by a fit of words."""
    pairs = clauses.pairs(None)
    error = ((vectors - _encode(pairs, pairs, vectors, tested, "bag")) ** 2).sum(1)
    total = ((vectors - vectors[~tested].mean(0)) ** 2).sum(1)
    columns = {"set": clauses.sets, "error": error, "total": total}
    return pd.DataFrame(columns)[tested]


def _encode(
    pairs: Any,
    decoded_pairs: Any,
    vectors: Vectors,
    tested: Bool[np.ndarray, " sentence"],
    family: str,
) -> Vectors:
    """The vectors that a fit gives to all sentences. A mean of n tokens is fitted as a sum, n times the mean."""
    lengths = np.array([[len(pair_list) + ENDS] for pair_list in pairs])
    train = [p for p, t in zip(pairs, tested, strict=True) if not t]
    fit = TPDecomposition(family=family, random_state=0)
    return fit.fit(train, (vectors * lengths)[~tested]).encode(decoded_pairs) / lengths


def _exchange(
    clauses: Clauses, vectors: Vectors, tested: Bool[np.ndarray, " sentence"], seed: int
) -> pd.DataFrame:
    """Cosines of real exchanges with fitted ones, of sentences whose persons no fit has seen together."""
    real = vectors - vectors[clauses.exchange]
    scale = ((vectors - vectors.mean(0)) ** 2).sum(1).mean()
    rows = {
        "set": clauses.sets[tested],
        "share": ((real**2).sum(1) / 2 / scale)[tested],
    }
    designs = {scheme: clauses.pairs(scheme) for scheme in SCHEMES} | {
        "shuffled": _shuffled(clauses, seed)
    }
    for name, pairs in designs.items():
        pairs_asked = clauses.pairs("role") if name == "shuffled" else pairs
        encoded = _encode(pairs, pairs_asked, vectors, tested, "saturated")
        exchanged = encoded - encoded[clauses.exchange]
        rows[name] = _cosine(real, exchanged)[tested]
    return pd.DataFrame(rows)


def _cosine(vectors: Vectors, second: Vectors) -> Float[np.ndarray, " sentence"]:
    norms = np.linalg.norm(vectors, axis=1) * np.linalg.norm(second, axis=1)
    return (vectors * second).sum(1) / np.maximum(norms, 1e-12)


def _search(clauses: Clauses, vectors: Vectors) -> pd.DataFrame:
    """Whether the paraphrase of a query in another clause is nearer than the exchange in that clause, and than
    the exchange in the query's own.
    """
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    codes, names = pd.factorize(np.array(clauses.clauses, object))
    frames: list[pd.DataFrame] = []
    for query, pool_clause in (
        (q, o) for q in range(len(names)) for o in range(len(names)) if q != o
    ):
        queries, pool = np.flatnonzero(codes == query), np.flatnonzero(codes == pool_clause)
        near = unit[queries] @ unit[pool].T
        keys = [(clauses.sets[i], names[pool_clause], clauses.content[i]["agent"]) for i in queries]
        paraphrase = np.searchsorted(pool, [clauses.place_of[key] for key in keys])
        swap = np.searchsorted(pool, clauses.exchange[pool[paraphrase]])
        indices = np.arange(len(queries))
        exchange_cosine = (unit[queries] * unit[clauses.exchange[queries]]).sum(1)
        frames.append(
            pd.DataFrame(
                {
                    "query": names[query],
                    "clause": names[pool_clause],
                    "set": clauses.sets[queries],
                    "before_exchange": near[indices, paraphrase] > near[indices, swap],
                    "own_exchange_first": exchange_cosine > near[indices, paraphrase],
                }
            )
        )
    return pd.concat(frames, ignore_index=True)


def measure_model(name: str, seed: int, twin: int | None, runs: Path) -> Iterator[pd.DataFrame]:
    """The summary of every layer of a model (or of its twin) with the words of a seed."""
    clauses = read_clauses(FRAME, seed, runs / "frames")
    kind = "" if twin is None else f"permuted-{twin}"
    folder = runs / f"seed-{seed}" / (kind or "trained")
    full_name = f"permuted:{name}" if kind else name
    store = folder / f"{FRAME}-store"
    for site, values in read_vectors(full_name, clauses.data, store, twin or 0).items():
        job = Part(folder / f"{FRAME}-{site}", partial(measure_site, clauses, values, seed))
        job.finish()
        yield summarize(job).assign(site=site, seed=seed, twin=kind)


def summarize(job: Part) -> pd.DataFrame:
    """A row a measure of one layer, with intervals over sets of words."""
    bags = job.read("bags")
    sums = group_sums(bags[["error", "total"]].to_numpy(), bags["set"].to_numpy())
    value = bootstrap(sums, lambda t: 1 - t[:, 0] / t[:, 1])
    measured: list[dict[str, Any]] = [{"measure": "R² words", **value.columns("value")}]
    table = job.read("exchanges")
    values = {
        "share of exchange": table["share"],
        "cosine role": table["role"],
        "cosine place": table["place"],
        "cosine shuffled": table["shuffled"],
        "role − shuffled": table["role"] - table["shuffled"],
        "role − place": table["role"] - table["place"],
    }
    means = [(name, numbers, table["set"]) for name, numbers in values.items()]
    table = job.read("searches")
    plain = table[(table["query"] == ACTIVE) & (table["clause"] == PASSIVE)]
    for rows, where in ((table, ""), (plain, ", active and passive")):
        for name in ("before_exchange", "own_exchange_first"):
            means.append((f"{name}{where}", rows[name].astype(float), rows["set"]))
    for name, numbers, sets in means:
        value = bootstrap_mean(numbers.to_numpy(), sets.to_numpy())
        measured.append({"measure": name, **value.columns("value")})
    return pd.DataFrame(measured)


ACTIVE, PASSIVE = "the AGENT ACTION the PATIENT .", "the PATIENT was ACTION by the AGENT ."


def estimate_all(table: pd.DataFrame) -> pd.DataFrame:
    """The estimates of the predictions on question a, by seed."""
    estimates = []
    first_site, final_site = (
        "encoder.0.hidden",
        max(s for s in table["site"] if s.endswith(".hidden")),
    )

    def value(measure: str, site: str, seed: int, twin: str = "") -> Interval:
        rows = table.query("measure == @measure and site == @site and seed == @seed")
        return read_interval(rows[rows["twin"].fillna("") == twin].iloc[0])

    for seed in SEEDS:
        values = {
            "a-bag": value("R² words", final_site, seed),
            "a-agent-patient": value("share of exchange", final_site, seed),
            "a-swap-vector": value("role − shuffled", final_site, seed),
            "a-role-late": value("role − place", final_site, seed),
            "a-place-early": value("role − place", first_site, seed),
            "a-search-paraphrase": value("before_exchange", final_site, seed),
            "a-search-exchange": value("own_exchange_first, active and passive", final_site, seed),
        }
        estimates += [estimate(name, seed, estimate_) for name, estimate_ in values.items()]
    trained = value("cosine role", final_site, SEEDS[0])
    twin_names = sorted(twin for twin in table["twin"].dropna().unique() if twin)
    twins = [value("cosine role", final_site, SEEDS[0], twin) for twin in twin_names]
    estimates.append(estimate("a-learnt", SEEDS[0], _less(trained, twins)))
    return pd.DataFrame(estimates)


def _less(trained: Interval, twins: list[Interval]) -> Interval:
    """A value minus the mean of twins: half-widths of both, and of the twins' spread, are added in squares."""
    values = np.array([twin.value for twin in twins])
    halves = [(interval.high - interval.low) / 2 for interval in (trained, *twins)]
    spread = stats.t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    half = float(np.sqrt(halves[0] ** 2 + np.mean(np.square(halves[1:])) + spread**2))
    value = float(trained.value - values.mean())
    return Interval(value, value - half, value + half)


def measure(model: str, runs: Path) -> pd.DataFrame:
    """Measures what is missing, writes the table of question a, and returns its estimates."""
    tables = []
    for seed, twin in [(s, None) for s in SEEDS] + [(SEEDS[0], k) for k in range(TWINS)]:
        tables += list(measure_model(model, seed, twin, runs))
    table = publish("sentence-vectors", tables)
    return publish("sentence-estimates", [estimate_all(table)])
