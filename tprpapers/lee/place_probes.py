"""Probes of whole grids: what stands where, read from one state; bilinear, linear, and cut to equal rank."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, NamedTuple, TypeVar

import numpy as np
import pandas as pd
import torch
from jaxtyping import Float, Int
from torch import Tensor

from tprpapers.kinds import GRIDS
from tprpapers.lee.labelled_places import MODES, LabelledPlaces, read_places
from tprprobe.analyses.decomposition.choices import read_rank
from tprprobe.analyses.probing.inputs import find_sites
from tprprobe.analyses.probing.settings import SITES
from tprprobe.errors import unknown
from tprprobe.files.runs import KeptRun, Part, kept
from tprprobe.site.patterns import layer_of
from tprprobe.statistics import bootstrap, divide
from tprprobe.store import Store
from tprprobe.store.layout import TWINS

PENALTIES = (1e-1, 1e-2, 1e-3, 1e-4)
STEPS = 150  # of L-BFGS, at most
SIZES = (1, 2, 3, 4, 6, 8, 12, 16)  # ranks that are tried

State = Float[Tensor, "unit d_model"]
Labels = Int[Tensor, "unit place"]  # −1: none
Weights = Float[Tensor, "place label d_model"]
Bias = Float[Tensor, "place label"]
HeldOut = tuple[Float[Tensor, "_unit d_model"], Int[Tensor, "_unit place"]]
Ranks = tuple[int, int]  # of places, and of labels
Extra = TypeVar("Extra")


@dataclass(frozen=True, eq=False)
class PlaceProbe:
    """Logits of every label at every place, W h + b."""

    weights: Weights
    bias: Bias

    def logits(self, x: State) -> Float[Tensor, "unit place label"]:
        return torch.einsum("nd,scd->nsc", x, self.weights) + self.bias

    def predict(self, x: State) -> Int[Tensor, "unit place"]:
        return self.logits(x).argmax(-1)

    def loss(self, x: State, y: Labels) -> float:
        """The mean cross-entropy in nats."""
        return float(cross_entropy(self.logits(x), y))

    def cut(self, rank: int) -> "PlaceProbe":
        """The probe whose weights, a row a place and label, have that rank: the nearest one."""
        flat = self.weights.flatten(0, 1)
        u, s, v = torch.linalg.svd(flat, full_matrices=False)
        near = (u[:, :rank] * s[:rank]) @ v[:rank]
        return PlaceProbe(near.view_as(self.weights), self.bias)


@dataclass(frozen=True, eq=False)
class Binding:
    """r of every place, f of every label, and U."""

    places: Float[Tensor, "place d_role"]
    labels: Float[Tensor, "label d_filler"]
    unbinding: Float[Tensor, "d_role d_filler d_model"]

    @classmethod
    def nearest(cls, weights: Weights, ranks: Ranks) -> "Binding":
        """The higher-order SVD of free weights: their main directions along places and labels."""
        places, labels = (
            torch.linalg.svd(unfolded.flatten(1), full_matrices=False)[0][:, :rank]
            for unfolded, rank in zip((weights, weights.transpose(0, 1)), ranks, strict=True)
        )
        core = torch.einsum("scd,sj,ck->jkd", weights, places, labels)
        return cls(places.contiguous(), labels.contiguous(), core)

    @property
    def weights(self) -> Weights:
        """W[s, c] = r_sᵀ U f_c."""
        return torch.einsum("sj,ck,jkd->scd", self.places, self.labels, self.unbinding)

    @property
    def parameters(self) -> int:
        """Free numbers, less the changes of basis that change no weight."""
        sizes = self.places.numel() + self.labels.numel() + self.unbinding.numel()
        return sizes - self.places.shape[1] ** 2 - self.labels.shape[1] ** 2


def fit_linear(x: State, y: Labels, n_labels: int, dev: HeldOut) -> PlaceProbe:
    """The linear probe with the least loss on ``dev`` of all penalties."""
    return choose(lambda penalty: (_fit_free(x, y, n_labels, penalty), None), dev)[0]


def fit_bilinear(
    x: State, y: Labels, start: PlaceProbe, ranks: Ranks, dev: HeldOut
) -> tuple[PlaceProbe, Binding]:
    """The bilinear probe with the least loss on ``dev`` of all penalties, and its binding.

    It starts from the higher-order SVD of a linear probe, so that it has no seed.
    """
    near = Binding.nearest(start.weights, ranks)
    free = [near.places, near.labels, near.unbinding, start.bias]

    def fit(penalty: float) -> tuple[PlaceProbe, Binding]:
        *parts, bias = minimize(
            free, lambda r, f, u, b: objective(Binding(r, f, u).weights, b, x, y, penalty)
        )
        binding = Binding(*parts)
        return PlaceProbe(binding.weights, bias), binding

    return choose(fit, dev)


def choose_ranks(start: PlaceProbe, dev: HeldOut, most: Ranks) -> Ranks:
    """The ranks at which the higher-order SVD of a linear probe has the least loss on ``dev``."""
    losses = {
        (j, k): PlaceProbe(Binding.nearest(start.weights, (j, k)).weights, start.bias).loss(*dev)
        for j in SIZES
        for k in SIZES
        if j <= most[0] and k <= most[1]
    }
    return min(losses, key=lambda ranks: losses[ranks])


def choose(
    fit: Callable[[float], tuple[PlaceProbe, Extra]], dev: HeldOut
) -> tuple[PlaceProbe, Extra]:
    """The fit with the least loss on ``dev``, from the strongest penalty on until that rises."""
    first, *others = PENALTIES
    found = fit(first)
    lowest = found[0].loss(*dev)
    for penalty in others:
        next_ = fit(penalty)
        if (loss := next_[0].loss(*dev)) >= lowest:
            break
        found, lowest = next_, loss
    return found


def _fit_free(x: State, y: Labels, n_labels: int, penalty: float) -> PlaceProbe:
    places = y.shape[1]
    free = [x.new_zeros(places, n_labels, x.shape[1]), x.new_zeros(places, n_labels)]
    return PlaceProbe(*minimize(free, lambda w, b: objective(w, b, x, y, penalty)))


def objective(weights: Weights, bias: Bias, x: State, y: Labels, penalty: float) -> Tensor:
    """Mean cross-entropy + penalty/2 · ‖W‖² / places."""
    logits = torch.einsum("nd,scd->nsc", x, weights) + bias
    return cross_entropy(logits, y) + penalty / 2 * weights.square().sum() / len(weights)


def cross_entropy(logits: Float[Tensor, "unit place label"], y: Labels) -> Tensor:
    """The mean of −log p of the labels, where there are any."""
    return torch.nn.functional.cross_entropy(logits.flatten(0, 1), y.flatten(), ignore_index=-1)


def minimize(start: list[Tensor], value: Callable[..., Tensor]) -> list[Tensor]:
    """Where a smooth function of several tensors is least, by L-BFGS from a start on."""
    sizes, shapes = [each.numel() for each in start], [each.shape for each in start]
    flat = torch.cat([each.detach().flatten() for each in start]).requires_grad_()
    method = torch.optim.LBFGS(
        [flat],
        max_iter=STEPS,
        history_size=12,
        tolerance_change=1e-7,
        line_search_fn="strong_wolfe",
    )

    def parts() -> list[Tensor]:
        return [p.view(shape) for p, shape in zip(flat.split(sizes), shapes, strict=True)]

    def close() -> Tensor:
        method.zero_grad()
        loss = value(*parts())
        loss.backward()
        return loss

    method.step(close)
    return [each.detach() for each in parts()]


FORMAT, MANIFEST, TABLE = "tprprobe-grids", GRIDS.file, "rows.csv"
BILINEAR, LINEAR, CUT, MAJORITY = "bilinear", "linear", "svd", "majority"
REAL, CONTROLS = "real", ("control", "shuffled", *TWINS)
Progress = Callable[[Sequence[Part]], Iterable[Part]]
Sums = Float[np.ndarray, "group 2"]  # right and labelled places by document


def probe_places(
    store: Store,
    task: str,
    sites: str | Sequence[str] | None = None,
    rank: str | int | Ranks = "auto",
    span_mode: str = MODES[0],
    controls: Sequence[str] | None = None,
    seed: int = 0,
    out: str | os.PathLike[str] | None = None,
    resume: bool = False,
    progress: Progress = iter,
) -> pd.DataFrame:
    """One row per site, kind of probe and control: which label stands at which place, read from one state of
    the sample, on a quarter of the documents that nothing was fitted to.

    probe     bilinear (rank × rank of places and labels), linear, svd (the linear one, its weights cut to
              the bilinear one's rank); majority (the commonest label of the place) needs no vector
    control   real; control (labels drawn once for every symbol, where labels are not the symbols'
              own), shuffled (the grid of another
              sample), permuted, untrained, rescaled (the vectors of twins)
    accuracy  over labelled places, with its 95 % interval over documents; ``beyond_linear`` and
              ``beyond_svd``: the bilinear probe's minus theirs, ``beyond_control``: the real labels'
              minus the best control's of that kind and the majority's, with intervals, paired by document
    parameters, places, labels, n_train, n_test (samples)
    Source: Lee, Viégas and Wattenberg 2026 (arXiv:2605.09967).

    Raises:
        InputError: as of :func:`read_places`; an unknown control or rank; a folder of something else.
    """
    for name in controls or ():
        if name not in CONTROLS:
            raise unknown("control of a grid", name, CONTROLS)
    ranks = read_rank(rank)
    names = find_sites(store, [sites] if isinstance(sites, str) else sites or SITES)
    chosen = list(CONTROLS if controls is None else controls)
    read_places(store, names[0], task, span_mode)
    settings = {"format": FORMAT, "stores": [store.fingerprint], "task": task, "sites": names}
    settings |= {"rank": ranks, "span_mode": span_mode, "controls": chosen, "seed": seed}
    with kept(out) as folder:
        settings |= {"tprprobe": version("tprprobe")}
        run = KeptRun.open(folder, settings, resume, MANIFEST, beside=("store",))
        makes = {
            str(i): partial(_probe_site, store, site, task, ranks, span_mode, chosen, seed)
            for i, site in enumerate(names)
        }
        run.make_table(TABLE, makes, progress)
        return pd.read_csv(folder / TABLE, dtype={"rank": str}).fillna({"rank": ""})


def _probe_site(
    store: Store, site: str, task: str, ranks: Ranks | None, mode: str, controls: Sequence[str], seed: int
) -> pd.DataFrame:  # fmt: skip
    grid = read_places(store, site, task, mode)
    grids = {REAL: grid}
    if "shuffled" in controls:
        grids["shuffled"] = grid.with_labels_of_others(seed)
    if "control" in controls and not grid.is_of_types:
        grids["control"] = grid.with_labels_by_type(seed)
    for kind, twin in store.twins.items():
        if kind in controls and site in twin.sites:
            grids[kind] = read_places(twin, site, task, mode)
    rows = pd.DataFrame(
        list(_rows({name: probe_grid(each, ranks, seed) for name, each in grids.items()}))
    )
    place = {"task": task, "side": store.side(site), "site": site, "layer": layer_of(site)}
    shape = {"places": grid.labels.shape[1], "labels": len(grid.inventory)}
    return rows.assign(**place, **shape)[[*place, *rows, *shape]]


class GridResult(NamedTuple):
    """The probes of a grid by kind: their counts on test samples, and the columns ``facts``."""

    sums: dict[str, Sums]
    facts: dict[str, dict[str, Any]]
    sizes: dict[str, int]


def probe_grid(grid: LabelledPlaces, ranks: Ranks | None = None, seed: int = 0) -> GridResult:
    """The probes of a grid, fitted, chosen and tested on different documents."""
    train, _, test = parts = grid.divide(seed)
    mean, scale = grid.vectors[train].mean(0), grid.vectors[train].std(0)
    x = (grid.vectors - mean) / np.where(scale < 1e-6 * np.abs(mean) + 1e-12, 1, scale)
    (fitted, y), dev, (tested, truth) = (
        (torch.as_tensor(x[part]), torch.as_tensor(grid.labels[part])) for part in parts
    )
    most = n_places, n_labels = grid.labels.shape[1], len(grid.inventory)
    linear = fit_linear(fitted, y, n_labels, dev)
    chosen = ranks or choose_ranks(linear, dev, most)
    chosen = min(chosen[0], most[0]), min(chosen[1], most[1])
    probe, binding = fit_bilinear(fitted, y, linear, chosen, dev)
    biases, width = n_places * n_labels, x.shape[1]
    rank = min(chosen[0] * chosen[1], biases, width)
    counts = torch.stack([(y == label).sum(0) for label in range(n_labels)])
    found = {
        BILINEAR: (probe.predict(tested), binding.parameters + biases, "×".join(map(str, chosen))),
        LINEAR: (linear.predict(tested), biases * width + biases, ""),
        CUT: (linear.cut(rank).predict(tested), rank * (biases + width - rank) + biases, str(rank)),
        MAJORITY: (counts.argmax(0), n_places, ""),
    }
    groups, n = grid.origin.documents[test], int(grid.origin.documents.max()) + 1

    def count(predicted: Tensor) -> Sums:
        known = truth >= 0
        terms = (((predicted == truth) & known).sum(1), known.sum(1))
        return np.stack([np.bincount(groups, each.numpy(), n) for each in terms], 1).astype(float)

    sums = {kind: count(predicted) for kind, (predicted, *_) in found.items()}
    facts = {kind: {"parameters": size, "rank": of} for kind, (_, size, of) in found.items()}
    return GridResult(sums, facts, {"n_train": int(train.sum()), "n_test": int(test.sum())})


def _rows(found: dict[str, GridResult]) -> Iterator[dict[str, Any]]:
    real = found[REAL]
    for control, result in found.items():
        for kind, sums in result.sums.items():
            if kind == MAJORITY and control != REAL:
                continue
            row = {"probe": kind, "control": control, **result.facts[kind]}
            row |= _compare([sums], "accuracy")
            if control == REAL and kind == BILINEAR:
                for other in (LINEAR, CUT):
                    row |= _compare([sums, result.sums[other]], f"beyond_{other}")
            if control == REAL and kind != MAJORITY:
                rivals = [each.sums[kind] for name, each in found.items() if name != REAL]
                row |= _compare([sums, *rivals, real.sums[MAJORITY]], "beyond_control")
            yield row | result.sizes


def _compare(sums: Sequence[Sums], name: str) -> dict[str, float]:
    """The accuracy of the first, less the best of the others, with its interval over documents."""
    n = min(len(each) for each in sums)
    stacked = np.concatenate([each[:n] for each in sums], 1)

    def subtract(totals: Float[np.ndarray, "replicate term"]) -> Float[np.ndarray, " replicate"]:
        first, *others = divide(totals[:, ::2], totals[:, 1::2]).T
        return first - np.max(others, axis=0) if others else first

    return bootstrap(stacked[stacked[:, 1] > 0], subtract).columns(name)
