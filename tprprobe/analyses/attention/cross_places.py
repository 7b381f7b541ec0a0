"""Which place of the source the heads of a decoder look at while they write the word or character at a place of the output."""

from collections import defaultdict
from collections.abc import Iterator

import numpy as np
import pandas as pd
from jaxtyping import Float

from tprprobe.analyses.attention.head_patterns import SHIFTS, Tally, choose_relations
from tprprobe.analyses.attention.head_relations import list_maps
from tprprobe.analyses.naming.fields import SIDES, read_places
from tprprobe.errors import InputError
from tprprobe.evaluation.splits import read_provenance
from tprprobe.site.patterns import sides_of
from tprprobe.store import Store

OUTPUT = "output"  # the column of the place that a query writes
AT = "at output place"
RELATIONS = {
    f"place i{shift} from the {side} {AT} i": (side, offset)
    for side in SIDES
    for shift, offset in SHIFTS.items()
}


def list_cross_maps(store: Store) -> list[str]:
    """The sites of maps from the tokens of the target to those of the source."""
    return [site for site in list_maps(store) if sides_of(site) == ("target", "source")]


def score_cross_heads(store: Store, seed: int = 0) -> pd.DataFrame:
    """One row per head of cross-attention: the place of the source that it looks most at while place i of the output is
    written, `place i from the right at output place i` or up to two places beside it, counted from the left or from the right; where that is not clear at
    the output places besides the best one, a place of the source at one output place, of all sources, also of those without it.

    The columns are those of :func:`score_heads`.
    Places i that are possible for fewer than half as many outputs as the most frequent one are left out.
    """
    sites = list_cross_maps(store)
    if not sites:
        raise InputError("the model has no decoder that attends to its input")
    laws: dict[str, list[Tally]] = defaultdict(list)
    places: dict[str, list[Tally]] = defaultdict(list)
    samples = list(read_queries(store, sites))
    longest = max((int(keys["left"].max()) for *_, keys in samples), default=0)
    for sample, queries, keys in samples:
        weights = np.concatenate([store.attention(site, sample) for site in sites])
        attended = np.nan_to_num(weights[:, queries.index][..., keys.index]).argmax(-1).T
        document, outputs = int(queries["document"].iloc[0]), queries[OUTPUT].to_numpy(int)
        for relation, (side, offset) in RELATIONS.items():
            related = keys[side].to_numpy(float, na_value=np.nan) == outputs[:, None] + offset
            rows = np.flatnonzero(related.any(1))
            hits, chance = related[rows[:, None], attended[rows]], related[rows].mean(1)
            laws[relation].append(Tally(document, hits, chance, places=outputs[rows]))
        for side in SIDES:
            for place in range(1, longest + 1):  # a source without it counts as a miss
                related = keys[side].eq(place).fillna(False)
                hits, chance = related.to_numpy(bool)[attended], np.array([related.mean()])
                for row, output in enumerate(outputs):
                    relation = f"place {place} from the {side} {AT} {output}"
                    places[relation].append(Tally(document, hits[[row]], chance))
    counts = {name: sum(len(tally.hits) for tally in group) for name, group in laws.items()}
    common = {name: laws[name] for name, n in counts.items() if 2 * n >= max(counts.values())}
    heads = [(site, head) for site in sites for head in range(len(store.attention(site, 0)))]
    return choose_relations([common, places], heads, seed)


def read_queries(
    store: Store, sites: list[str]
) -> Iterator[tuple[int, pd.DataFrame, pd.DataFrame]]:
    """The samples with maps: the tokens before which a place of the output is written, and the source's tokens that are no marks;
    both by their number in the map.
    """
    tokens = store.tokens
    tokens = tokens[tokens["sample"] < min(store.count_maps(site) for site in sites)]
    by_side = {
        side: rows.reset_index(drop=True).pipe(lambda rows: rows.join(read_places(rows)))
        for side, rows in tokens.groupby("side")
    }
    targets = by_side["target"]
    outputs = targets["left"].groupby(targets["sample"]).shift(-1)
    targets = targets.assign(output=outputs, document=read_provenance(targets).documents)
    sources = dict(list(by_side["source"].groupby("sample")))
    for sample, queries in targets.groupby("sample"):
        queries, keys = (rows.reset_index(drop=True) for rows in (queries, sources[sample]))
        queries, keys = queries[queries[OUTPUT].notna()], keys[keys["mark"].isna()]
        if len(queries) and len(keys) > 1:
            yield int(str(sample)), queries, keys


def mean_map(store: Store, site: str, head: int) -> Float[np.ndarray, "output source"]:
    """The mean map of a head over the samples of the most frequent numbers of tokens, from places of the output to those of the source."""
    samples = list(read_queries(store, [site]))
    shapes = [(len(queries), len(keys)) for _, queries, keys in samples]
    shape = max(shapes, key=shapes.count)
    maps = [
        store.attention(site, sample)[head][queries.index][:, keys.index]
        for (sample, queries, keys), n in zip(samples, shapes, strict=True)
        if n == shape
    ]
    return np.mean(maps, 0)
