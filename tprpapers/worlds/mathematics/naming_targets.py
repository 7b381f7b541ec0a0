"""The clusterings of a run of naming: the vectors of interest, and the controls beside them.

A head's role is an affine map of LN(z), as its query and key are: what any projection of LN(z)
shows is not the role's, what an untrained model shows is not learned. Queries and keys, and v̄ where no
role is bound to it, are whitened: the model leaves them open up to a linear map.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from operator import add

import numpy as np
from jaxtyping import Float

from tprprobe.analyses.clustering import find_heads
from tprprobe.analyses.clustering.kmeans import Source
from tprprobe.analyses.naming.name_counts import TRAINED
from tprprobe.errors import InputError
from tprprobe.estimators.affine import Moments
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store
from tprprobe.store.dask_workers import each_part
from tprprobe.store.layout import TWINS

CONTROLS = ("query", "key", "filler", "hidden")  # filler is v̄, hidden the layer's output z
FREE = ("query", "key")  # up to a linear map
RANDOM, SHUFFLED = "random", "shuffled"
VARYING = 1e-6  # of the largest variance, what a direction has that varies
BASELINE = "baseline"  # the model of another store


@dataclass(frozen=True)
class Image(Source):
    """The images of a source's vectors under a linear map."""

    matrix: Float[np.ndarray, "d_model width"]

    def _typed(self, block: np.ndarray, start: int) -> np.ndarray:
        return super()._typed(block, start) @ self.matrix


@dataclass(frozen=True, eq=False)
class NamingTarget:
    """Vectors to cluster: their model, kind, head and source."""

    model: str
    vectors: str
    head: int | None
    source: Source

    @property
    def place(self) -> dict[str, object]:
        """The columns that identify these vectors in every table."""
        site = self.source.site
        keys = {"model": self.model, "vectors": self.vectors, "site": site}
        return {**keys, "layer": layer_of(site), "head": self.head}


def find_targets(
    store: Store,
    patterns: str | Sequence[str],
    baseline: Store | None = None,
    seed: int = 0,
    projections: int | None = None,
) -> list[NamingTarget]:
    """Every head of the sites that match, and of the sites that are controls of these.

    From the same store queries, keys, v̄, z, and random projections of LN(z) as wide as the site's
    heads, and as many unless ``projections`` says how many; the twins' vectors of the site; a baseline store's controls.
    """
    sites = store.select(patterns)
    for site in sites:
        if store.side(site) != "source" or store.specs[site].is_attention:
            raise InputError(f"{site}: gold structure is of the vectors of source tokens only")
    controls = list(dict.fromkeys(_beside(site, kind) for site in sites for kind in CONTROLS))
    controls = [site for site in controls if site not in sites]
    targets = [*_find(store, sites, TRAINED), *_find(store, controls, TRAINED)]
    targets += [target for site in sites for target in _project(store, site, seed, projections)]
    for kind, twin in store.twins.items():
        targets += _find(twin, sites, kind)
    if baseline is None:
        return targets
    questions, baseline_questions = (
        asked_store.tokens.drop_duplicates("sample")["question"].astype(str).tolist()
        for asked_store in (store, baseline)
    )
    if questions != baseline_questions:
        raise InputError(
            f"{baseline.path} holds other questions than {store.path}: extract the same for both"
        )
    if not (rivals := _find(baseline, controls, BASELINE)):
        raise InputError(f"{baseline.path} has none of the sites to compare with: {controls[0]} …")
    return targets + rivals


def _beside(site: str, kind: str) -> str:
    """The site of another kind in the same layer: `encoder.1.self.key` for `encoder.1.self.role`."""
    stem = site.rpartition(".")[0]
    return f"{stem.removesuffix('.self') if kind == 'hidden' else stem}.{kind}"


def _find(store: Store, sites: list[str], model: str) -> list[NamingTarget]:
    return [
        NamingTarget(model, site.rpartition(".")[2], head, _gauged(Source.find(store, site, head)))
        for site in sites
        if site in store.sites
        for _, head in find_heads(store, site)
    ]


def _gauged(source: Source) -> Source:
    """The vectors, scaled so that their clusters do not depend on what the model leaves open."""
    kind = source.site.rpartition(".")[2]
    has_role = _beside(source.site, "role") in source.store.sites
    is_free = kind in FREE or (kind == "filler" and not has_role)
    return _whiten(source) if is_free else source


def _whiten(source: Source) -> Source:
    """The vectors with unit covariance, without directions that do not vary. For queries and keys, which the model leaves open
    up to a linear map (q → Rq, k → R⁻ᵀk changes no score), clusters are the same for every R.
    """
    moments = reduce(add, each_part(partial(_sum_moments, source), source.parts()))
    values, axes = np.linalg.eigh(moments.scatter / moments.count)
    varies = values > VARYING * values.max()
    return _image(source, axes[:, varies] / np.sqrt(values[varies]))


def _sum_moments(source: Source, rows: slice) -> Moments:
    return reduce(add, (Moments.of(block.astype(np.float64)) for block in source.blocks(rows)))


def _image(source: Source, matrix: Float[np.ndarray, "d_model width"]) -> Image:
    place = (source.store, source.site, source.head, source.rows)
    return Image(*place, matrix.shape[1], matrix.astype(np.float32))


def _project(store: Store, site: str, seed: int, count: int | None) -> list[NamingTarget]:
    """Random projections of LN(z) where the store has it, as wide as the site's heads."""
    origin, shape = _beside(site, "input"), store.specs[site].shape
    if origin not in store.sites:
        return []
    source = Source.find(store, origin, None)
    heads = len(find_heads(store, site)) if count is None else count
    rng = np.random.default_rng((seed, layer_of(site) or 0))
    maps = rng.normal(size=(heads, source.width, shape[-1])) / np.sqrt(source.width)
    images = [_image(source, matrix) for matrix in maps]
    return [NamingTarget(TRAINED, RANDOM, head, image) for head, image in enumerate(images)]


def list_missing(targets: Sequence[NamingTarget], models: Collection[str]) -> list[str]:
    """The controls that a run of naming does not have."""
    vectors = {target.vectors for target in targets if target.model == TRAINED}
    missing = [kind for kind in (*CONTROLS, RANDOM) if kind not in vectors]
    missing += [] if {*models} & {*TWINS} else ["untrained"]
    return missing + ([] if BASELINE in models else [BASELINE])
