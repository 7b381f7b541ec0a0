"""What reconstruction reads: one layer of a store (values of all heads, LN(z), z), and how its rows are split."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float64, Int

from tprprobe.errors import InputError, unknown
from tprprobe.estimators.affine import FOLDS, Moments, Source
from tprprobe.evaluation.splits import TEST_SHARE, count_documents, read_provenance, stand_first
from tprprobe.site.patterns import layer_of
from tprprobe.store import Store
from tprprobe.store.dask_workers import parts_of

ROWS_PER_BLOCK, PROJECTIONS = 4096, 20
# the site of z, and how many layers below
TARGETS = {"input": ("self.input", 0), "hidden": ("hidden", 0), "below": ("hidden", 1)}
Block = tuple[slice, Float64[np.ndarray, "_row width"]]  # which rows, and their vectors
Labels = Int[np.ndarray, " row"]  # the part that a row belongs to, −1 for none
MomentsByPart = dict[tuple[str, int], Moments]  # by the name of a partition of the rows, and label


def merge(first_parts: MomentsByPart, second_parts: MomentsByPart) -> MomentsByPart:
    """The moments of every part of the rows of both."""
    return first_parts | {
        key: first_parts[key] + moments if key in first_parts else moments
        for key, moments in second_parts.items()
    }


@dataclass(frozen=True, eq=False)
class Layer:
    """One layer's v and z in a store, and the columns of what is read from it: every head's v, LN(z), and z where it is another site."""

    store: Store
    number: int
    value_site: str
    input_site: str
    target_site: str

    @cached_property
    def heads(self) -> list[slice]:
        n_heads, width = self.store.specs[self.value_site].shape
        return [slice(i * width, (i + 1) * width) for i in range(n_heads)]

    @cached_property
    def inputs(self) -> slice:
        return self._place(self.input_site, self.heads[-1].stop)

    @cached_property
    def target(self) -> slice:
        is_same = self.target_site == self.input_site
        return self.inputs if is_same else self._place(self.target_site, self.inputs.stop)

    def _place(self, site: str, start: int) -> slice:
        return slice(start, start + self.store.specs[site].shape[0])

    def list_sources(self, seed: int) -> list[Source]:
        """What z is fitted to: every head's v, all of these, and random projections of LN(z), which v is an affine map of."""
        heads, d_model = self.heads, self.inputs.stop - self.inputs.start
        size = (PROJECTIONS, d_model, heads[0].stop)
        projections = np.random.default_rng(seed).normal(size=size)
        fixed = [Source(columns) for columns in (*heads, slice(0, heads[-1].stop))]
        return fixed + [Source(self.inputs, projection) for projection in projections]

    @property
    def width(self) -> int:
        return self.target.stop - self.target.start

    def parts(self) -> list[slice]:
        """The rows in parts, over which workers may be spread."""
        return parts_of(self.store.count_rows(self.value_site))

    def blocks(self, span: slice = slice(None)) -> Iterator[Block]:
        """All rows (of a part) in blocks: the heads' v, LN(z), z."""
        for rows, values in self.store.iterate(self.value_site, None, ROWS_PER_BLOCK, span):
            inputs = self.store.read_finite(self.input_site, rows).astype(np.float64)
            vectors = [values.reshape(len(values), -1), inputs]
            if self.target != self.inputs:
                vectors.append(self.store.read_finite(self.target_site, rows))
            yield rows, np.concatenate(vectors, axis=1)


def gather(layer: Layer, partitions: Mapping[str, Labels], span: slice) -> MomentsByPart:
    """The moments of every part of every partition of some rows, in one pass over the blocks."""
    moments_by_part: MomentsByPart = {}
    for rows, vectors in layer.blocks(span):
        for name, labels in partitions.items():
            of_block = labels[rows]
            for label in np.unique(of_block[of_block >= 0]).tolist():
                moments = {(name, label): Moments.of(vectors[of_block == label])}
                moments_by_part = merge(moments_by_part, moments)
    return moments_by_part


