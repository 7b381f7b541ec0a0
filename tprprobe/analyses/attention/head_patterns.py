"""What every attention head looks at: the relation between tokens that it follows farthest beyond chance."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float, Int

from tprprobe.analyses.attention import head_relations
from tprprobe.analyses.attention.gold_maps import find_divisions, gold_tokens
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import halve_documents
from tprprobe.gold.labels import WORD
from tprprobe.site.patterns import layer_of, sides_of
from tprprobe.statistics import FEWEST_GROUPS, bootstrap_mean
from tprprobe.store import Store
from tprprobe.store.token_texts import is_special

SHIFTS = {" − 2": -2, " − 1": -1, "": 0, " + 1": 1, " + 2": 2}  # from the other end's place
SOURCE, HALF, MIRRORED = "source", 0.5, "from the right"
MARGIN = 0.1  # beyond its control, of the lower end of the interval of a clear head
PATTERNS = ("previous", "next", "first", "same")  # words or tokens: relations without labels
FIRST = ("first word", "first token")  # where a head looks that has nothing else to look at
PUNCTUATION = "punct"  # of Universal Dependencies, and of spaCy
Targets = Bool[np.ndarray, "query key"]
Units = Int[np.ndarray, " token"]  # the number of a token's word, −1 for special tokens
Related = Iterator[tuple[str, int, int]]  # a relation, and the units that it relates


@dataclass(frozen=True)
class Tally:
    """The queries of one sample that have a target: which heads look there most, how probable that is by chance, which
    OFFSETS lead there (None where the relation is an offset), and the places i of a relation of place i, which must hold at several.
    """

    document: int
    hits: Bool[np.ndarray, "query head"]
    chance: Float[np.ndarray, " query"]
    offsets: Bool[np.ndarray, "query offset"] | None = None
    places: Int[np.ndarray, " query"] | None = None


def score_heads(store: Store, seed: int = 0) -> pd.DataFrame:
    """One row per head of the source's self-attention: the relation that it follows farthest beyond chance.

    Relations: the previous, the next and the first token, the same token elsewhere, and, where the data tell them, words with labels of
    roles, words in a dependency (but punctuation, at which many heads look from any word) and the '/' of a denominator; without labels of words also, from place i, `place i from the right` or up
    to two places beside it, if the head looks there in half of the cases. Words take the place of tokens where they are numbered; special
    tokens and the query itself do not count.

    The columns site, layer, head, relation, n, value (the share of words or tokens from which the head looks most at the
    related one), chance (that of a random visible one), offset and by_offset (the fixed distance that does best and its share, where
    that is more than chance) and beyond (value less the larger of both), with 95 % intervals over documents. Relation and
    distance are chosen on one half of the documents and scored on the other half. A head whose relation is not clear there (MARGIN)
    gets the best one without labels, if this is. ``beyond`` of a place i leaves out the one where it is largest. Source: Clark et al. 2019.
    """
    sites = [
        site for site in head_relations.list_self_maps(store) if sides_of(site) == (SOURCE, SOURCE)
    ]
    if not sites:
        raise InputError(
            "no site of attention over the input: the model has none, or none was attached (such as encoder.0.self.attention)"
        )
    tallies: dict[str, list[Tally]] = defaultdict(list)
    for sample, tokens in head_relations.list_samples(store, sites):
        units = number_units(tokens)
        if units.max(initial=-1) < 1:
            continue
        token_maps = [store.attention(site, sample) for site in sites]
        maps = np.concatenate([head_relations.join_words(x, units) for x in token_maps])
        for relation, targets in find_targets(store, sample, tokens, units).items():
            tally = count_hits(maps, targets, int(tokens["origin"].iloc[0]))
            offsets = None if relation.startswith(("previous ", "next ")) else tally.offsets
            places = tally.places if relation.endswith(MIRRORED) else None
            tallies[relation].append(replace(tally, offsets=offsets, places=places))
    heads = [(site, head) for site in sites for head in range(len(store.attention(site, 0)))]
    unlabelled = {name: tallies[name] for name in tallies if name.startswith(PATTERNS)}
    return choose_relations([tallies, unlabelled], heads, seed)


def number_units(tokens: pd.DataFrame) -> Units:
    """The number of every token's word, or of the token where words are not numbered; −1 for special tokens."""
    if WORD in tokens and (tokens[WORD] >= 0).any():
        return tokens[WORD].to_numpy()
    is_text = ~tokens["token"].map(is_special).to_numpy(bool)
    return np.where(is_text, np.cumsum(is_text) - 1, -1)


