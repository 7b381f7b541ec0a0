"""One layer of a store as reconstruction reads it: values of all heads, random projections, z."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float64

from tprprobe.analyses.reconstruction.moments import Block
from tprprobe.errors import InputError, unknown
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store
from tprprobe.store.dask_workers import parts_of

ROWS_PER_BLOCK, PROJECTIONS = 4096, 4
SITES = {"input": "encoder.{}.self.input", "hidden": "encoder.{}.hidden"}


@dataclass(frozen=True)
class Layer:
    """One layer's v and z in a store, and the order of the columns read from it."""

    store: Store
    number: int
    target_site: str
    seed: int

    @property
    def value_site(self) -> str:
        return f"encoder.{self.number}.self.value"

    @property
    def input_site(self) -> str:
        return SITES["input"].format(self.number)

    @property
    def heads(self) -> list[slice]:
        """The columns of every head's v."""
        n_heads, width = self.store.specs[self.value_site].shape
        return [slice(head * width, (head + 1) * width) for head in range(n_heads)]

    @property
    def together(self) -> slice:
        """The columns of all heads' v."""
        return slice(0, self.heads[-1].stop)

    @property
    def random(self) -> list[slice]:
        """The columns of every random projection, as wide as a head."""
        start, width = self.together.stop, self.heads[0].stop
        starts = range(start, start + PROJECTIONS * width, width)
        return [slice(begin, begin + width) for begin in starts]

    @property
    def target(self) -> slice:
        """The columns of z."""
        start = self.random[-1].stop
        return slice(start, start + self.store.specs[self.target_site].shape[0])

    @property
    def width(self) -> int:
        """The dimensions of z."""
        return self.target.stop - self.target.start

    @cached_property
    def projections(self) -> Float64[np.ndarray, "d_model projected"]:
        """Gaussian maps of LN(z), which v is an affine map of."""
        d_model = self.store.specs[self.input_site].shape[0]
        projected = self.random[-1].stop - self.together.stop
        rng = np.random.default_rng(self.seed)
        return rng.normal(size=(d_model, projected)) / np.sqrt(d_model)

    def parts(self) -> list[slice]:
        """The rows in parts, over which workers may be spread."""
        return parts_of(self.store.count_rows(self.value_site))

    def blocks(self, part: slice = slice(None)) -> Iterator[Block]:
        """All rows (of a part) in blocks: the heads' v, the projections of LN(z), z."""
        for rows, values in self.store.iterate(self.value_site, None, ROWS_PER_BLOCK, part):
            inputs = self.store.read_finite(self.input_site, rows).astype(np.float64)
            target = self.store.read_finite(self.target_site, rows)
            flat = values.reshape(len(values), -1)
            yield rows, np.concatenate([flat, inputs @ self.projections, target], axis=1)


def find_layers(store: Store, layer: int | None, target: str, seed: int) -> list[Layer]:
    """The layer of that number, or all layers whose values and z the store has; −1 is the last."""
    if target not in (*SITES, "below"):
        raise unknown("target", target, (*SITES, "below"))
    meant = "*" if layer is None else layer
    values = store.select(f"encoder.{meant}.self.value")
    numbers = [number for number in map(layer_of, values) if number is not None]
    if target == "below" and layer is None:
        numbers = [number for number in numbers if number > 0]  # below layer 0 nothing is hidden
    return [_layer(store, number, target, seed) for number in numbers]


def _layer(store: Store, number: int, target: str, seed: int) -> Layer:
    if target == "below" and number == 0:
        raise InputError("below layer 0 there is only the embedding: give target input, or a layer")
    below = SITES["hidden"].format(number - 1)
    site = below if target == "below" else SITES[target].format(number)
    store.select([site, SITES["input"].format(number)])
    return Layer(store, number, site, seed)