def find_layers(store: Store, layer: int | None, target: str) -> list[Layer]:
    """The layer of that number, or all layers whose values and z the store has, of the encoder or of a language model; −1 is the last."""
    if target not in TARGETS:
        raise unknown("target", target, TARGETS)
    stack = "layers" if any(site.startswith("layers.") for site in store.sites) else "encoder"
    if not any(site.endswith(".self.value") for site in store.sites):
        raise InputError(
            f"{store.path} has no values of heads (`*.self.value`): reconstruct needs a model with attention, "
            f"or imported arrays {stack}.N.self.value [token, head, dimension] and {stack}.N.self.input"
        )
    values = store.select(f"{stack}.{'*' if layer is None else layer}.self.value")
    numbers = [number for number in map(layer_of, values) if number is not None]
    if target == "below" and layer is not None and 0 in numbers:
        raise InputError("below layer 0 there is only the embedding: give target input, or a layer")
    suffix, step = TARGETS[target]
    layers = [
        Layer(store, n, f"{stack}.{n}.self.value", f"{stack}.{n}.self.input", site)
        for n in numbers
        if n >= step and (site := f"{stack}.{n - step}.{suffix}")
    ]
    complete = [item for item in layers if {item.input_site, item.target_site} <= {*store.sites}]
    if layer is None and complete:
        return complete
    missing = {s for item in layers for s in (item.input_site, item.target_site)} - {*store.sites}
    if missing:
        names = ",".join(sorted(missing))
        raise InputError(
            f"{store.path} has no {names}: extract it (--sites) or give another target"
        )
    return layers


FEWEST = 20
HELD_OUT, LEFT_OUT = -1, -2  # places of questions that nothing is fitted to
SIZES = (100, 300, 1000, 3000, 10000)


@dataclass(frozen=True, eq=False)
class Split:
    """The question (document) of every row; its fold, FOLDS for a held-out one, −1 for one that is left out; and nested
    training sets.

    ``sweeps`` has, for n counted in questions and in positions, a label for every row: the first
    of ``sizes`` that takes it in, −1 if none does.
    """

    questions: Int[np.ndarray, " row"]
    folds: Labels
    sweeps: dict[str, Labels]
    sizes: dict[str, list[int]]

    @property
    def trained(self) -> Bool[np.ndarray, " row"]:
        return (self.folds >= 0) & (self.folds < FOLDS)

    @property
    def held_out(self) -> Bool[np.ndarray, " row"]:
        return self.folds == FOLDS


def split_questions(tokens: pd.DataFrame, seed: int) -> Split:
    """A quarter of the questions held out, the others in folds and in nested training sets.

    A document counts as one question, and so does a question that is asked twice. A sequence that several documents
    have counts where it is held out, else in the first fold that has it.
    """
    origin = read_provenance(tokens)
    questions, n = origin.documents, count_documents(origin.documents, FEWEST, "the store")
    rng = np.random.default_rng(seed)
    order = rng.permutation(n)
    n_test = round(TEST_SHARE * len(order))
    place = np.empty(len(order), int)  # among the training questions
    place[order] = np.maximum(np.arange(len(order)) - n_test, HELD_OUT)
    place_of_row = place[questions]
    is_counted = stand_first(np.where(place_of_row < 0, -1, place_of_row % FOLDS), origin.sequences)
    place_of_row = np.where(is_counted, place_of_row, LEFT_OUT)
    position = np.full(len(place_of_row), -1)
    training = rng.permutation(np.flatnonzero(place_of_row >= 0))
    position[training] = np.arange(len(training))
    places = {"question": place_of_row, "position": position}
    sizes = {unit: [n for n in SIZES if n <= values.max()] for unit, values in places.items()}
    folds = np.select(
        [place_of_row == HELD_OUT, place_of_row >= 0], [FOLDS, place_of_row % FOLDS], -1
    )
    return Split(
        questions,
        folds.astype(np.int8),  # one byte a row: all splits are in memory
        {unit: _nested(values, sizes[unit]) for unit, values in places.items()},
        sizes,
    )


def _nested(place: Int[np.ndarray, " row"], sizes: Sequence[int]) -> Labels:
    label = np.searchsorted(sizes, place, side="right")
    return np.where((place < 0) | (label == len(sizes)), -1, label).astype(np.int8)