def find_targets(
    store: Store, sample: int, tokens: pd.DataFrame, units: Units
) -> dict[str, Targets]:
    """Which units are related to which, by relation."""
    n, kind = units.max() + 1, "word" if WORD in tokens else "token"
    texts = np.full(n, "", object)
    for unit, text in zip(units, tokens["token"].astype(str), strict=True):
        if unit >= 0:
            texts[unit] += text
    not_self = ~np.eye(n, dtype=bool)
    targets = {
        f"previous {kind}": np.eye(n, k=-1, dtype=bool),
        f"next {kind}": np.eye(n, k=1, dtype=bool),
        f"first {kind}": not_self & (np.arange(n) == 0),
        f"same {kind}": not_self & (texts[:, None] == texts) & (texts != ""),
    }
    if not {head_relations.ROLE, head_relations.TASK} & {*tokens}:
        mirrored = {
            name: np.fliplr(np.eye(n, k=shift, dtype=bool)) for name, shift in SHIFTS.items()
        }
        targets |= {f"place i{name} {MIRRORED}": not_self & to for name, to in mirrored.items()}
    pairs = [*_relate_roles(tokens, units), *_relate_words(tokens)]
    pairs += _relate_divisors(store, sample, tokens, units)
    for relation, query, key in pairs:
        targets.setdefault(relation, np.zeros((n, n), bool))[query, key] = True
    return targets


def _relate_roles(tokens: pd.DataFrame, units: Units) -> Related:
    """Words with different labels, each of which one word of the sample has."""
    if head_relations.ROLE not in tokens or WORD not in tokens:
        return
    label_of: dict[int, str] = {}
    for unit, label in zip(units.tolist(), tokens[head_relations.ROLE], strict=True):
        if isinstance(label, str):
            label_of.setdefault(unit, label)
    counts = Counter(label_of.values())
    once = [(unit, label) for unit, label in label_of.items() if counts[label] == 1]
    for (unit, label), (related, related_label) in permutations(once, 2):
        yield f"{label} → {related_label}", unit, related


def _relate_words(tokens: pd.DataFrame) -> Related:
    if head_relations.TASK in tokens and WORD in tokens:
        for label, word, parent in head_relations.find_edges(tokens):
            if label == PUNCTUATION:
                continue
            yield f"{label} → its parent", word, parent
            yield f"parent → its {label}", parent, word


def _relate_divisors(store: Store, sample: int, tokens: pd.DataFrame, units: Units) -> Related:
    gold = None if WORD in tokens or not store.has_questions else gold_tokens(store, [sample])
    if gold is not None and len(gold) == len(tokens):
        slashes = find_divisions(gold)
        for digit in np.flatnonzero(slashes >= 0).tolist():
            yield "denominator → its ‘/’", int(units[digit]), int(units[slashes[digit]])


def count_hits(maps: Float[np.ndarray, "head query key"], targets: Targets, document: int) -> Tally:
    """Which heads look most at a target, of the queries that see one."""
    off_diagonal = np.where(np.eye(maps.shape[1], dtype=bool), -1, maps)
    visible: Targets = np.any(off_diagonal > 0, axis=0)
    targets = targets & visible
    reachable = targets.sum(1)
    queries = np.flatnonzero(reachable)
    keys = off_diagonal[:, queries].argmax(-1)  # [head, query]
    chance = reachable[queries] / visible[queries].sum(1)
    places = queries[:, None] + np.array(head_relations.OFFSETS)
    is_inside = (places >= 0) & (places < len(targets))
    offsets = is_inside & targets[queries[:, None], places.clip(0, len(targets) - 1)]
    return Tally(document, targets[queries[:, None], keys.T], chance, offsets, queries)


