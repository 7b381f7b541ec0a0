"""Grids of labels: what stands at every place of a sample, beside one vector of the sample."""

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from jaxtyping import Float32, Int

from tprprobe.analyses.decomposition.sequence_units import Units, read_units
from tprprobe.analyses.naming.fields import LABELS, list_exact
from tprprobe.errors import InputError, unknown
from tprprobe.gold.labels import WORD
from tprprobe.gold.structure import COLUMNS
from tprprobe.store import Store

MOST_PLACES, MOST_LABELS = 40, 64
FEWEST = 20  # samples that have a place
MODES = ("last_state", "first_state", "all_states")
NONE = -1


@dataclass(frozen=True, eq=False)
class LabelledPlaces:
    """The grid of a task at a site: ``labels`` [sample, place] as numbers (−1: none) of ``inventory``.

    ``types`` are the symbols (words) at the places, as numbers; ``origin`` has the documents, which are never divided.
    """

    vectors: Float32[np.ndarray, "sample d_model"]
    labels: Int[np.ndarray, "sample place"]
    types: Int[np.ndarray, "sample place"]
    origin: Provenance
    inventory: tuple[str, ...]

    def divide(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The samples to fit to, to choose by, and to test on."""
        test, dev = divide_documents(self.origin.documents, np.random.default_rng((seed, 0)))
        parts = np.select([test, dev], [TEST, DEV], TRAIN).astype(object)
        parts = clear_parts(parts, self.origin.sequences)
        return parts == TRAIN, parts == DEV, test

    @property
    def is_of_types(self) -> bool:
        """True if every symbol has one label wherever it stands: labels drawn by symbol are then as good."""
        known = self.labels >= 0
        pairs = np.unique(np.stack([self.types[known], self.labels[known]]), axis=1)
        return len(np.unique(pairs[0])) == pairs.shape[1]

    def with_labels_by_type(self, seed: int) -> "LabelledPlaces":
        """The same with a label drawn once for every symbol, as often as labels are."""
        shares = np.bincount(self.labels[self.labels >= 0], minlength=len(self.inventory))
        rng = np.random.default_rng((seed, 1))
        drawn = rng.choice(len(shares), self.types.max() + 1, p=shares / shares.sum())
        return replace(self, labels=np.where(self.labels >= 0, drawn[self.types], NONE))

    def with_labels_of_others(self, seed: int) -> "LabelledPlaces":
        """The same with the whole grid of another sample."""
        order = np.random.default_rng((seed, 2)).permutation(len(self.labels))
        return replace(self, labels=self.labels[order])


def read_places(store: Store, site: str, task: str, mode: str = MODES[0]) -> LabelledPlaces:
    """The grid of a task: the label of every word of a sample, or of every symbol of a question.

    ``task`` is a kind of exact labels of words (pos, nel, dep, srl), or a column of the tokens, those
    of the gold structure of arithmetic among them. ``mode`` says which state of a sample is read: the
    last, the first, or the mean of all; a site with one vector a sample has that.
    """
    if mode not in MODES:
        raise unknown("span mode", mode, MODES)
    units = read_units(store, site, unit="sample", columns={task})
    tokens = units.tokens
    if task in LABELS and task in tokens and task not in list_exact(store):
        raise InputError(
            f"{task} of {store.path} is a tagger's guess: grids are of exact labels; extract annotated data"
        )
    if task not in tokens:
        raise unknown("labels", task, [*list_exact(store), *COLUMNS, "token"])
    sample = pd.factorize(tokens["sample"])[0]
    kept = np.ones(len(tokens), bool)
    if WORD in store.tokens:
        known = pd.DataFrame({"sample": sample, "word": tokens[WORD].to_numpy()})
        kept = (known["word"] >= 0).to_numpy() & ~known.duplicated().to_numpy()
    labels, types = tokens[task].astype(object)[kept], tokens["filler"][kept]
    has = (labels.notna() & (labels.astype(str) != "")).to_numpy()
    owner = sample[kept]
    place = pd.Series(owner).groupby(owner).cumcount().to_numpy()
    codes, inventory = pd.factorize(labels.astype(str).where(has), sort=True)
    if not has.any() or len(inventory) > MOST_LABELS:
        raise InputError(f"{task}: {len(inventory)} labels here; grids have 1 to {MOST_LABELS}")
    counts = np.bincount(place[has & (place < MOST_PLACES)], minlength=1)
    usual = np.flatnonzero(counts >= FEWEST)
    if not len(usual):
        raise InputError(f"{task}: no place has a label in {FEWEST} samples: extract more")
    grid = np.full((sample.max() + 1, usual.max() + 1), NONE)
    of_type = np.zeros_like(grid)
    inside = place <= usual.max()
    grid[owner[inside], place[inside]] = codes[inside]
    of_type[owner[inside], place[inside]] = pd.factorize(types)[0][inside]
    grid, of_type = grid[:, usual], of_type[:, usual]
    return LabelledPlaces(
        _states(units, sample, mode), grid, of_type, units.origin, tuple(map(str, inventory))
    )


def _states(
    units: Units, sample: Int[np.ndarray, " token"], mode: str
) -> Float32[np.ndarray, "sample d_model"]:
    """The state of every sample that is read."""
    if mode == MODES[0] or units.store.side(units.site) == "sample":
        vectors = np.concatenate([each for _, each in units.vectors.blocks()])
        return vectors.astype(np.float32)
    first = np.flatnonzero(np.append(True, sample[1:] != sample[:-1]))
    if mode == MODES[1]:
        return units.store.read(units.site, first).reshape(len(first), -1).astype(np.float32)
    whole = units.store.read(units.site).reshape(len(sample), -1).astype(np.float32)
    mean = np.add.reduceat(whole, first) / np.bincount(sample)[:, None]
    return mean.astype(np.float32)