@dataclass(frozen=True)
class Scores:
    """The queries of a relation, of all samples: which heads look there, and how much more often than the control; there NaN at the
    place i where a head does so most, of a relation of place i.
    """

    hits: Float[np.ndarray, "query head"]
    gains: Float[np.ndarray, "query head"]
    chance: Float[np.ndarray, " query"]
    control: Float[np.ndarray, " query"]
    offset: int | None
    documents: Int[np.ndarray, " query"]
    is_chosen_on: Bool[np.ndarray, " query"]

    def average(self) -> Float[np.ndarray, " head"]:
        """The mean gain on the texts that choose; NaN of heads with few queries in one half."""
        gains = pd.DataFrame(self.gains)
        chosen_on, tested = gains[self.is_chosen_on], gains[~self.is_chosen_on]
        n = np.minimum(chosen_on.count(), tested.count())
        return np.where(n >= head_relations.FEWEST, chosen_on.mean(), np.nan)

    def describe(self, head: int) -> dict[str, Any]:
        """The scores of a head on the other texts."""
        is_tested = ~self.is_chosen_on
        is_counted = is_tested & ~np.isnan(self.gains[:, head])
        control = np.nan if self.offset is None else self.control[is_tested].mean()
        row = {"n": int(is_tested.sum()), "chance": self.chance[is_tested].mean()}
        row |= {"offset": self.offset, "by_offset": control}
        for name, numbers, rows, lowest in (
            ("value", self.hits, is_tested, 0), ("beyond", self.gains, is_counted, -1)
        ):  # fmt: skip
            values, documents = numbers[rows, head], self.documents[rows]
            row |= bootstrap_mean(values, documents, lowest=lowest).columns(name)
        return row


def choose_relations(
    candidates: Sequence[Mapping[str, list[Tally]]], heads: list[tuple[str, int]], seed: int
) -> pd.DataFrame:
    """For every head the one of the first candidates that is best on half of the documents, with its scores on the other half;
    where it is not clear there (MARGIN), the best of the next candidates, if this one is.

    Of tests at the lower end of a 95 % interval 2.5 % err, so with two candidates at most 5 % of the heads do.
    """
    groups = [group for tallies in candidates for group in tallies.values()]
    everyone = np.unique([tally.document for group in groups for tally in group])
    if len(everyone) < 2 * FEWEST_GROUPS:
        raise InputError(
            f"intervals of heads need {2 * FEWEST_GROUPS} documents with maps: read more texts"
        )
    chosen_on = everyone[halve_documents(everyone, seed)]
    scored = [
        {name: pool_tallies(group, chosen_on) for name, group in tallies.items()}
        for tallies in candidates
    ]
    best = [list_best(scores) for scores in scored]
    rows = []
    for i, (site, head) in enumerate(heads):
        place = {"site": site, "layer": layer_of(site), "head": head}
        options: list[dict[str, Any]] = [
            place | {"relation": names[i]} | scores[names[i]].describe(i)
            for scores, names in zip(scored, best, strict=True)
            if i in names
        ]
        clear = (row for row in options if row["beyond_low"] > MARGIN)
        rows += [next(clear, options[0])] if options else []
    if not rows:
        raise InputError(
            f"no relation between tokens occurs {2 * head_relations.FEWEST} times in texts with maps"
        )
    return pd.DataFrame(rows).astype({"offset": "Int64"})


def pool_tallies(group: Sequence[Tally], chosen_on: Int[np.ndarray, " document"]) -> Scores:
    """The queries of all samples; the control is chance, or the offset that leads there most often, where that is more."""
    hits = np.concatenate([tally.hits for tally in group]).astype(float)
    chance = np.concatenate([tally.chance for tally in group])
    documents = np.repeat([t.document for t in group], [len(t.hits) for t in group])
    is_chosen_on, control, offset = np.isin(documents, chosen_on), chance, None
    if is_chosen_on.any() and (offsets := [t.offsets for t in group if t.offsets is not None]):
        leads = np.concatenate(offsets).astype(float)
        shares = leads[is_chosen_on].mean(0)
        if shares.max() > chance[is_chosen_on].mean():
            offset, control = head_relations.OFFSETS[shares.argmax()], leads[:, shares.argmax()]
    gains = hits - control[:, None]
    if is_chosen_on.any() and (pooled := [t.places for t in group if t.places is not None]):
        places = np.concatenate(pooled)
        sums = pd.DataFrame(gains[is_chosen_on]).groupby(places[is_chosen_on]).sum()
        gains[places[:, None] == sums.idxmax().to_numpy()] = np.nan
    return Scores(hits, gains, chance, control, offset, documents, is_chosen_on)


def list_best(scores: Mapping[str, Scores]) -> dict[int, str]:
    """For every head the relation that it follows farthest beyond the control, on the texts that choose."""
    gains = {name: s.average() for name, s in scores.items() if (s.chance < 1).any()}
    for name in gains:
        if name.endswith(MIRRORED):  # no name of a head that looks elsewhere more often
            gains[name] -= scores[name].hits[scores[name].is_chosen_on].mean(0) < HALF
    best = pd.DataFrame(gains).dropna(how="all").idxmax(axis=1)
    return dict(zip(best.index.tolist(), map(str, best), strict=True))
